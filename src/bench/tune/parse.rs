//! A spec from TOML. Unknown keys are errors: a mistyped `tolerence` must not become no tolerance.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::check::{Accuracy, NUMBERS, Numbers};
use super::command_line::{CommandLine, is_name};
use super::contract::{Check, Contract, WORKS};
use super::cpu;
use super::names::{self, BUILT_IN};
use super::spec::{Kind, MOST_CANDIDATES, Parameters, Spec};

/// Largest spec that is read.
const MAX_BYTES: usize = 1 << 20;
/// Most shapes, and most number formats.
const MOST_PROBLEMS: usize = 100;
/// Most samples, blocks and runs anybody has the time for.
const MOST_SAMPLES: i64 = 1_000_000;
/// Longest time a run or a build may be given.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Relative accuracy where none is given.
const RELATIVE: f64 = 1e-5;
/// Kinds that need a GPU build of the benchmark.
const GPU_KINDS: &[&str] = &["cu", "ptx", "cubin"];

/// What is wrong with a spec and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// File as the user knows it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and the way out.
    pub message: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for SpecError {}

/// A text or a list of texts.
#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a text or a list of texts")]
enum Words {
    Text(String),
    List(Vec<String>),
}

/// A value of a parameter or a size.
#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a text, a number, true or false")]
enum Scalar {
    Switch(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => on.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

type Scalars = BTreeMap<String, Scalar>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Spanned<String>,
    kind: Option<Spanned<String>>,
    source: Option<Words>,
    build: Option<Spanned<Words>>,
    build_timeout: Option<Spanned<Scalar>>,
    run: Option<Spanned<Words>>,
    #[serde(default)]
    shell: bool,
    timeout: Option<Spanned<Scalar>>,
    contract: Spanned<RawContract>,
    #[serde(default)]
    shape: Vec<Spanned<Scalars>>,
    dtypes: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    params: BTreeMap<String, Spanned<Vec<Scalar>>>,
    baseline: Option<Spanned<Scalars>>,
    samples: Option<Spanned<i64>>,
    blocks: Option<Spanned<i64>>,
    warmup: Option<Spanned<i64>>,
    early_stop: Option<Spanned<Scalar>>,
    device: Option<String>,
    roof: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawContract {
    kind: Spanned<String>,
    reference: Option<Spanned<Words>>,
    output: Option<Spanned<String>>,
    tolerance: Option<Spanned<f64>>,
    abs: Option<Spanned<f64>>,
    rel: Option<Spanned<f64>>,
}

/// What is wrong at a place of the text.
struct Wrong(Range<usize>, String);

type Checked<T> = Result<T, Wrong>;

fn wrong<T>(at: &Range<usize>, message: impl Into<String>) -> Checked<T> {
    Err(Wrong(at.clone(), message.into()))
}

/// Reads a spec; `file` is its name in messages.
pub fn parse(file: &str, text: &str) -> Result<Spec, SpecError> {
    let error = |at: usize, message: String| SpecError {
        file: file.to_owned(),
        line: 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count(),
        message,
    };
    if text.len() > MAX_BYTES {
        return Err(error(0, format!("larger than {MAX_BYTES} bytes")));
    }
    let raw: Raw = toml::from_str(text).map_err(|why| {
        let at = why.span().map_or(0, |span| span.start);
        error(at, why.message().lines().collect::<Vec<_>>().join(": "))
    })?;
    understand(raw).map_err(|Wrong(at, message)| error(at.start, message))
}

fn understand(raw: Raw) -> Checked<Spec> {
    let kind = kind(raw.kind.as_ref())?;
    let name = name(&raw.name)?;
    let dtypes = dtypes(raw.dtypes.as_ref(), kind)?;
    let shapes = shapes(&raw.shape)?;
    let contract_at = raw.contract.span();
    let (contract, reference_at) = contract(raw.contract.into_inner(), kind, raw.shell)?;
    let mut params = params(&raw.params)?;
    let run_at = raw.run.as_ref().map_or(raw.name.span(), Spanned::span);
    let run = match (kind, &raw.run) {
        (Kind::Command, Some(run)) => command(run, raw.shell)?,
        (Kind::Command, None) => return wrong(&run_at, "`run` is missing: the program to time"),
        (Kind::Cpu, Some(_)) => return wrong(&run_at, "`run` is not for kind \"cpu\""),
        (Kind::Cpu, None) => {
            let at = |name: &str| raw.params.get(name).map_or(contract_at.clone(), Spanned::span);
            cpu::complete(&mut params, &dtypes).map_err(|(name, why)| Wrong(at(&name), why))?;
            cpu::check(contract.work, &shapes, &dtypes)
                .map_err(|why| Wrong(contract_at.clone(), why))?;
            cpu::command()
        }
    };
    let build = raw.build.as_ref().map(|build| command(build, raw.shell)).transpose()?;
    let span = |default: u64, given: &Option<Spanned<Scalar>>| {
        given.as_ref().map_or(Ok(Duration::from_secs(default)), time)
    };
    let count = |default: i64, least: i64, given: &Option<Spanned<i64>>| {
        given.as_ref().map_or(Ok(default as usize), |given| whole(given, least))
    };
    let baseline = raw.baseline.as_ref().map(|given| baseline(given, &params)).transpose()?;
    let spec = Spec {
        kind,
        name,
        sources: list(raw.source),
        build_timeout: span(300, &raw.build_timeout)?,
        build,
        run,
        timeout: span(30, &raw.timeout)?,
        contract,
        shapes,
        dtypes,
        baseline,
        params,
        samples: count(30, 1, &raw.samples)?,
        blocks: count(5, 1, &raw.blocks)?,
        warmup: count(1, 1, &raw.warmup)?,
        early_stop: raw.early_stop.as_ref().map_or(Ok(Some(2.0)), early_stop)?,
        device: raw.device.or_else(|| (kind == Kind::Cpu).then(|| "cpu".to_owned())),
        cpu_roof: kind == Kind::Cpu || raw.roof.as_ref().map_or(Ok(false), roof)?,
    };
    if spec.grid_size().is_none_or(|size| size > MOST_CANDIDATES) {
        let message = format!("more than {MOST_CANDIDATES} candidates: leave values out");
        return wrong(&raw.name.span(), message);
    }
    let build_at = raw.build.as_ref().map_or(run_at.clone(), Spanned::span);
    names::check(&spec).map_err(|(place, why)| match place {
        names::Place::Run => Wrong(run_at, why),
        names::Place::Build => Wrong(build_at, why),
        names::Place::Reference => Wrong(reference_at, why),
    })?;
    Ok(spec)
}

fn list(words: Option<Words>) -> Vec<String> {
    match words {
        None => Vec::new(),
        Some(Words::Text(text)) => vec![text],
        Some(Words::List(list)) => list,
    }
}

fn kind(given: Option<&Spanned<String>>) -> Checked<Kind> {
    let Some(given) = given else { return Ok(Kind::Command) };
    match given.get_ref().as_str() {
        "command" => Ok(Kind::Command),
        "cpu" => Ok(Kind::Cpu),
        kind if GPU_KINDS.contains(&kind) => wrong(
            &given.span(),
            format!(
                "kind \"{kind}\" needs a GPU build of the benchmark, not part of this version; kind \"command\" times a program of yours that \
                 launches it"
            ),
        ),
        other => wrong(
            &given.span(),
            format!("kind {other:?}: must be command or cpu (cu, ptx and cubin with a GPU build)"),
        ),
    }
}

fn name(given: &Spanned<String>) -> Checked<String> {
    let name = given.get_ref();
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(fits) {
        return wrong(&given.span(), "`name`: letters, digits, `.`, `_`, `-`; at most 64");
    }
    Ok(name.clone())
}

fn command(given: &Spanned<Words>, shell: bool) -> Checked<CommandLine> {
    match (given.get_ref(), shell) {
        (Words::Text(text), true) if !text.trim().is_empty() => {
            Ok(CommandLine::of_shell(text.clone()))
        }
        (Words::List(words), false) if words.first().is_some_and(|first| !first.is_empty()) => {
            Ok(CommandLine::of_words(words.clone()))
        }
        (Words::Text(_), false) => wrong(
            &given.span(),
            "write a list of words, [\"program\", \"--n={n}\"], or set shell = true",
        ),
        (Words::List(list), true) if !list.is_empty() => {
            wrong(&given.span(), "with shell = true a command is one text")
        }
        _ => wrong(&given.span(), "the command is empty"),
    }
}

fn shapes(given: &[Spanned<Scalars>]) -> Checked<Vec<BTreeMap<String, String>>> {
    let mut shapes: Vec<BTreeMap<String, String>> = Vec::new();
    for shape in given {
        let sizes = texts(shape)?;
        if shapes.len() == MOST_PROBLEMS {
            return wrong(&shape.span(), format!("more than {MOST_PROBLEMS} shapes"));
        }
        if shapes.first().is_some_and(|first| !first.keys().eq(sizes.keys())) {
            return wrong(&shape.span(), "a shape names other sizes than the first one");
        }
        if shapes.contains(&sizes) {
            return wrong(&shape.span(), "this shape is there twice");
        }
        shapes.push(sizes);
    }
    if shapes.is_empty() {
        shapes.push(BTreeMap::new());
    }
    Ok(shapes)
}

fn texts(given: &Spanned<Scalars>) -> Checked<BTreeMap<String, String>> {
    if let Some(bad) = given.get_ref().keys().find(|name| !is_name(name)) {
        return wrong(&given.span(), format!("{bad:?}: a name is letters, digits and underlines"));
    }
    Ok(given.get_ref().iter().map(|(name, value)| (name.clone(), value.to_string())).collect())
}

fn dtypes(given: Option<&Spanned<Vec<String>>>, kind: Kind) -> Checked<Vec<String>> {
    let Some(given) = given else {
        return Ok(if kind == Kind::Cpu { vec!["fp32".to_owned()] } else { Vec::new() });
    };
    let dtypes = given.get_ref();
    let twice = (1..dtypes.len()).any(|place| dtypes[..place].contains(&dtypes[place]));
    if dtypes.is_empty() || dtypes.len() > MOST_PROBLEMS || twice {
        return wrong(&given.span(), "`dtypes`: name one or more, each once");
    }
    Ok(dtypes.clone())
}

fn params(
    given: &BTreeMap<String, Spanned<Vec<Scalar>>>,
) -> Checked<BTreeMap<String, Vec<String>>> {
    let one = |(name, values): (&String, &Spanned<Vec<Scalar>>)| {
        let all: Vec<String> = values.get_ref().iter().map(ToString::to_string).collect();
        if !is_name(name) || BUILT_IN.contains(&name.as_str()) {
            let taken = BUILT_IN.join(", ");
            let why =
                format!("{name:?} cannot be a parameter: letters, digits, underlines; not {taken}");
            return wrong(&values.span(), why);
        }
        if all.is_empty() {
            return wrong(&values.span(), format!("`{name}` has no values: nothing to try"));
        }
        if (1..all.len()).any(|place| all[..place].contains(&all[place])) {
            return wrong(&values.span(), format!("`{name}` holds a value twice"));
        }
        Ok((name.clone(), all))
    };
    given.iter().map(one).collect()
}

fn baseline(
    given: &Spanned<Scalars>,
    params: &BTreeMap<String, Vec<String>>,
) -> Checked<Parameters> {
    let values = texts(given)?;
    let is_in_grid = values.keys().eq(params.keys())
        && values.iter().all(|(name, value)| params[name].contains(value));
    if is_in_grid {
        return Ok(Parameters(values));
    }
    let known: Vec<&str> = params.keys().map(String::as_str).collect();
    let message =
        format!("`baseline` must give each parameter a value of the grid: {}", known.join(", "));
    wrong(&given.span(), message)
}

fn contract(raw: RawContract, kind: Kind, shell: bool) -> Checked<(Contract, Range<usize>)> {
    let at = raw.kind.span();
    let word = raw.kind.get_ref();
    let Some((work, _)) = WORKS.iter().find(|row| row.1 == word) else {
        let known: Vec<&str> = WORKS.iter().map(|row| row.1).collect();
        return wrong(&at, format!("contract {word:?}: must be one of {}", known.join(", ")));
    };
    let reference = raw.reference.as_ref().map(|words| command(words, shell)).transpose()?;
    let reference_at = raw.reference.as_ref().map_or(at.clone(), Spanned::span);
    if kind == Kind::Cpu && reference.is_some() {
        return wrong(&reference_at, "kind \"cpu\" is checked against fp64; leave `reference` out");
    }
    let (abs, rel) = (share(raw.abs.as_ref())?, share(raw.rel.as_ref())?);
    let tolerance = share(raw.tolerance.as_ref())?;
    let numbers = raw.output.as_ref().map(numbers).transpose()?;
    let Some(reference) = reference else {
        let error = tolerance.or((kind == Kind::Cpu).then_some(cpu::TOLERANCE));
        let Some(error) = error else {
            return wrong(&at, NO_CHECK);
        };
        for (key, given) in [("abs", &raw.abs), ("rel", &raw.rel)] {
            if let Some(given) = given {
                return wrong(
                    &given.span(),
                    format!("`{key}` is for a reference; say `tolerance`"),
                );
            }
        }
        return Ok((Contract { work: *work, check: Check::Error(error) }, at));
    };
    if let Some(given) = &raw.tolerance {
        return wrong(&given.span(), "`tolerance` is for error=; with a reference say abs and rel");
    }
    let accuracy = Accuracy { abs: abs.unwrap_or(0.0), rel: rel.unwrap_or(RELATIVE) };
    let check = if reference.mentions("output") {
        Check::Output(reference, accuracy, numbers.unwrap_or(Numbers::Text))
    } else if let Some(given) = &raw.output {
        return wrong(&given.span(), "`output` says what {output} holds; the reference names none");
    } else {
        Check::Checksum(reference, accuracy)
    };
    Ok((Contract { work: *work, check }, reference_at))
}

const NO_CHECK: &str = "nothing says when a result is right: a reference command, or tolerance = 1e-5 and a program that prints error=";

fn numbers(given: &Spanned<String>) -> Checked<Numbers> {
    let row = NUMBERS.iter().find(|row| row.1 == given.get_ref());
    row.map_or_else(|| wrong(&given.span(), "`output` must be text, f32 or f64"), |row| Ok(row.0))
}

fn share(given: Option<&Spanned<f64>>) -> Checked<Option<f64>> {
    match given {
        Some(given) if given.get_ref().is_finite() && *given.get_ref() >= 0.0 => {
            Ok(Some(*given.get_ref()))
        }
        Some(given) => wrong(&given.span(), "must be zero or above"),
        None => Ok(None),
    }
}

fn time(given: &Spanned<Scalar>) -> Checked<Duration> {
    let span = match given.get_ref() {
        Scalar::Whole(seconds) => u64::try_from(*seconds).ok().map(Duration::from_secs),
        Scalar::Number(seconds) => Duration::try_from_secs_f64(*seconds).ok(),
        Scalar::Text(text) => humantime::parse_duration(text).ok(),
        Scalar::Switch(_) => None,
    };
    match span.filter(|span| !span.is_zero() && *span <= LONGEST) {
        Some(span) => Ok(span),
        None => wrong(&given.span(), "must be a time above zero: \"10s\", \"500ms\", 2"),
    }
}

fn whole(given: &Spanned<i64>, least: i64) -> Checked<usize> {
    let number = *given.get_ref();
    if (least..=MOST_SAMPLES).contains(&number) {
        return Ok(number as usize);
    }
    wrong(&given.span(), format!("must be {least} to {MOST_SAMPLES}"))
}

fn early_stop(given: &Spanned<Scalar>) -> Checked<Option<f64>> {
    let factor = match given.get_ref() {
        Scalar::Switch(false) => return Ok(None),
        Scalar::Whole(factor) => *factor as f64,
        Scalar::Number(factor) => *factor,
        Scalar::Switch(true) | Scalar::Text(_) => 0.0,
    };
    if factor.is_finite() && factor >= 1.05 {
        return Ok(Some(factor));
    }
    wrong(&given.span(), "`early_stop` must be false or a factor from 1.05 on: 2.0")
}

fn roof(given: &Spanned<String>) -> Checked<bool> {
    if given.get_ref() == "cpu" {
        return Ok(true);
    }
    wrong(&given.span(), "`roof` must be \"cpu\": no other is measured by this version")
}

#[cfg(test)]
mod tests;
