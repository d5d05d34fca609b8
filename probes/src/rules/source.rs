//! The text of rule files on its way in.
//!
//! Most of the cost is the grammar of TOML, file by file and without regard to each other, so large bases are read by a few threads: the
//! dashboard waits for the rules before its first verdict. A format of our own, or tables made when the program is built, would be
//! faster still, and neither is something a person can add a rule to.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::base::RuleError;
use super::file::File;

/// Less text than this is read sooner than a thread is started.
const WORTH_A_THREAD: usize = 64 << 10;

/// More threads than this gain nothing: the largest file takes as long.
const MOST_THREADS: usize = 4;

/// One file on its way in.
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) user: bool,
    text: &'a str,
    /// Where each line but the first begins.
    lines: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(super) fn new(name: &'a str, text: &'a str, user: bool) -> Self {
        let lines = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        Self { name, user, text, lines }
    }

    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> RuleError {
        let line = self.line(at);
        RuleError { file: self.name.to_owned(), line, message: message.into() }
    }

    /// Line of a place in the text, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        1 + self.lines.partition_point(|start| *start <= at)
    }

    fn read(&self) -> Result<File, RuleError> {
        toml::from_str(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error(at, error.message())
        })
    }
}

/// Reads every file; results in the order of the files.
pub(super) fn read_all(sources: &[Source<'_>]) -> Vec<Result<File, RuleError>> {
    let bytes: usize = sources.iter().map(|source| source.text.len()).sum();
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if bytes < WORTH_A_THREAD { 1 } else { cores.min(MOST_THREADS) };
    let next = AtomicUsize::new(0);
    let work = || {
        let at = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let mine = at.map_while(|at| Some((at, sources.get(at)?.read())));
        mine.collect::<Vec<_>>()
    };
    let mut read = thread::scope(|scope| {
        // A thread that cannot be started leaves its share to the others.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut read = work();
        for other in others {
            match other.join() {
                Ok(more) => read.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        read
    });
    read.sort_by_key(|one| one.0);
    read.into_iter().map(|one| one.1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let source = Source::new("demo.toml", "a\n\nb", false);
        let lines: Vec<_> = (0..=source.text.len()).map(|at| source.line(at)).collect();
        assert_eq!(lines, [1, 1, 2, 3, 3]);
    }

    #[test]
    fn many_files_come_back_in_their_order_with_their_own_errors() {
        let padding = format!("# {}\n", "x".repeat(WORTH_A_THREAD / 4));
        let texts: Vec<String> = (0..16)
            .map(|at| match at {
                7 => format!("{padding}framework = \n"),
                _ => format!("{padding}framework = \"f{at}\"\n"),
            })
            .collect();
        let sources: Vec<_> =
            texts.iter().map(|text| Source::new("demo.toml", text, false)).collect();
        for (at, file) in read_all(&sources).into_iter().enumerate() {
            match file {
                Ok(file) => assert_eq!(*file.framework.get_ref(), format!("f{at}")),
                Err(error) => assert_eq!((at, error.line), (7, 2), "{error}"),
            }
        }
    }
}
