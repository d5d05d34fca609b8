//! The world around [`crate::shell::update`]: threads, terminal, child process, signals.
//!
//! This thread owns the state and the terminal. Input blocks on a thread of its own, the source brings its
//! threads, and one more drives tokio for the child process and the signals. Idle, only frames wake anybody.

mod canvas;
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

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use warpscope_probes::Frame;
use warpscope_probes::catalogue::Catalogue;
use warpscope_probes::inspect::{Advance, Survey};
use warpscope_probes::live::ProbeReport;
use warpscope_probes::model::Model;
use warpscope_probes::rules::RuleBase;
use warpscope_probes::trust::Vetted;

pub use self::history::Kept;
use self::inspect::{Inspector, Look};
use self::io_thread::IoThread;
use self::mailbox::{Mailbox, Post, mailbox};
use self::probe::Prober;
use self::recording::Recording;
use self::terminal::Screen;
use super::update::update;
use super::{App, Cmd, Msg};
use crate::io::source::{Control, Source};
use crate::runs::compare::Comparison;
use crate::shell::draw::{Hits, LookOptions, Skin};
use crate::store::kernels::Trend;
use crate::widgets::theme::ColorDepth;
use crate::worker::children;
use crate::worker::process::Update;

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
    Worker(String, Update),
    Model(String, Result<Model, String>),
    Rules(Arc<RuleBase>),
    Inspecting(Box<Advance>),
    Survey(Arc<Survey>, String),
    History(Result<Vec<Trend>, String>),
    Compared((i64, i64), Result<Comparison, String>),
    Processes(Arc<Survey>, String),
    Probed(String, Result<Vec<ProbeReport>, String>),
    ProbeLibraries(Vetted),
    Stop,
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
    // Signals first: from here on none of them ends the program with the terminal in its hands.
    let io = IoThread::start(post.clone())?;
    let mut screen = Screen::take(launch.mouse, launch.look.depth != ColorDepth::None)?;
    read_facts(launch.reads_rules.then(|| post.clone()))?;
    let frames = post.clone();
    let control = launch.source.start(Arc::new(move |frame| frames.frame(frame)));
    input::listen(post.clone())?;
    let skin = Skin::new(&launch.look, &launch.app.settings.theme);
    let owner = Owner {
        app: launch.app,
        options: launch.look,
        skin,
        hits: Hits::default(),
        control,
        io,
        inspector: Inspector::default(),
        prober: Prober::default(),
        recording: None,
        kept: launch.kept,
        without_rules: launch.reads_rules,
        post,
        last_frame: Instant::now(),
        ended: None,
    };
    owner.run(&mut screen, &mail)
}

/// Reads architectures while the driver starts, so that the first frame does not wait for them, and the rules for whoever wants them.
fn read_facts(rules_to: Option<Post>) -> io::Result<()> {
    let read = move || {
        Catalogue::load();
        if let Some(post) = rules_to {
            post.send(Event::Rules(RuleBase::shared()));
        }
    };
    thread::Builder::new().name("facts".into()).stack_size(1 << 20).spawn(read).map(drop)
}

struct Owner {
    app: App,
    options: LookOptions,
    skin: Skin,
    hits: Hits,
    control: Box<dyn Control>,
    io: IoThread,
    inspector: Inspector,
    prober: Prober,
    recording: Option<Recording>,
    kept: Kept,
    /// Frames wait for the rules, which take milliseconds: nobody reads of GPUs that nothing fails on.
    without_rules: bool,
    post: Post,
    last_frame: Instant,
    ended: Option<Ended>,
}

impl Owner {
    fn run(mut self, screen: &mut Screen, mail: &Mailbox) -> io::Result<Ended> {
        self.fit(screen)?;
        loop {
            self.draw(screen)?;
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

    fn patience(&self) -> Duration {
        const GRACE: Duration = Duration::from_millis(750);
        (self.app.settings.interval + GRACE)
            .saturating_sub(self.last_frame.elapsed())
            .max(Duration::from_millis(20))
    }

    fn draw(&mut self, screen: &mut Screen) -> io::Result<()> {
        if self.skin.theme_name() != self.app.settings.theme {
            self.skin = Skin::new(&self.options, &self.app.settings.theme);
        }
        self.hits = screen.draw(&self.app, &self.skin)?;
        if let Some(part) = self.hits.shown() {
            update(&mut self.app, Msg::Shown(part));
        }
        Ok(())
    }

    /// Follows the window's size: when told of a change, and with every frame in case that was missed.
    fn fit(&mut self, screen: &mut Screen) -> io::Result<()> {
        let rows = usize::from(screen.fit()?);
        if self.app.view.page != rows {
            self.handle(screen, Msg::Resize { rows })?;
        }
        Ok(())
    }

    fn overdue(&mut self, screen: &mut Screen) -> io::Result<()> {
        self.last_frame = Instant::now();
        match self.control.overdue() {
            Some(frame) => self.frame(screen, Box::new(frame)),
            None => Ok(()),
        }
    }

    fn newest_frame(&mut self, screen: &mut Screen, mail: &Mailbox) -> io::Result<()> {
        mail.take_frame().map_or(Ok(()), |frame| self.frame(screen, frame))
    }

    fn frame(&mut self, screen: &mut Screen, frame: Box<Frame>) -> io::Result<()> {
        self.last_frame = Instant::now();
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
            Event::FrameReady if self.without_rules => Ok(()),
            Event::FrameReady => self.newest_frame(screen, mail),
            Event::Rules(rules) => {
                self.without_rules = false;
                self.handle(screen, Msg::Rules(rules))?;
                self.newest_frame(screen, mail)
            }
            Event::Input(crossterm::event::Event::Resize(..)) => self.fit(screen),
            Event::Input(event) => match input::message(event, &self.hits) {
                Some(msg) => self.handle(screen, msg),
                None => Ok(()),
            },
            Event::Worker(key, update) => self.handle(screen, Msg::Worker(key, update)),
            Event::Model(path, read) => self.handle(screen, Msg::Model(path, read)),
            Event::Inspecting(advance) => self.handle(screen, Msg::Inspecting(*advance)),
            Event::Survey(survey, today) => self.handle(screen, Msg::Survey(survey, today)),
            Event::History(read) => self.handle(screen, Msg::History(read)),
            Event::Compared(runs, result) => self.handle(screen, Msg::Compared(runs, result)),
            Event::Probed(uuid, found) => self.handle(screen, Msg::Probed(uuid, found)),
            Event::ProbeLibraries(cublas) => self.handle(screen, Msg::ProbeLibraries(cublas)),
            Event::Processes(seen, today) => self.handle(screen, Msg::Processes(seen, today)),
            Event::Stop => self.handle(screen, Msg::Suspend),
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
            Cmd::Worker(key, task) => self.io.worker(key, task),
            Cmd::Copy(text) => screen.copy(&text)?,
            Cmd::Repaint => screen.repaint(),
            Cmd::Suspend => self.suspend(screen)?,
            Cmd::Seek(to) => self.control.seek(to),
            Cmd::ReadModel(path) => model::read_aside(path, self.post.clone())?,
            Cmd::ReadHistory => history::read_aside(self.kept.store.clone(), self.post.clone())?,
            Cmd::CompareRuns(before, after) => {
                history::compare_aside(self.kept.clone(), (before, after), self.post.clone())?;
            }
            Cmd::Record(on) => {
                let started = on.then(Recording::start).transpose();
                let told = started.map(|recording| {
                    self.recording = recording;
                    self.recording.as_ref().map(Recording::recorded)
                });
                return self.handle(screen, Msg::Recorded(told));
            }
            Cmd::Inspect(pids, after) => {
                self.inspector.start(Look::everything(pids, after), self.post.clone())?;
            }
            Cmd::ReadProbes(gpus) => probe::recall_aside(gpus, self.post.clone())?,
            Cmd::Probe(probing) => self.prober.start(probing, self.post.clone())?,
            Cmd::StopInspecting => self.inspector.stop(),
            Cmd::InspectProcesses(pids) => {
                self.inspector.start(Look::processes(pids), self.post.clone())?;
            }
            Cmd::PauseReplay(paused) => self.control.set_paused(paused),
            Cmd::ReplaySpeed(speed) => self.control.set_speed(speed),
            Cmd::Signal { pid, signal, started_at } => {
                let answer = signal::send(pid, signal, started_at);
                return self.handle(screen, Msg::Answer(answer));
            }
        }
        Ok(())
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
