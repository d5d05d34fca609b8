//! Texts of errors.

use warpscope::engine::explain::{Facts, Reader, explain};
use warpscope_probes::rules::RuleBase;

use crate::Trace;

/// What is told of a text does not depend on the pieces it was read in.
pub(super) fn text(bytes: &[u8], trace: &mut Trace) {
    let digest = |piece: usize| {
        let mut reader = Reader::default();
        bytes.chunks(piece).for_each(|part| reader.push(part));
        reader.finish()
    };
    let whole = digest(bytes.len().max(1));
    assert_eq!(whole, digest(7));
    let answer = explain(&whole, &Facts::default(), RuleBase::builtin());
    trace.count("problems", answer.problems.len());
    for problem in &answer.problems {
        assert!(!problem.cause.is_empty() && problem.line <= whole.total);
        trace.value(&(&problem.class, &problem.subkind, problem.confidence));
    }
}
