//! The world around [`crate::shell::update`]: threads, terminal, child process, signals.
//!
//! This thread owns the state and the terminal. Input blocks on a thread of its own, the source brings its
//! threads, and one more drives tokio for the child process and the signals. Idle, only frames wake anybody.

mod alert;
mod canvas;
mod config;
mod explain;
mod fatal;
mod history;
mod input;
mod inspect;
mod io_thread;
mod mailbox;
mod model;
mod probe;
mod recording;
mod restore;
mod signal;
mod terminal;
mod workers;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use std::{io, thread};

use warpscope_probes::catalogue::Catalogue;
use warpscope_probes::rules::RuleBase;
use warpscope_probes::{Frame, Origin};

pub use self::alert::AlertOutput;
pub use self::history::Kept;
use self::inspect::{Inspector, Look};
use self::io_thread::IoThread;
use self::mailbox::{Mailbox, MailboxSender, mailbox};
use self::probe::Prober;
use self::recording::Recording;
use self::terminal::Screen;
use super::update::update;
use super::{App, Cmd, Msg};
use crate::features::{bench as benchmark, compat, fleet, history as runs, processes};
use crate::io::memory::Startup;
use crate::io::source::{Control, Source};
use crate::shell::draw::{Appearance, Hits, LookOptions};
use crate::widgets::theme::ColorDepth;
use crate::worker::children;

/// Everything a dashboard needs to start.
pub struct Launch {
    /// Where frames come from.
    pub source: Box<dyn Source>,
    /// The state to start with.
    pub app: App,
    /// How it should look.
    pub look: LookOptions,
    /// Whether the mouse is used.
    pub mouse: bool,
    /// Recorded runs and what their comparison needs.
    pub kept: Kept,
    /// Whether the rules of the program are still to be read.
    pub reads_rules: bool,
}

/// What reaches the owner thread.
enum Event {
    FrameReady,
    Input(crossterm::event::Event),
    Msg(Msg),
    Continued,
    End(i32),
}

/// How a dashboard ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The user left.
    Left,
    /// A signal asked for it.
    Signal(i32),
}

/// Runs the dashboard until the user leaves or a signal comes.
pub fn run(launch: Launch) -> io::Result<Ended> {
    let (post, mail) = mailbox(64);
    let mut app = launch.app;
    app.shared.awaits_rules = launch.reads_rules;
    // Signals first: from here on none of them ends the program with the terminal in its hands.
    let io = IoThread::start(post.clone())?;
    let mut screen = Screen::take(launch.mouse, launch.look.depth != ColorDepth::None)?;
    let frames = post.clone();
    let fleets = post.clone();
    let control = launch.source.start_with_fleet(
        Arc::new(move |frame| frames.frame(frame)),
        Arc::new(move |news| fleets.tell(news)),
    );
    input::listen(post.clone())?;
    let appearance = Appearance::new(&launch.look, &app.shared.settings.theme);
    let owner = Owner {
        app,
        options: launch.look,
        appearance,
        hits: Hits::default(),
        control,
        io,
        inspector: Inspector::default(),
        prober: Prober::default(),
        recording: None,
        kept: launch.kept,
        unread: Some(Unread { rules: launch.reads_rules }),
        brief: false,
        post,
        last_frame: Instant::now(),
        startup: Startup::default(),
        ended: None,
    };
    owner.run(&mut screen, &mail)
}

/// What is read once values are on the screen: any earlier it would compete for the processors with the threads that fetch them.
struct Unread {
    /// Whether rules are read too, not only architectures.
    rules: bool,
}

/// Does something on a thread of its own.
fn aside(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(drop)
}

/// The day, as findings are dated: `2026-11-21`.
fn today() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.chars().take("2026-11-21".len()).collect()
}

fn read_facts(rules_to: Option<MailboxSender>) -> io::Result<()> {
    let read = move || {
        Catalogue::load();
        if let Some(post) = rules_to {
            post.tell(compat::Msg::Rules(RuleBase::shared()));
        }
    };
    thread::Builder::new().name("facts".into()).stack_size(1 << 20).spawn(read).map(drop)
}

struct Owner {
    app: App,
    options: LookOptions,
    appearance: Appearance,
    hits: Hits,
    control: Box<dyn Control>,
    io: IoThread,
    inspector: Inspector,
    prober: Prober,
    recording: Option<Recording>,
    kept: Kept,
    /// What waits for the first frame.
    unread: Option<Unread>,
    /// Whether a summary is all that was asked for.
    brief: bool,
    post: MailboxSender,
    last_frame: Instant,
    startup: Startup,
    ended: Option<Ended>,
}

impl Owner {
    fn run(mut self, screen: &mut Screen, mail: &Mailbox) -> io::Result<Ended> {
        self.fit(screen)?;
        loop {
            self.draw(screen)?;
            if self.startup.has_passed() {
                self.read_on()?;
            }
            match mail.wait(self.patience()) {
                Some(event) => self.take(screen, mail, event)?,
                None => self.overdue(screen)?,
            }
            while let Some(event) = mail.next() {
                self.take(screen, mail, event)?;
            }
            if let Some(ended) = self.ended {
                return Ok(ended);
            }
        }
    }

    /// Has everything read that waited for the first frame.
    fn read_on(&mut self) -> io::Result<()> {
        match self.unread.take() {
            Some(unread) => read_facts(unread.rules.then(|| self.post.clone())),
            None => Ok(()),
        }
    }

    fn patience(&self) -> Duration {
        const GRACE: Duration = Duration::from_millis(750);
        (self.app.shared.settings.interval + GRACE)
            .saturating_sub(self.last_frame.elapsed())
            .max(Duration::from_millis(20))
    }

    fn draw(&mut self, screen: &mut Screen) -> io::Result<()> {
        if self.appearance.theme_name() != self.app.shared.settings.theme {
            self.appearance = Appearance::new(&self.options, &self.app.shared.settings.theme);
        }
        self.hits = screen.draw(&self.app, &self.appearance)?;
        self.ask_for_details();
        if let Some(part) = self.hits.shown() {
            update(&mut self.app, Msg::Shown(part));
        }
        Ok(())
    }

    /// Asks for every value while they are on screen or recorded.
    fn ask_for_details(&mut self) {
        let brief = !self.hits.has_details() && self.recording.is_none();
        if brief != std::mem::replace(&mut self.brief, brief) {
            self.control.set_brief(brief);
        }
    }

    /// Follows the window's size: when told of a change, and with every frame in case that was missed.
    fn fit(&mut self, screen: &mut Screen) -> io::Result<()> {
        let rows = usize::from(screen.fit()?);
        if self.app.page != rows {
            self.handle(screen, Msg::Resize { rows })?;
        }
        Ok(())
    }

    fn overdue(&mut self, screen: &mut Screen) -> io::Result<()> {
        self.last_frame = Instant::now();
        match self.control.overdue() {
            Some(frame) => self.frame(screen, Box::new(frame)),
            None => self.read_on(),
        }
    }

    fn newest_frame(&mut self, screen: &mut Screen, mail: &Mailbox) -> io::Result<()> {
        mail.take_frame().map_or(Ok(()), |frame| self.frame(screen, frame))
    }

    fn frame(&mut self, screen: &mut Screen, frame: Box<Frame>) -> io::Result<()> {
        self.last_frame = Instant::now();
        self.startup.passed();
        self.fit(screen)?;
        if let Some(position) = self.control.position() {
            self.handle(screen, Msg::Position(position))?;
        }
        let recorded = self.recording.as_mut().map(|recording| recording.take(&frame));
        self.handle(screen, Msg::Frame(frame))?;
        match recorded {
            Some(recorded) => self.handle(screen, Msg::Recorded(Ok(Some(recorded)))),
            None => Ok(()),
        }
    }

    fn take(&mut self, screen: &mut Screen, mail: &Mailbox, event: Event) -> io::Result<()> {
        match event {
            Event::FrameReady => self.newest_frame(screen, mail),
            Event::Msg(msg) => self.handle(screen, msg),
            Event::Input(crossterm::event::Event::Resize(..)) => self.fit(screen),
            Event::Input(event) => match input::message(event, &self.hits) {
                Some(msg) => self.handle(screen, msg),
                None => Ok(()),
            },
            Event::Continued => screen.resume(),
            Event::End(signal) => {
                self.ended = Some(Ended::Signal(signal));
                Ok(())
            }
        }
    }

    fn handle(&mut self, screen: &mut Screen, msg: Msg) -> io::Result<()> {
        for cmd in update(&mut self.app, msg) {
            self.execute(screen, cmd)?;
        }
        Ok(())
    }

    fn execute(&mut self, screen: &mut Screen, cmd: Cmd) -> io::Result<()> {
        match cmd {
            Cmd::Quit => self.ended = Some(Ended::Left),
            Cmd::SetInterval(interval) => self.control.set_interval(interval),
            Cmd::Explain(text) => self.explain(text)?,
            Cmd::Copy(text) => screen.copy(&text)?,
            Cmd::Repaint => screen.repaint(),
            Cmd::Alert(text) => {
                if let Some(sequence) = self.kept.alert.sequence(&text) {
                    screen.send(&sequence)?;
                }
                if let Err(why) = self.kept.alert.send(&text) {
                    return self.handle(screen, Msg::Answer(format!("Alert not passed on: {why}")));
                }
            }
            Cmd::Mouse(on) => screen.use_mouse(on)?,
            Cmd::SaveOptions(values) => {
                let saved = config::save(self.kept.config.as_deref(), &values);
                if saved.is_ok() {
                    self.handle(screen, Msg::Saved(values))?;
                }
                return self.handle(screen, Msg::Answer(saved.unwrap_or_else(|why| why)));
            }
            Cmd::Suspend => self.suspend(screen)?,
            Cmd::Seek(to) => self.control.seek(to),
            Cmd::PauseReplay(paused) => self.control.set_paused(paused),
            Cmd::ReplaySpeed(speed) => self.control.set_speed(speed),
            Cmd::Record(on) => {
                let started = on.then(Recording::start).transpose();
                let told = started.map(|recording| {
                    self.recording = recording;
                    self.recording.as_ref().map(Recording::recorded)
                });
                return self.handle(screen, Msg::Recorded(told));
            }
            Cmd::Bench(benchmark::Cmd::Worker(key, task)) => self.io.worker(key, task),
            Cmd::Compat(cmd) => self.find_out(cmd)?,
            Cmd::Fleet(fleet::Cmd::LookAt(machine)) => self.control.look_at(&machine),
            Cmd::History(runs::Cmd::Read) => {
                history::read_aside(self.kept.store.clone(), self.post.clone())?;
            }
            Cmd::History(runs::Cmd::Follow) => {
                history::follow_aside(self.kept.recordings.clone(), self.post.clone())?;
            }
            Cmd::History(runs::Cmd::Compare(before, after)) => {
                history::compare_aside(self.kept.clone(), (before, after), self.post.clone())?;
            }
            Cmd::Processes(processes::Cmd::Signal { pid, signal, started_at }) => {
                let answer = signal::send(pid, signal, started_at);
                return self.handle(screen, Msg::Answer(answer));
            }
        }
        Ok(())
    }

    /// Finds the cause of an error, with the facts of the machine in view.
    fn explain(&self, text: Arc<str>) -> io::Result<()> {
        let frame = self.app.shared.frame.clone();
        let is_here = frame.origin == Origin::Local;
        explain::explain_aside(text, (frame, is_here), self.post.clone())
    }

    /// Finds out what the answers of the Compat tab need.
    fn find_out(&mut self, cmd: compat::Cmd) -> io::Result<()> {
        let post = self.post.clone();
        match cmd {
            compat::Cmd::ReadModel(path) => model::read_aside(path, post),
            compat::Cmd::KeepServed(peaks) => model::keep_aside(peaks),
            compat::Cmd::ListModels => model::list_aside(post),
            compat::Cmd::Inspect(pids, after) => {
                self.inspector.start(Look::everything(pids, after), post)
            }
            compat::Cmd::InspectProcesses(pids) => {
                self.inspector.start(Look::processes(pids), post)
            }
            compat::Cmd::StopInspecting => {
                self.inspector.stop();
                Ok(())
            }
            compat::Cmd::ReadProbes(gpus) => probe::recall_aside(gpus, post),
            compat::Cmd::Probe(probing) => self.prober.start(probing, post),
        }
    }

    /// Stops, with every child, once no GPU is held any more; returns when continued.
    fn suspend(&mut self, screen: &mut Screen) -> io::Result<()> {
        self.io.part_with_workers();
        self.prober.stop();
        children::stop_all();
        let resumed = screen.suspend();
        children::continue_all();
        resumed
    }
}
