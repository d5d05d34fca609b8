//! The server of metrics that options name.

#[cfg(feature = "remote")]
pub(crate) use with_remote::{frames, source};
#[cfg(not(feature = "remote"))]
pub(crate) use without_remote::{frames, source};

#[cfg(feature = "remote")]
mod with_remote {
    use warpscope_probes::{Frame, trust};

    use crate::commands::cli::{CliError, Options, Result};
    use crate::commands::token;
    use crate::config::args;
    use crate::io::source::Source;
    use crate::io::source::fleet::{FleetSource, Server, ServerUrl};
    use crate::io::source::replay::AtEnd;

    /// Where the token is looked for besides a file.
    const TOKEN: &str = "WARPSCOPE_PROMETHEUS_TOKEN";

    /// The machines that a server knows; a command that stops at the end asks it at once.
    pub(crate) fn source(url: &str, options: &Options, at_end: AtEnd) -> Result<Box<dyn Source>> {
        let source = open(url, options)?;
        Ok(Box::new(match at_end {
            AtEnd::Stop => source.asked().map_err(CliError::Failed)?,
            AtEnd::Wait => source,
        }))
    }

    /// A frame of each machine.
    pub(crate) fn frames(url: &str, options: &Options) -> Result<Vec<Frame>> {
        open(url, options)?.frames().map_err(CliError::Failed)
    }

    fn open(url: &str, options: &Options) -> Result<FleetSource> {
        let wrong = |why: String| CliError::Usage(format!("--prometheus: {why}"));
        if let Some(why) = trust::elevated() {
            return Err(wrong(format!(
                "{why}, so it does not query a server with files it may read"
            )));
        }
        if options.recording().is_some() || !options.get(&args::HOSTS).is_empty() {
            let why = "it shows many machines; leave out --host and the recording";
            return Err(wrong(why.to_owned()));
        }
        let url: ServerUrl = url.parse().map_err(wrong)?;
        let token = match options.get(&args::PROMETHEUS_TOKEN_FILE) {
            Some(path) => Some(token::read("--prometheus-token-file", &path)?),
            None => options.env.text(TOKEN).filter(|token| !token.is_empty()),
        };
        let server = Server::new(url, token.as_deref(), options.get(&args::PROMETHEUS_CA));
        let matchers = options.get(&args::PROMETHEUS_MATCH).unwrap_or_default();
        FleetSource::new(server, &matchers, options.get(&args::INTERVAL)).map_err(CliError::Usage)
    }
}

#[cfg(not(feature = "remote"))]
mod without_remote {
    use warpscope_probes::Frame;

    use crate::commands::cli::{CliError, Options, Result};
    use crate::io::source::Source;
    use crate::io::source::replay::AtEnd;

    pub(crate) fn source(_: &str, _: &Options, _: AtEnd) -> Result<Box<dyn Source>> {
        Err(refused())
    }

    pub(crate) fn frames(_: &str, _: &Options) -> Result<Vec<Frame>> {
        Err(refused())
    }

    fn refused() -> CliError {
        CliError::usage("--prometheus: this program was built without the feature remote")
    }
}
