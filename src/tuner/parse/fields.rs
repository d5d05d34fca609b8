//! Keys of a spec, one function each.

use std::collections::BTreeMap;
use std::time::Duration;

use toml::Spanned;

use super::raw::{Checked, RawObjective, Scalar, Scalars, Words, Wrong, wrong};
use crate::tuner::command_line::{CommandLine, is_name};
use crate::tuner::cuda::{CODES, Expression};
use crate::tuner::metrics::MEASURED;
use crate::tuner::names::BUILT_IN;
use crate::tuner::parameters::Parameters;
use crate::tuner::spec::{Kind, Objective};
use crate::tuner::strategy::Strategy;

/// Most shapes, and most number formats.
const MOST_PROBLEMS: usize = 100;
/// Most samples, blocks and runs anybody has the time for.
const MOST_SAMPLES: i64 = 1_000_000;
/// Longest time a run or a build may be given.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

pub(super) fn list(words: &Words) -> Vec<String> {
    match words {
        Words::Text(text) => vec![text.clone()],
        Words::List(list) => list.clone(),
    }
}

pub(super) fn kind(given: Option<&Spanned<String>>) -> Checked<Kind> {
    let Some(given) = given else { return Ok(Kind::Command) };
    match given.get_ref().as_str() {
        "command" => Ok(Kind::Command),
        "cpu" => Ok(Kind::Cpu),
        other => match CODES.iter().find(|row| row.1 == other) {
            Some((code, _)) => Ok(Kind::Cuda(*code)),
            None => wrong(
                &given.span(),
                format!("kind {other:?}: must be one of command, cpu, {}", known()),
            ),
        },
    }
}

/// Words of the kinds.
pub(super) fn known() -> String {
    CODES.iter().map(|row| row.1).collect::<Vec<_>>().join(", ")
}

pub(super) fn name(given: &Spanned<String>) -> Checked<String> {
    let name = given.get_ref();
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(fits) {
        return wrong(&given.span(), "`name`: letters, digits, `.`, `_`, `-`; at most 64");
    }
    Ok(name.clone())
}

pub(super) fn command(given: &Spanned<Words>, shell: bool) -> Checked<CommandLine> {
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

pub(super) fn shapes(given: &[Spanned<Scalars>]) -> Checked<Vec<BTreeMap<String, String>>> {
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

pub(super) fn dtypes(given: Option<&Spanned<Vec<String>>>, kind: Kind) -> Checked<Vec<String>> {
    let Some(given) = given else {
        let own = kind != Kind::Command;
        return Ok(if own { vec!["fp32".to_owned()] } else { Vec::new() });
    };
    let dtypes = given.get_ref();
    let twice = (1..dtypes.len()).any(|place| dtypes[..place].contains(&dtypes[place]));
    if dtypes.is_empty() || dtypes.len() > MOST_PROBLEMS || twice {
        return wrong(&given.span(), "`dtypes`: name one or more, each once");
    }
    Ok(dtypes.clone())
}

pub(super) fn params(
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
            return wrong(&values.span(), format!("`{name}` lists a value twice"));
        }
        Ok((name.clone(), all))
    };
    given.iter().map(one).collect()
}

pub(super) fn baseline(
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

pub(super) fn share(given: Option<&Spanned<f64>>) -> Checked<Option<f64>> {
    match given {
        Some(given) if given.get_ref().is_finite() && *given.get_ref() >= 0.0 => {
            Ok(Some(*given.get_ref()))
        }
        Some(given) => wrong(&given.span(), "must be zero or above"),
        None => Ok(None),
    }
}

pub(super) fn time(given: &Spanned<Scalar>) -> Checked<Duration> {
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

pub(super) fn whole(given: &Spanned<i64>) -> Checked<usize> {
    let number = *given.get_ref();
    if (1..=MOST_SAMPLES).contains(&number) {
        return Ok(number as usize);
    }
    wrong(&given.span(), format!("must be 1 to {MOST_SAMPLES}"))
}

pub(super) fn strategy(given: &Spanned<String>) -> Checked<Strategy> {
    let known =
        [("grid", Strategy::Grid), ("random", Strategy::Random), ("local", Strategy::Local)];
    match known.into_iter().find(|row| row.0 == given.get_ref()) {
        Some((_, strategy)) => Ok(strategy),
        None => wrong(&given.span(), "`strategy` must be \"grid\", \"random\" or \"local\""),
    }
}

/// Conditions that every candidate fulfils. They are read here and tried on the whole grid, so that none fails in the midst of a search.
pub(super) fn restrictions(
    given: &Spanned<Vec<String>>,
    params: &BTreeMap<String, Vec<String>>,
) -> Checked<Vec<Expression>> {
    let read = |text: &String| Expression::parse(text).map_err(|why| Wrong(given.span(), why));
    let all: Vec<Expression> = given.get_ref().iter().map(read).collect::<Checked<_>>()?;
    for name in all.iter().flat_map(Expression::names) {
        let values = params.get(name).ok_or_else(|| {
            Wrong(given.span(), format!("`restrictions`: no parameter is named {name}"))
        })?;
        if let Some(word) = values.iter().find(|value| value.parse::<i64>().is_err()) {
            let why = format!("`restrictions`: {name} may be {word}, which is no whole number");
            return wrong(&given.span(), why);
        }
    }
    Ok(all)
}

/// Numbers of every candidate, by name. What stands in them is known only when programs have said it.
pub(super) fn metrics(
    given: &BTreeMap<String, Spanned<String>>,
) -> Checked<BTreeMap<String, Expression>> {
    let one = |(name, text): (&String, &Spanned<String>)| {
        if MEASURED.contains(&name.as_str()) {
            return wrong(&text.span(), format!("{name} is measured and cannot be a metric"));
        }
        Ok((name.clone(), real(text.get_ref(), text)?))
    };
    given.iter().map(one).collect()
}

pub(super) fn objective(given: &Spanned<RawObjective>) -> Checked<Objective> {
    let (text, is_maximized) = match given.get_ref() {
        RawObjective { minimize: Some(text), maximize: None } => (text, false),
        RawObjective { minimize: None, maximize: Some(text) } => (text, true),
        _ => return wrong(&given.span(), "`objective` must have one of minimize and maximize"),
    };
    Ok(Objective { expression: real(text, given)?, is_maximized })
}

fn real<T>(text: &str, given: &Spanned<T>) -> Checked<Expression> {
    Expression::parse_real(text).map_err(|why| Wrong(given.span(), why))
}

pub(super) fn early_stop(given: &Spanned<Scalar>) -> Checked<Option<f64>> {
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

pub(super) fn roof(given: &Spanned<String>) -> Checked<bool> {
    if given.get_ref() == "cpu" {
        return Ok(true);
    }
    wrong(&given.span(), "`roof` must be \"cpu\": no other is measured by this version")
}
