//! The ends a recorded program speaks through: what to wait for on each, and what to do with what comes.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

use rustix::event::PollFlags;
use rustix::net::sockopt::socket_peercred;
use rustix::process::getuid;
use tokio::sync::mpsc::Sender;

use super::lines::Lines;
use super::relay::Out;
use super::remark::MAX_BYTES;
use super::{Event, Moment, terminal};

/// Bytes taken from one end at a time; no datagram is longer.
const PIECE: usize = 64 << 10;

/// How a line is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// Output for people, with points among it.
    Output,
    /// Points and nothing else.
    Points,
}

pub(crate) enum Port {
    /// Output that is passed on.
    Output(File),
    /// Output through a terminal.
    Terminal(File),
    Fifo(File),
    Datagrams(UnixDatagram),
    Callers(UnixListener),
    Caller(UnixStream),
    Remarkers(UnixListener),
    Remarker(UnixStream),
}

pub(crate) struct End {
    pub(crate) port: Port,
    pub(crate) lines: Lines,
}

/// What a piece of reading led to.
pub(crate) enum Outcome {
    More,
    Closed,
    Opened(Port),
}

/// Why an end is not read on.
pub(crate) enum Trouble {
    /// The owner of the recording is gone.
    Nobody,
    /// The end itself is broken.
    End,
}

impl std::convert::From<io::Error> for Trouble {
    fn from(_: io::Error) -> Self {
        Self::End
    }
}

impl Port {
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Output(file) | Self::Terminal(file) | Self::Fifo(file) => file.as_fd(),
            Self::Datagrams(socket) => socket.as_fd(),
            Self::Callers(socket) | Self::Remarkers(socket) => socket.as_fd(),
            Self::Caller(socket) | Self::Remarker(socket) => socket.as_fd(),
        }
    }

    pub(crate) fn from(&self) -> From {
        if self.is_output() { From::Output } else { From::Points }
    }

    pub(crate) fn is_output(&self) -> bool {
        matches!(self, Self::Output(_) | Self::Terminal(_))
    }
}

impl End {
    /// What is waited for: no new callers while there are too many.
    pub(crate) fn asks(&self, full: bool) -> PollFlags {
        match self.port {
            Port::Callers(_) | Port::Remarkers(_) if full => PollFlags::empty(),
            _ => PollFlags::IN,
        }
    }

    pub(crate) fn serve(
        &mut self,
        out: &mut Out,
        sender: &Sender<Event>,
    ) -> Result<Outcome, Trouble> {
        let mut piece = [0; PIECE];
        let count = match &mut self.port {
            Port::Callers(listener) => return accept(listener).map(opened(Port::Caller)),
            Port::Remarkers(listener) => return accept(listener).map(opened(Port::Remarker)),
            Port::Remarker(stream) => return remark(stream, sender),
            Port::Output(file) | Port::Terminal(file) | Port::Fifo(file) => file.read(&mut piece),
            Port::Caller(stream) => stream.read(&mut piece),
            Port::Datagrams(socket) => socket.recv(&mut piece),
        };
        let count = match count {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(Outcome::More),
            other => other?,
        };
        let passed = if self.port.is_output() { out.pass(&piece[..count]) } else { Ok(()) };
        if let Port::Terminal(terminal) = &self.port {
            terminal::match_size(terminal);
        }
        let mut lines = self.lines.take(&piece[..count]);
        let datagram = matches!(self.port, Port::Datagrams(_));
        if datagram {
            lines.extend(self.lines.finish());
        }
        if !lines.is_empty() {
            send_lines(sender, self.port.from(), lines).map_err(|_| Trouble::Nobody)?;
        }
        // Once the reader is gone, the program has to meet the closed pipe it would have met without us.
        if passed.is_err() {
            send(sender, Event::ReaderGone).map_err(|_| Trouble::Nobody)?;
            return Err(Trouble::End);
        }
        Ok(if count == 0 && !datagram { Outcome::Closed } else { Outcome::More })
    }
}

pub(crate) fn opened(port: impl Fn(UnixStream) -> Port) -> impl Fn(Option<UnixStream>) -> Outcome {
    move |stream| stream.map_or(Outcome::More, |stream| Outcome::Opened(port(stream)))
}

/// A caller of this user, or of root. The folder keeps others out already; this holds where somebody opened it.
pub(crate) fn accept(listener: &UnixListener) -> Result<Option<UnixStream>, Trouble> {
    let (stream, _) = listener.accept()?;
    let peer = socket_peercred(&stream).map_err(io::Error::from)?;
    let welcome = peer.uid == getuid() || peer.uid.is_root();
    Ok(welcome.then_some(stream))
}

/// A remark is one short message, read at once; the answer says whether it was kept.
pub(crate) fn remark(stream: &mut UnixStream, sender: &Sender<Event>) -> Result<Outcome, Trouble> {
    let mut text = vec![0; MAX_BYTES];
    let count = stream.read(&mut text)?;
    text.truncate(count);
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    if !text.is_empty() {
        let answer = stream.try_clone()?;
        send(sender, Event::Remark { text, answer: Some(answer) }).map_err(|_| Trouble::Nobody)?;
    }
    Ok(Outcome::Closed)
}

pub(crate) fn send_lines(sender: &Sender<Event>, from: From, lines: Vec<String>) -> io::Result<()> {
    send(sender, Event::Lines(from, lines, Moment::now()))
}

pub(crate) fn send(sender: &Sender<Event>, event: Event) -> io::Result<()> {
    sender.blocking_send(event).map_err(|_| ErrorKind::BrokenPipe.into())
}
