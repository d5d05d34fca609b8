use crate::commands::cli::{CliError, Exit, Options, Result};
use crate::commands::frames::follow;
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::output;
use crate::config::args;
use crate::io::sink::{Limits, RecordError, Recorder};

/// Writes frames to a recording until stopped.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let path = options.get(&args::FILE);
    let source = open_source(options, AtEnd::Stop)?;
    let limits = Limits { max_size: options.get(&args::MAX_SIZE), keep: options.get(&args::KEEP) };
    let recorder = Recorder::open(&path, limits).map_err(CliError::usage)?;
    let mut log = Log { recorder, written: 0, trouble: None };
    follow(source, options, |frame| {
        log.take(frame);
        Ok(())
    })?;
    output::note(format_args!("{} frames written to {}", log.written, path.display()));
    match log.trouble {
        Some(trouble) => Err(CliError::Failed(trouble)),
        None => Ok(Exit::Fine),
    }
}

/// Writes on through trouble; says on stderr when it comes, changes and goes.
struct Log {
    recorder: Recorder,
    written: u64,
    trouble: Option<String>,
}

impl Log {
    fn take(&mut self, frame: &warpscope_probes::Frame) {
        let trouble = self.recorder.write(frame).err().map(|error: RecordError| error.to_string());
        self.written += u64::from(trouble.is_none());
        if trouble != self.trouble {
            output::note(trouble.as_deref().unwrap_or("recording continues"));
        }
        self.trouble = trouble;
    }
}
