//! What a command needs to know, by subject: each its fields and how they are read from the settings.

mod ask;
mod bench;
mod gpu;
mod output;
mod picture;
mod record;
mod runs;
mod source;
mod typed;
mod view;

use std::path::PathBuf;

pub use self::ask::AskOptions;
pub use self::bench::BenchOptions;
pub use self::gpu::GpuOptions;
pub use self::output::{Form, Only, OutputOptions};
pub use self::picture::{PictureFormat, PictureOptions};
pub use self::record::RecordOptions;
use self::runs::{CompareOptions, ExportOptions, HistoryOptions, TuneOptions};
pub use self::source::{SourceOptions, WhatIf};
use self::typed::Typed;
pub use self::view::{ColorChoice, ViewOptions};
use super::exit::CliError;
use super::low::LowArgs;
use crate::config::{self, Config, Environment, Id, Settings, Value};

/// Everything a command needs to know, from all layers.
#[derive(Clone, Debug)]
pub struct Options {
    /// How things look.
    pub view: ViewOptions,
    /// Where frames come from.
    pub source: SourceOptions,
    /// What the benchmark runs.
    pub bench: BenchOptions,
    /// What runs on real GPUs.
    pub gpu: GpuOptions,
    /// What is printed.
    pub output: OutputOptions,
    /// Where a recording goes.
    pub record: RecordOptions,
    /// What a screenshot shows.
    pub picture: PictureOptions,
    /// What is asked about.
    pub ask: AskOptions,
    /// What to inspect; everything where nothing is named.
    pub inspect: Vec<PathBuf>,
    /// Runs to compare and how.
    pub compare: CompareOptions,
    /// What is asked of the history.
    pub history: HistoryOptions,
    /// What is exported and how.
    pub export: ExportOptions,
    /// What is tuned and how.
    pub tune: TuneOptions,
    /// The word a command takes by its place: shell, action or command name.
    pub word: Option<String>,
    /// The configuration and what became of it.
    pub config: Config,
    /// Every value and the layer it comes from.
    pub settings: Settings,
    /// The environment it was resolved with.
    pub env: Environment,
}

/// Joins the command line with environment and configuration. Reads the configuration file and
/// nothing else.
pub fn resolve(low: &LowArgs, env: Environment) -> Result<Options, CliError> {
    let named = match low.values.get(&Id::Config) {
        Some(Value::Path(path)) => Some(path.clone()),
        _ => env.get("WARPSCOPE_CONFIG").map(PathBuf::from),
    };
    let config = config::load(config::find(named, &env));
    let file = match &config.settings {
        Ok(settings) => settings.clone().unwrap_or_default(),
        Err(_) if low.command.lenient => config::FileSettings::default(),
        Err(why) => return Err(CliError::Usage(why.clone())),
    };
    let settings =
        config::resolve(&low.values, &env, &file, !low.command.screen).map_err(CliError::Usage)?;
    let get = Typed(&settings);
    Ok(Options {
        view: ViewOptions::of(&get, file.keys),
        source: SourceOptions::of(&get),
        bench: BenchOptions::of(&get),
        gpu: GpuOptions::of(&get)?,
        output: OutputOptions::of(&get),
        record: RecordOptions::of(&get),
        picture: PictureOptions::of(&get),
        ask: AskOptions::of(&get),
        inspect: get.paths(Id::Inspected),
        export: ExportOptions::of(&get),
        compare: CompareOptions::of(&get),
        history: HistoryOptions::of(&get),
        tune: TuneOptions::of(&get),
        word: [Id::Action, Id::CommandName, Id::Shell].into_iter().find_map(|id| get.word(id)),
        config,
        env,
        settings,
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::time::Duration;

    use super::super::low::{Parsed, parse};
    use super::*;
    use crate::config;
    use crate::worker::PathDtype;
    use crate::worker::precision::precisions;
    use crate::worker::scheduler::{BenchMode, Budget};

    fn options(line: &[&str], env: &[(&str, &str)]) -> Result<Options, CliError> {
        let words = ["warpscope"].iter().chain(line).map(OsString::from);
        match parse(words)? {
            Parsed::Run(low) => resolve(&low, env.iter().copied().collect()),
            Parsed::Print(text) => panic!("{text}"),
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_documentation() {
        let options = options(&[], &[]).expect("resolves");
        assert_eq!(options.source.interval, Duration::from_secs(1));
        assert_eq!(options.source.speed, 1.0);
        assert_eq!(options.view.start_tab, "overview");
        assert!(options.bench.wish == BenchMode::Auto && options.view.mouse);
        assert_eq!(options.bench.allowance, Budget::default());
        assert!(!options.view.ascii && !options.view.readonly && !options.output.json);
        assert_eq!(options.picture.size, (120, 36));
        assert_eq!(options.record.keep, 3);
        let all = [PathDtype::Fp32, PathDtype::Fp16, PathDtype::Bf16, PathDtype::Int4];
        assert_eq!(options.bench.dtypes, all);
    }

    #[test]
    fn every_path_of_the_table_is_one_of_the_decoder_and_each_stands_in_it() {
        let ids = precisions().map(|way| way.id);
        assert!(config::PATHS.iter().copied().eq(std::iter::once(config::ALL).chain(ids)));
        let named = |line: &[&str]| -> Vec<_> {
            let options = options(line, &[]).expect("resolves");
            options.bench.paths.iter().map(|path| path.id).collect()
        };
        assert_eq!(named(&["bench", "--path", "nf4,awq", "--path", "nf4"]), ["nf4", "awq"]);
        assert_eq!(named(&["bench", "--path", "awq,all"]).len(), precisions().count());
        assert!(named(&["bench"]).is_empty());
    }

    #[test]
    fn flags_reach_their_fields() {
        let line =
            ["stream", "--format", "csv", "-n", "3", "-s", "a.jsonl", "--speed", "2", "--redact"];
        let options = options(&line, &[]).expect("resolves");
        assert!(options.output.csv && options.output.redact);
        assert_eq!(options.output.count, Some(3));
        assert_eq!(options.source.recording, Some(PathBuf::from("a.jsonl")));
        assert_eq!(options.source.speed, 2.0);
    }

    #[test]
    fn a_named_configuration_that_is_missing_stops_all_but_the_lenient() {
        let env = [("WARPSCOPE_CONFIG", "/nowhere/at/all.toml")];
        assert!(matches!(options(&["snapshot"], &env), Err(CliError::Usage(_))));
        let lenient = options(&["doctor"], &env).expect("doctor works all the same");
        assert!(lenient.config.settings.is_err());
    }
}
