//! Command lines of other programs that were pasted behind a command: which options are whose.

use std::ffi::OsString;

use super::command::{CommandSpec, Commands};
use crate::config::{ArgSpec, Form, Kind};

/// The line with what was pasted behind `--`, where an option of it is none of the command's. A misspelt option of the command stays, and
/// so does what stands before the first operand.
pub(super) fn apart(commands: Commands, line: Vec<OsString>) -> Vec<OsString> {
    let named = line.get(1).and_then(|word| commands.named.iter().find(|spec| word == spec.name));
    let Some((spec, is_option)) = named.and_then(|spec| Some((spec, spec.pasted?))) else {
        return line;
    };
    let mut own: Vec<OsString> = line[..2].to_vec();
    let (mut pasted, mut is_apart) = (Vec::new(), false);
    let mut words = line.iter().skip(2);
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        match of_option(spec, &text) {
            _ if text == "--" => {
                pasted.extend(words.by_ref().cloned());
            }
            _ if !text.starts_with('-') => pasted.push(word.clone()),
            Some(takes_value) => {
                own.push(word.clone());
                own.extend(words.by_ref().take(usize::from(takes_value)).cloned());
            }
            None if pasted.is_empty() || !is_option(&text) && is_misspelt(spec, &text) => {
                return line;
            }
            None => {
                is_apart = true;
                pasted.push(word.clone());
            }
        }
    }
    if !is_apart {
        return line;
    }
    own.push("--".into());
    own.extend(pasted);
    own
}

/// Whether a word is an option of the command, and whether its value is the next word.
fn of_option(spec: &CommandSpec, word: &str) -> Option<bool> {
    if ["-h", "--help"].contains(&word) {
        return Some(false);
    }
    let (flag, has_value) = match word.split_once('=') {
        Some((flag, _)) => (flag, true),
        None => (word, false),
    };
    let is_long = |row: &ArgSpec| {
        row.form == Form::Option
            && (row.long.is_some_and(|long| flag.strip_prefix("--") == Some(long))
                || row.short.is_some_and(|short| flag == format!("-{short}")))
    };
    let is_shorthand =
        flag.strip_prefix("--").is_some_and(|flag| flags(spec).any(|own| own == flag));
    match spec.specs().find(|row| is_long(row)) {
        Some(row) => Some(!has_value && row.kind != Kind::Switch),
        None => is_shorthand.then_some(false),
    }
}

/// Its flags that take no value.
fn flags(spec: &CommandSpec) -> impl Iterator<Item = &'static str> {
    spec.specs().flat_map(|row| row.shorthands.iter().map(|shorthand| shorthand.0))
}

/// Whether one letter makes it an option of the command.
fn is_misspelt(spec: &CommandSpec, word: &str) -> bool {
    let Some(flag) = word.strip_prefix("--") else { return false };
    let flag = flag.split('=').next().unwrap_or(flag);
    let mut own = spec.specs().filter_map(|row| row.long).chain(flags(spec));
    flag.len() > 3 && own.any(|own| strsim::damerau_levenshtein(own, flag) == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(line: &str) -> String {
        let line = line.split(' ').map(OsString::from).collect();
        let words = super::apart(crate::commands::ALL, line);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_of_other_programs_are_operands() {
        for (line, want) in [
            (
                "warpscope check --gpu T4 vllm --enforce-eager --json --max-model-len 8192",
                "warpscope check --gpu T4 --json -- vllm --enforce-eager --max-model-len 8192",
            ),
            (
                "warpscope why llama.cpp -ngl 99 --gpu=T4 -- -fa on",
                "warpscope why --gpu=T4 -- llama.cpp -ngl 99 -fa on",
            ),
            (
                "warpscope check docker run --gpus all vllm/vllm-openai --dtype half",
                "warpscope check --dtype half -- docker run --gpus all vllm/vllm-openai",
            ),
        ] {
            assert_eq!(apart(line), want);
        }
    }

    #[test]
    fn other_lines_are_left_alone() {
        for line in [
            "warpscope",
            "warpscope check --gpu T4 vllm awq --json",
            "warpscope check --enforce-eager vllm",
            "warpscope check vllm --modle Qwen/Qwen3-8B --enforce-eager",
            "warpscope check vllm --jsom",
            "warpscope plan Qwen/Qwen3-8B vllm --enforce-eager",
            "warpscope check --help",
        ] {
            assert_eq!(apart(line), line);
        }
    }
}
