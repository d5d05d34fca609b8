//! The filter: words that must occur, and GPUs such as `gpu 3`, `gpu:3` or `gpu3`.

use warpscope_probes::process::Process;
use warpscope_probes::{Frame, Reading};

use crate::features::Input;
use crate::features::process_cells::gpu;

/// A filter that was typed.
#[derive(Debug, Default)]
pub(super) struct Filter {
    words: Input,
    /// Number of a GPU, with that of a MIG instance behind a colon where one is meant.
    gpus: Vec<String>,
}

impl Filter {
    /// What was typed so far; a `gpu` without its number is a word.
    pub(super) fn new(text: &str) -> Self {
        let mut filter = Self::default();
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let lower = word.to_lowercase();
            let number = lower.strip_prefix("gpu").map(|rest| rest.trim_start_matches(':'));
            match number {
                Some("") => match words.next_if(|next| is_number(next)) {
                    Some(number) => filter.gpus.push(number.to_owned()),
                    None => filter.words.text += "gpu ",
                },
                Some(number) if is_number(number) => filter.gpus.push(number.to_owned()),
                _ => filter.words.text += &format!("{word} "),
            }
        }
        filter
    }

    /// Whether a process has every word and is on every GPU.
    pub(super) fn fits(&self, frame: &Frame, process: &Process) -> bool {
        let place = gpu(frame, process);
        let is_on = |wanted: &String| {
            let rest = place.strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        self.gpus.iter().all(is_on) && self.words.matches(&haystack(&place, process))
    }
}

fn is_number(text: &str) -> bool {
    let mut parts = text.split(':');
    parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn haystack(place: &str, process: &Process) -> String {
    let text = |reading: &Reading<String>| reading.last().cloned().unwrap_or_default();
    let host = &process.host;
    let words = [text(&host.user), text(&host.name), text(&host.command), text(&host.container)];
    format!("{} gpu{place} {}", process.pid, words.join(" "))
}
