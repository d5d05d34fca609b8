//! The server of metrics that options name.

#[cfg(feature = "remote")]
pub(crate) use with_remote::source;
#[cfg(not(feature = "remote"))]
pub(crate) use without_remote::source;

#[cfg(feature = "remote")]
mod with_remote {
    use warpscope_probes::trust;

    use crate::commands::cli::{CliError, Options};
    use crate::commands::token;
    use crate::config::args;
    use crate::io::source::fleet::{FleetSource, Server, ServerUrl};

    /// Where the token is looked for besides a file.
    const TOKEN: &str = "WARPSCOPE_PROMETHEUS_TOKEN";

    /// The machines that a server knows.
    pub(crate) fn source(url: &str, options: &Options) -> Result<FleetSource, CliError> {
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
    use std::convert::Infallible;

    use warpscope_probes::Frame;

    use crate::commands::cli::{CliError, Options};
    use crate::io::source::{Control, FrameSink, Source};

    /// Nothing: this build asks no server.
    pub(crate) struct NoFleet(Infallible);

    impl NoFleet {
        pub(crate) fn asked(self) -> Result<Self, String> {
            match self.0 {}
        }

        pub(crate) fn frames(self) -> Result<Vec<Frame>, String> {
            match self.0 {}
        }
    }

    impl Source for NoFleet {
        fn start(self: Box<Self>, _: FrameSink) -> Box<dyn Control> {
            match self.0 {}
        }
    }

    pub(crate) fn source(_: &str, _: &Options) -> Result<NoFleet, CliError> {
        Err(CliError::usage("--prometheus: this program was built without the feature remote"))
    }
}
