//! Who is asked about GPUs, and may never answer.

use std::io::{PipeReader, Read, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use warpscope_probes::provider::{Context, GpuSection, Provider, Section};

use super::state::broken;

/// Brings the last answer up to date.
pub type Update = Box<dyn FnOnce(&mut GpuSection) + Send>;

/// Whether an answer can be taken.
pub enum Ready<'a> {
    /// It is there.
    Now,
    /// When this can be read.
    Readable(BorrowedFd<'a>),
    /// It will not come.
    Never,
}

/// A source of GPU readings that is asked without waiting for the answer.
pub trait Gpus: Send {
    /// Asks; the answer to the last question was taken.
    fn ask(&mut self, context: &Context);

    /// Whether an answer can be taken.
    fn ready(&self) -> Ready<'_>;

    /// Takes the answer.
    fn take(&mut self) -> Update;
}

/// A provider on a thread of its own.
pub struct Aside {
    questions: Sender<Context>,
    answers: Receiver<Update>,
    told: Option<PipeReader>,
}

impl Aside {
    /// Starts the thread.
    pub fn new(mut provider: Box<dyn Provider>) -> Self {
        let (questions, asked) = channel::<Context>();
        let (answer, answers) = channel();
        let (told, tell) = pipe().ok().unzip();
        let serve = move || {
            let mut tell = tell;
            for context in asked {
                if answer.send(ask(&mut *provider, &context)).is_err() {
                    return;
                }
                // Nobody is left to tell.
                tell.iter_mut().for_each(|tell| _ = tell.write(&[0]));
            }
        };
        // A machine that cannot start a thread shows late values for ever; there is nobody to tell.
        drop(thread::Builder::new().name("nvml".into()).stack_size(512 << 10).spawn(serve));
        Self { questions, answers, told }
    }
}

impl Gpus for Aside {
    fn ask(&mut self, context: &Context) {
        // Without the thread there is no answer either.
        self.questions.send(context.clone()).ok();
    }

    fn ready(&self) -> Ready<'_> {
        self.told.as_ref().map_or(Ready::Never, |told| Ready::Readable(told.as_fd()))
    }

    fn take(&mut self) -> Update {
        self.told.iter_mut().for_each(|told| _ = told.read(&mut [0]));
        self.answers.try_recv().unwrap_or_else(|_| Box::new(|_| {}))
    }
}

/// Asks a provider; one that panics is reported and asked again next time.
fn ask(provider: &mut dyn Provider, context: &Context) -> Update {
    let name = provider.name();
    match catch_unwind(AssertUnwindSafe(|| provider.poll(context))) {
        Ok(Section::Gpu(section)) => Box::new(move |last| *last = *section),
        Ok(Section::Host(_)) => Box::new(|_| {}),
        Err(_) => Box::new(move |last| {
            let notice = broken(name);
            last.notices.retain(|other| other.id != notice.id);
            last.notices.push(notice);
        }),
    }
}
