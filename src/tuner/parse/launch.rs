//! The kernel of kinds cu, ptx and cubin: its file, its entry and its `[launch]`.

use toml::Spanned;

use super::fields::known;
use super::raw::{Checked, Raw, RawContract, Scalar, Words, wrong};
use crate::tuner::command_line::CommandLine;
use crate::tuner::contract::Work;
use crate::tuner::cuda::{Argument, Code, Cuda, Expression, operand_names};

/// Behind a parameter that has 64 bits.
const WIDE: &str = " as u64";

/// Reads it.
pub(super) fn launch(raw: &Raw, code: Code, contract: &RawContract, work: Work) -> Checked<Cuda> {
    let at = raw.name.span();
    let (Some(entry), Some(launch)) = (&raw.entry, &raw.launch) else {
        return wrong(&at, "`entry` and `[launch]` say which kernel is launched, and how");
    };
    if let Some(given) = &raw.run {
        return wrong(&given.span(), "`run` is for kind \"command\": the kernel is launched");
    }
    let file = match (&raw.image, &raw.source) {
        (Some(image), _) if code == Code::Cu => {
            return wrong(
                &image.span(),
                "`image` is for kinds ptx and cubin; `source` is compiled",
            );
        }
        (Some(image), _) => image.get_ref().clone(),
        (None, Some(Words::Text(file))) => file.clone(),
        (None, _) => return wrong(&at, "`source` must name one file: the kernel"),
    };
    let options = match &raw.options {
        Some(given) if code != Code::Cu => {
            return wrong(&given.span(), "`options` are for the compiler of kind \"cu\"");
        }
        given => given.as_ref().map(|given| given.get_ref().clone()).unwrap_or_default(),
    };
    let words = [file, entry.get_ref().clone()].into_iter().chain(options);
    let shared = launch.shared.as_ref().map_or(Ok(zero()), expression)?;
    Ok(Cuda {
        code,
        words: CommandLine::of_words(words.collect()),
        grid: three(&launch.grid)?,
        block: three(&launch.block)?,
        shared,
        arguments: arguments(&launch.args, operand_names(work))?,
        function: contract.function.as_ref().map(|name| name.get_ref().clone()),
        nvrtc: raw.nvrtc.clone(),
        cublas: raw.cublas.clone(),
    })
}

/// Keys that only these kinds have.
pub(super) fn refused(raw: &Raw) -> Checked<()> {
    let given = [
        raw.entry.as_ref().map(|given| ("entry", given.span())),
        raw.image.as_ref().map(|given| ("image", given.span())),
        raw.options.as_ref().map(|given| ("options", given.span())),
        raw.launch.as_ref().map(|given| ("launch", given.place())),
    ];
    match given.into_iter().flatten().next() {
        Some((key, at)) => wrong(&at, format!("`{key}` is for kinds {}", known())),
        None => Ok(()),
    }
}

fn zero() -> Expression {
    Expression::parse("0").expect("is a number")
}

fn expression(given: &Spanned<Scalar>) -> Checked<Expression> {
    Expression::parse(&given.get_ref().to_string()).or_else(|why| wrong(&given.span(), why))
}

/// One to three numbers; what is not there is one.
fn three(given: &Spanned<Vec<Scalar>>) -> Checked<[Expression; 3]> {
    let all = given.get_ref();
    if all.is_empty() || all.len() > 3 {
        return wrong(&given.span(), "one to three numbers: x, y and z");
    }
    let one = |at: usize| {
        let text = all.get(at).map_or_else(|| "1".to_owned(), ToString::to_string);
        Expression::parse(&text).or_else(|why| wrong(&given.span(), why))
    };
    Ok([one(0)?, one(1)?, one(2)?])
}

fn arguments(given: &Spanned<Vec<Scalar>>, operands: &[&str]) -> Checked<Vec<Argument>> {
    let one = |scalar: &Scalar| match scalar {
        Scalar::Number(value) => Ok(Argument::Float(*value as f32)),
        Scalar::Text(text) if operands.contains(&text.as_str()) => {
            Ok(Argument::Operand(text.clone()))
        }
        other => {
            let text = other.to_string();
            let narrow = text.strip_suffix(WIDE);
            let whole = Expression::parse(narrow.unwrap_or(&text));
            whole
                .map(|whole| Argument::Whole(whole, narrow.is_some()))
                .or_else(|why| wrong(&given.span(), why))
        }
    };
    let arguments = given.get_ref().iter().map(one).collect::<Checked<Vec<_>>>()?;
    let is_there = |name: &str| {
        arguments.iter().any(|one| matches!(one, Argument::Operand(given) if given == name))
    };
    match operands.iter().find(|name| !is_there(name)) {
        Some(missing) => wrong(
            &given.span(),
            format!(
                "`{missing}` is not passed as an argument; the contract has {}",
                operands.join(", ")
            ),
        ),
        None => Ok(arguments),
    }
}
