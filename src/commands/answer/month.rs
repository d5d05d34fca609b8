//! A month that was named for a release: it may have seen releases of which the answers differ.

use warpscope_probes::releases;

use crate::engine::{Confidence, Outcome, Question, Verdict, at_release};

/// The first and the last release of a month that was named for the release of a framework.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Month {
    framework: String,
    first: &'static str,
    last: &'static str,
}

impl Month {
    /// None where the date names a day, or its month has one release at most.
    pub(crate) fn of(framework: &str, date: &str) -> Option<Self> {
        let first = releases::first_of_month(framework, date)?;
        let last = releases::release_on(framework, date).filter(|last| *last != first)?;
        Some(Self { framework: framework.to_owned(), first, last })
    }

    /// The question about its first release, where it was asked of its last.
    pub(crate) fn first_of(&self, question: &Question) -> Option<Question> {
        let is_it =
            self.framework == question.framework && question.version.as_deref() == Some(self.last);
        is_it.then(|| at_release(question, self.first))
    }
}

/// The answer for the last release of a month, or for the first where nothing is known of the last. The other one is named where it
/// differs, and then neither is sure.
pub(super) fn of_both(last: Verdict, first: Verdict) -> Verdict {
    let class = |one: &Verdict| (one.outcome.is_bad(), one.outcome.runs());
    if class(&last) == class(&first) {
        return last;
    }
    let is_last_known = last.outcome != Outcome::Unknown;
    let (place, mut verdict, other) = match is_last_known {
        true => ("first", last, first),
        false => ("last", first, last),
    };
    let said = format!("{}, the {place} of that month: {}", other.version, other.outcome.words());
    verdict.doubts.push(said);
    verdict.confidence = Confidence::of(verdict.outcome, false);
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Origin, Target, evaluate};
    use warpscope_probes::rules::{RuleBase, Settings};

    fn verdict(question: &Question) -> Verdict {
        let target = Target::of_sm("card", warpscope_kernels::Sm::new(8, 0));
        evaluate(RuleBase::builtin(), &target, question, &[])
    }

    /// vllm-project/vllm#22331: 0.10.1 has attention sinks for Hopper alone, 0.10.2 for more.
    #[test]
    fn releases_of_a_month_that_differ_are_both_named() {
        let config = [("model_type", "gpt_oss"), ("dtype", "bf16"), ("quantization", "mxfp4")];
        let at = |version: &str| Question {
            framework: "vllm".to_owned(),
            version: Some(version.to_owned()),
            origin: Origin::Asked,
            config: Settings::new(config).expect("good settings"),
            ..Question::default()
        };
        let (bad, good) = (verdict(&at("0.10.1")), verdict(&at("0.10.2")));
        assert!(bad.outcome.is_bad() && good.outcome.runs(), "{bad:?} {good:?}");
        let both = of_both(good.clone(), bad.clone());
        assert_eq!((both.outcome, both.confidence), (good.outcome, Some(Confidence::Medium)));
        assert!(both.doubts.iter().any(|one| one.contains("0.10.1, the first of that month")));
        assert_eq!(of_both(good.clone(), good.clone()), good);
        let unknown = Verdict { outcome: Outcome::Unknown, ..good };
        let both = of_both(unknown, bad.clone());
        assert_eq!((both.outcome, both.version), (bad.outcome, "0.10.1".to_owned()));
    }

    #[test]
    fn a_month_has_a_first_and_a_last_release() {
        let month = Month::of("vllm", "2025-03").expect("several releases");
        assert_eq!((month.first, month.last), ("0.8.0", "0.8.2"));
        assert_eq!(Month::of("vllm", "2025-03-19"), None);
        assert_eq!(Month::of("vllm", "0.8.1"), None);
        assert_eq!(Month::of("nobody", "2025-03"), None);
    }
}
