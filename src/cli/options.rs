use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use warpscope_kernels::gpu::Shape;

use super::exit::CliError;
use super::low::LowArgs;
use crate::bench::PathDtype;
use crate::bench::gpu::Globs;
use crate::bench::pulse::{Allowance, Wish};
use crate::bench::ways::{Way, way, ways};
use crate::config::{self, Config, Environment, Id, Settings, Value};

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorChoice {
    /// As the terminal can.
    Auto,
    /// Also when output is no terminal.
    Always,
    /// Not at all.
    Never,
}

/// When to show GPUs of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhatIf {
    /// Where no real one answers, or where one is named.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Kind of picture a screenshot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// Scalable Vector Graphics.
    Svg,
    /// Plain text.
    Text,
}

/// What is exported and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportOptions {
    /// Journal to read.
    pub journal: Option<PathBuf>,
    /// Format by name.
    pub format: String,
}

/// Runs to compare and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// Files, the baseline first.
    pub runs: Vec<PathBuf>,
    /// The call that makes the command end with 1.
    pub fail_on: Option<String>,
    /// A/A noise of the machine as a share.
    pub noise: Option<f64>,
}

/// What is tuned and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TuneOptions {
    /// The spec.
    pub spec: Option<PathBuf>,
    /// Whether it is searched once.
    pub once: bool,
    /// File for the results.
    pub export: Option<PathBuf>,
}

/// What is asked of the history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryOptions {
    /// Journals to take in first.
    pub import: Vec<PathBuf>,
    /// Whether weak changes are shown.
    pub weak: bool,
}

/// How things look and which keys do what.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewOptions {
    /// Theme by name.
    pub theme: String,
    /// When to use colour.
    pub color: ColorChoice,
    /// ASCII characters only.
    pub ascii: bool,
    /// Whether the mouse is used.
    pub mouse: bool,
    /// Tab to start on, one of [`config::TABS`].
    pub start_tab: String,
    /// Whether processes may not be signalled.
    pub readonly: bool,
    /// Whether to look at what is installed.
    pub inspect: bool,
    /// Keys by action, as the file has them; the keymap checks them.
    pub keys: BTreeMap<String, Vec<String>>,
}

/// Where frames come from.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceOptions {
    /// Time between frames.
    pub interval: Duration,
    /// GPUs of the catalogue, as named.
    pub gpus: Vec<String>,
    /// When to show them.
    pub what_if: WhatIf,
    /// NVML library to load instead of the usual one.
    pub library: Option<PathBuf>,
    /// Recording to play instead of asking this machine.
    pub recording: Option<PathBuf>,
    /// Speed of the recording.
    pub speed: f64,
    /// Where to begin in the recording.
    pub start: Duration,
}

/// What the benchmark runs.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchOptions {
    /// When it runs.
    pub wish: Wish,
    /// How much of a GPU it may take.
    pub allowance: Allowance,
    /// Device of the micro decoder: `cpu`.
    pub device: String,
    /// What is measured: `all`, `cpu` or `gpu`.
    pub part: String,
    /// Weight profile: `clean`, `glm4`, `gemma3`, `kq` or `cancel`.
    pub profile: String,
    /// Number formats, each once, in the order named.
    pub dtypes: Vec<PathDtype>,
    /// Paths of the decoder on GPUs, each once, in the order named; those of the formats where none is named.
    pub paths: Vec<Way>,
    /// Journal every sample is written into.
    pub record: Option<PathBuf>,
    /// Program to judge this one against.
    pub against: Option<PathBuf>,
    /// Blocks of each side where two take turns.
    pub blocks: u64,
}

/// What runs on real GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// Numbers and UUIDs, or [`config::ALL`]; empty where nothing was said.
    pub which: Vec<String>,
    /// Kernels by name.
    pub kernels: Globs,
    /// Probes by name.
    pub probes: Globs,
    /// The copy of cuBLAS to ask; those found here where none is named.
    pub cublas: Option<PathBuf>,
    /// Size at which they are timed.
    pub shape: Option<Shape>,
    /// The one way to compute them.
    pub variant: Option<String>,
    /// Whether their ways are tried to find the best.
    pub tune: bool,
    /// Whether warm and long.
    pub full: bool,
    /// Whether what kernels are to reach is measured, each beside what it is held against.
    pub goals: bool,
    /// Whether also beside others.
    pub anyway: bool,
    /// Longest silence of the process on the GPU.
    pub patience: Duration,
}

/// What a one-shot command prints.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputOptions {
    /// JSON instead of text.
    pub json: bool,
    /// CSV instead of JSON Lines.
    pub csv: bool,
    /// Placeholders for what names a person or a machine.
    pub redact: bool,
    /// Form of a list of verdicts.
    pub form: Form,
    /// Which verdicts are shown.
    pub only: Option<Only>,
    /// Only this fix, counted from 1.
    pub fix: Option<u64>,
    /// File the fix is written to.
    pub write: Option<PathBuf>,
    /// Whether to end with code 3 when no GPU answers.
    pub require_gpu: bool,
    /// End after so many frames.
    pub count: Option<u64>,
    /// End after this time.
    pub duration: Option<Duration>,
}

/// Form of a list of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// For people.
    #[default]
    Text,
    /// One document.
    Json,
    /// A table to be pasted into an issue.
    Markdown,
    /// One line per verdict.
    Csv,
}

/// Which verdicts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// What fails, gives wrong output or runs in part.
    Fails,
    /// Everything but what runs as asked.
    Problems,
    /// What nobody knows.
    Unknown,
}

/// What is asked about, besides GPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AskOptions {
    /// Frameworks and configurations, as typed; everything when empty.
    pub words: Vec<String>,
    /// Number format, as typed.
    pub dtype: Option<String>,
    /// The model's folder or file.
    pub model: Option<PathBuf>,
    /// Folders of the user's rules besides the usual one.
    pub rules: Vec<PathBuf>,
    /// Words to look for in a table.
    pub filter: Vec<String>,
    /// Whether to ask about what is installed here; none: where the GPUs are here.
    pub installed: Option<bool>,
}

/// Where a recording goes.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordOptions {
    /// File to write; `None` for commands that record nothing.
    pub file: Option<PathBuf>,
    /// Size at which a new file is begun.
    pub max_size: Option<u64>,
    /// Older files to keep.
    pub keep: u64,
    /// Program to run and record, and its arguments.
    pub command: Vec<String>,
    /// Process to record.
    pub attach: Option<u64>,
    /// Whether standard input is recorded.
    pub stdin: bool,
    /// Tools whose lines are looked for.
    pub parsers: Vec<String>,
    /// Pattern of lines to look for.
    pub pattern: Option<String>,
    /// Words of a remark.
    pub remark: Vec<String>,
}

/// What a screenshot shows.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureOptions {
    /// Panel by name.
    pub panel: String,
    /// Columns and lines.
    pub size: (u16, u16),
    /// Kind of picture.
    pub format: PictureFormat,
    /// File to write; standard output without one.
    pub output: Option<PathBuf>,
    /// Benchmark events to show.
    pub bench_events: Option<PathBuf>,
}

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
    pub inspect: Vec<String>,
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
        view: view(&get, file.keys),
        source: source(&get),
        bench: bench(&get),
        gpu: gpu(&get)?,
        output: output(&get),
        record: record(&get),
        picture: picture(&get),
        ask: ask(&get),
        inspect: get.list(Id::Inspected),
        export: ExportOptions {
            journal: get.path(Id::Journal),
            format: get.text(Id::ExportFormat),
        },
        compare: CompareOptions {
            runs: get.list(Id::Runs).into_iter().map(PathBuf::from).collect(),
            fail_on: get.word(Id::FailOn),
            noise: get.percent(Id::Noise),
        },
        history: HistoryOptions {
            import: get.list(Id::Import).into_iter().map(PathBuf::from).collect(),
            weak: get.switch(Id::Weak),
        },
        tune: TuneOptions {
            spec: get.path(Id::TuneSpec),
            once: get.switch(Id::TuneOnce),
            export: get.path(Id::TuneExport),
        },
        word: [Id::Action, Id::CommandName, Id::Shell].into_iter().find_map(|id| get.word(id)),
        config,
        env,
        settings,
    })
}

fn view(get: &Typed<'_>, keys: BTreeMap<String, Vec<String>>) -> ViewOptions {
    ViewOptions {
        theme: get.text(Id::Theme),
        color: match get.text(Id::Color).as_str() {
            "always" => ColorChoice::Always,
            "never" => ColorChoice::Never,
            _ => ColorChoice::Auto,
        },
        ascii: get.switch(Id::Ascii),
        mouse: get.switch(Id::Mouse),
        start_tab: get.text(Id::StartTab),
        readonly: get.switch(Id::Readonly),
        inspect: get.switch(Id::Inspect),
        keys,
    }
}

fn source(get: &Typed<'_>) -> SourceOptions {
    SourceOptions {
        interval: get.span(Id::Interval).unwrap_or(Duration::from_secs(1)),
        gpus: get.list(Id::Gpus),
        what_if: match get.text(Id::WhatIf).as_str() {
            "always" => WhatIf::Always,
            "never" => WhatIf::Never,
            _ => WhatIf::Auto,
        },
        library: get.path(Id::Library),
        recording: get.path(Id::Recording).or_else(|| get.path(Id::Source)),
        speed: get.factor(Id::Speed).unwrap_or(1.0),
        start: get.span(Id::Start).unwrap_or_default(),
    }
}

fn bench(get: &Typed<'_>) -> BenchOptions {
    let mut dtypes = Vec::new();
    for word in get.list(Id::Dtypes) {
        if let Some(dtype) = dtype(&word)
            && !dtypes.contains(&dtype)
        {
            dtypes.push(dtype);
        }
    }
    BenchOptions {
        wish: match get.text(Id::Bench).as_str() {
            "on" => Wish::On,
            "off" => Wish::Off,
            _ => Wish::Auto,
        },
        allowance: allowance(get),
        device: get.text(Id::Device),
        part: get.text(Id::BenchDevice),
        profile: get.text(Id::Profile),
        dtypes,
        paths: paths(&get.list(Id::Paths)),
        record: get.path(Id::Record),
        against: get.path(Id::Against),
        blocks: get.number(Id::Blocks).unwrap_or(1),
    }
}

fn paths(words: &[String]) -> Vec<Way> {
    if words.iter().any(|word| word == config::ALL) {
        return ways().collect();
    }
    let mut paths: Vec<Way> = Vec::new();
    for path in words.iter().filter_map(|word| way(word)) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn gpu(get: &Typed<'_>) -> Result<GpuOptions, CliError> {
    let shape = get.word(Id::Shape).map(|text| {
        let sizes: Option<Vec<u32>> =
            text.split(',').map(|size| size.trim().parse().ok()).collect();
        match sizes.as_deref() {
            Some(&[m, n, k]) => Ok(Shape { m, n, k, ..Shape::default() }),
            _ => Err(CliError::Usage(format!(
                "--shape is three whole numbers, such as 16,4096,4096, and not {text:?}"
            ))),
        }
    });
    Ok(GpuOptions {
        which: get.list(Id::OnGpu),
        kernels: Globs::from(get.list(Id::Kernels).join(",").as_str()),
        probes: Globs::from(get.list(Id::OnlyProbes).join(",").as_str()),
        cublas: get.path(Id::Cublas),
        shape: shape.transpose()?,
        variant: get.word(Id::Variant),
        tune: get.switch(Id::TuneVariants),
        full: get.switch(Id::Full),
        goals: get.switch(Id::Goals),
        anyway: get.switch(Id::Anyway),
        patience: get.span(Id::Patience).unwrap_or(Duration::from_secs(60)),
    })
}

fn allowance(get: &Typed<'_>) -> Allowance {
    let usual = Allowance::default();
    Allowance {
        share: get.percent(Id::BenchShare).unwrap_or(usual.share),
        arena_bytes: get.number(Id::BenchMemory).unwrap_or(usual.arena_bytes),
    }
}

fn record(get: &Typed<'_>) -> RecordOptions {
    RecordOptions {
        file: get.path(Id::File),
        max_size: get.number(Id::MaxSize),
        keep: get.number(Id::Keep).unwrap_or_default(),
        command: get.list(Id::Command),
        attach: get.number(Id::Attach),
        stdin: get.switch(Id::Stdin),
        parsers: get.list(Id::Parsers),
        pattern: get.word(Id::Pattern),
        remark: get.list(Id::Remark),
    }
}

fn dtype(word: &str) -> Option<PathDtype> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}

fn output(get: &Typed<'_>) -> OutputOptions {
    let once = get.switch(Id::Once).then_some(1);
    OutputOptions {
        json: get.switch(Id::Json),
        csv: get.text(Id::LineFormat) == "csv",
        redact: get.switch(Id::Redact),
        form: form(get),
        only: match get.text(Id::Only).as_str() {
            "fails" => Some(Only::Fails),
            "problems" => Some(Only::Problems),
            "unknown" => Some(Only::Unknown),
            _ => None,
        },
        fix: get.number(Id::FixNumber),
        write: get.path(Id::Write),
        require_gpu: get.switch(Id::RequireGpu),
        count: once.or(get.number(Id::Count)),
        duration: get.span(Id::Duration),
    }
}

/// The parser lets only one of them stand.
fn form(get: &Typed<'_>) -> Form {
    let forms = [(Id::Json, Form::Json), (Id::Markdown, Form::Markdown), (Id::Csv, Form::Csv)];
    forms.into_iter().find(|row| get.switch(row.0)).map_or(Form::Text, |row| row.1)
}

fn ask(get: &Typed<'_>) -> AskOptions {
    AskOptions {
        words: get.list(Id::Frameworks),
        dtype: get.word(Id::AskedDtype),
        model: get.path(Id::Model),
        rules: get.list(Id::Rules).into_iter().map(PathBuf::from).collect(),
        filter: get.list(Id::Filter),
        installed: match get.text(Id::Installed).as_str() {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        },
    }
}

fn picture(get: &Typed<'_>) -> PictureOptions {
    PictureOptions {
        panel: get.text(Id::Panel),
        size: match get.0.get(Id::Size) {
            Some(Value::Cells(columns, lines)) => (*columns, *lines),
            _ => (80, 24),
        },
        format: match get.text(Id::PictureFormat).as_str() {
            "text" => PictureFormat::Text,
            _ => PictureFormat::Svg,
        },
        output: get.path(Id::Output),
        bench_events: get.path(Id::BenchEvents),
    }
}

/// Values by the type the table gives them.
struct Typed<'a>(&'a Settings);

impl Typed<'_> {
    fn switch(&self, id: Id) -> bool {
        matches!(self.0.get(id), Some(Value::Switch(true)))
    }

    fn word(&self, id: Id) -> Option<String> {
        match self.0.get(id) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    fn text(&self, id: Id) -> String {
        self.word(id).unwrap_or_default()
    }

    fn list(&self, id: Id) -> Vec<String> {
        match self.0.get(id) {
            Some(Value::List(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    fn path(&self, id: Id) -> Option<PathBuf> {
        match self.0.get(id) {
            Some(Value::Path(path)) => Some(path.clone()),
            _ => None,
        }
    }

    fn span(&self, id: Id) -> Option<Duration> {
        match self.0.get(id) {
            Some(Value::Span(span)) => Some(*span),
            _ => None,
        }
    }

    fn percent(&self, id: Id) -> Option<f64> {
        match self.0.get(id) {
            Some(Value::Percent(share)) => Some(*share / 100.0),
            _ => None,
        }
    }

    fn number(&self, id: Id) -> Option<u64> {
        match self.0.get(id) {
            Some(Value::Size(number) | Value::Count(number)) => Some(*number),
            _ => None,
        }
    }

    fn factor(&self, id: Id) -> Option<f64> {
        match self.0.get(id) {
            Some(Value::Factor(factor)) => Some(*factor),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::low::{Parsed, parse};
    use super::*;

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
        assert!(options.bench.wish == Wish::Auto && options.view.mouse);
        assert_eq!(options.bench.allowance, Allowance::default());
        assert!(!options.view.ascii && !options.view.readonly && !options.output.json);
        assert_eq!(options.picture.size, (120, 36));
        assert_eq!(options.record.keep, 3);
        let all = [PathDtype::Fp32, PathDtype::Fp16, PathDtype::Bf16, PathDtype::Int4];
        assert_eq!(options.bench.dtypes, all);
    }

    #[test]
    fn every_number_format_of_the_table_is_one_of_the_benchmark() {
        for word in config::DTYPES {
            assert!(dtype(word).is_some(), "{word}");
        }
    }

    #[test]
    fn every_path_of_the_table_is_one_of_the_decoder_and_each_stands_in_it() {
        let ids = ways().map(|way| way.id);
        assert!(config::PATHS.iter().copied().eq(std::iter::once(config::ALL).chain(ids)));
        let named = |line: &[&str]| -> Vec<_> {
            let options = options(line, &[]).expect("resolves");
            options.bench.paths.iter().map(|path| path.id).collect()
        };
        assert_eq!(named(&["bench", "--path", "nf4,awq", "--path", "nf4"]), ["nf4", "awq"]);
        assert_eq!(named(&["bench", "--path", "awq,all"]).len(), ways().count());
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
