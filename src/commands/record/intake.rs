//! One thread that reads everything a recorded program says: its output, the FIFO, the sockets, remarks.
//!
//! One thread and `poll`, not a thread per end: at the end of the program everything it wrote before lies in the kernel, and one last
//! round without waiting takes it. With a thread per end nobody knows when that is done.

use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc::Sender;

use super::inbox::Inbox;
use super::lines::Lines;
use super::port::{End, Outcome, Port, Trouble, send, send_lines};
use super::relay::{Out, still_written};
use super::{Event, say};

/// Connections at one time; more wait.
const CONNECTIONS: usize = 64;
/// Pieces taken after the program ended: a writer it left behind is not listened to for ever.
const LAST_PIECES: usize = 4096;
/// How long the output of processes that outlive the program is recorded.
const GRACE: Duration = Duration::from_secs(10);
/// Part of it that passes without a word: most processes end with the program.
const QUIET: Duration = Duration::from_secs(1);

/// The ends, and where lines go.
pub(crate) struct Intake {
    ends: Vec<End>,
    sender: Sender<Event>,
    /// Has a byte when the program has ended, and is closed when nothing is to be waited for.
    ended: PipeReader,
    out: Out,
}

impl Intake {
    /// Over the ends of an inbox and, where there is one, output to be passed on to `out`.
    pub(crate) fn new(
        inbox: &mut Inbox,
        output: Option<Port>,
        out: Box<dyn Write + Send>,
        ended: PipeReader,
        sender: Sender<Event>,
    ) -> Self {
        let ports = [
            output,
            inbox.fifo.take().map(Port::Fifo),
            inbox.datagrams.take().map(Port::Datagrams),
            inbox.stream.take().map(Port::Callers),
            inbox.control.take().map(Port::Remarkers),
        ];
        let end = |port| End { port, lines: Lines::default() };
        let out = Out::new(out);
        Self { ends: ports.into_iter().flatten().map(end).collect(), sender, ended, out }
    }

    /// Reads until the program has ended and everything it said is taken.
    pub(crate) fn run(mut self) {
        // Without anybody to tell, there is nothing left to do either.
        let _ = self.listen();
        let dropped = self.ends.iter().map(|end| end.lines.dropped).sum();
        let (mut output, mut points) = (None, None);
        for end in self.ends {
            match end.port {
                Port::Output(file) | Port::Terminal(file) => output = Some(file.into()),
                Port::Fifo(file) => points = still_written(file),
                _ => {}
            }
        }
        let _ = self.sender.blocking_send(Event::Drained { dropped, output, points });
    }

    fn listen(&mut self) -> io::Result<()> {
        while let Some(ready) = self.ready(None)? {
            self.serve(&ready)?;
        }
        if self.ended.read(&mut [0])? > 0 {
            self.linger()?;
        }
        self.drain()
    }

    /// The program has ended; what it started may still write to its output.
    fn linger(&mut self) -> io::Result<()> {
        let end = Instant::now();
        let mut announced = false;
        while self.ends.iter().any(|end| end.port.is_output()) {
            let (gone, next) = (end.elapsed(), if announced { GRACE } else { QUIET });
            if gone >= next && announced {
                break;
            }
            if gone >= next {
                announced = true;
                say(&format!(
                    "the program has ended, but processes it started still write; recording them for {} s, Ctrl-C stops at once",
                    GRACE.as_secs()
                ));
            }
            let Some(ready) = self.ready(Some(next.saturating_sub(gone)))? else { break };
            self.serve(&ready)?;
        }
        Ok(())
    }

    /// Takes what lies in the kernel already.
    fn drain(&mut self) -> io::Result<()> {
        let mut left = LAST_PIECES;
        loop {
            let ready = self.poll(Some(Duration::ZERO))?.0;
            if ready.is_empty() {
                break;
            }
            left = left.saturating_sub(ready.len());
            if left == 0 {
                break;
            }
            self.serve(&ready)?;
        }
        for end in &mut self.ends {
            if let Some(line) = end.lines.finish() {
                send_lines(&self.sender, end.port.from(), vec![line])?;
            }
        }
        Ok(())
    }

    /// Places of the ends that have something, within a time where one is given; `None` when the program ended or nothing is to be waited for.
    fn ready(&self, within: Option<Duration>) -> io::Result<Option<Vec<usize>>> {
        let (ready, ended) = self.poll(within)?;
        Ok((!ended).then_some(ready))
    }

    fn poll(&self, within: Option<Duration>) -> io::Result<(Vec<usize>, bool)> {
        let full = self.ends.len() >= CONNECTIONS;
        let ends = self.ends.iter();
        let mut fds: Vec<PollFd<'_>> = ends
            .map(|end| PollFd::from_borrowed_fd(end.port.fd(), end.asks(full)))
            .chain([PollFd::from_borrowed_fd(self.ended.as_fd(), PollFlags::IN)])
            .collect();
        let within = within.and_then(|within| Timespec::try_from(within).ok());
        match poll(&mut fds, within.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok((Vec::new(), false)),
            other => other?,
        };
        let ended = fds.pop().is_some_and(|fd| !fd.revents().is_empty());
        let ready = fds.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty());
        Ok((ready.map(|row| row.0).collect(), ended))
    }

    fn serve(&mut self, ready: &[usize]) -> io::Result<()> {
        let mut opened = Vec::new();
        let mut closed = Vec::new();
        for &at in ready {
            match self.ends[at].serve(&mut self.out, &self.sender) {
                Ok(Outcome::More) => {}
                Ok(Outcome::Opened(port)) => opened.push(End { port, lines: Lines::default() }),
                Ok(Outcome::Closed) => closed.push(at),
                Err(Trouble::Nobody) => return Err(ErrorKind::BrokenPipe.into()),
                Err(Trouble::End) => closed.push(at),
            }
        }
        for at in closed.into_iter().rev() {
            self.close(at)?;
        }
        self.ends.extend(opened);
        Ok(())
    }

    fn close(&mut self, at: usize) -> io::Result<()> {
        let mut end = self.ends.remove(at);
        if let Some(line) = end.lines.finish() {
            send_lines(&self.sender, end.port.from(), vec![line])?;
        }
        if end.lines.dropped > 0 {
            send(&self.sender, Event::Dropped(end.lines.dropped))?;
        }
        if end.port.is_output() {
            send(&self.sender, Event::OutputEnded)?;
        }
        Ok(())
    }
}
