//! Rules, which users may add their own to, and the versions and ranges in them.

use std::fmt::{Debug, Display};
use std::str::FromStr;
use std::sync::LazyLock;

use warpscope::engine::{Question, Target, evaluate};
use warpscope_kernels::image::Isa;
use warpscope_kernels::{Dtype, Sm};
use warpscope_probes::rules::{NumberRange, RuleBase, SmSet, Version, VersionRange};

use crate::Trace;

/// Rules that are read can be asked, by themselves and on top of others as those of a user are.
pub(super) fn rules(bytes: &[u8], trace: &mut Trace) {
    static OURS: LazyLock<RuleBase> = LazyLock::new(|| {
        let text = include_str!("../../../tests/rules/demo.toml");
        RuleBase::parse(&[("demo.toml", text)]).expect("the tests read it")
    });
    let text = String::from_utf8_lossy(bytes);
    trace.result(&OURS.with_user(&[("mine.toml", &text)]).map(|base| base.rules().len()));
    let result = RuleBase::parse(&[("rules.toml", &text)]);
    let Ok(base) = &result else {
        trace.result(&result.map(drop));
        return;
    };
    trace.count("rules", base.rules().len());
    base.rules().iter().take(4).for_each(|rule| trace.value(rule));
    for row in base.configs().iter().take(4) {
        let target = Target::of_sm("a card", Sm::new(8, 0));
        let verdict = evaluate(base, &target, &Question::of_row(base, row), &[]);
        assert!(!verdict.reason.is_empty());
        trace.value(&verdict.outcome);
    }
}

/// One version, range, set or name a line. What is printed of it reads back as the same.
pub(super) fn versions(bytes: &[u8], trace: &mut Trace) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        trace.result(&line.parse::<VersionRange>());
        trace.result(&line.parse::<SmSet>());
        trace.result(&line.parse::<NumberRange>());
        reads_back::<Isa>(line, trace);
        reads_back::<Sm>(line, trace);
        trace.result(&line.parse::<Dtype>());
        let version = line.parse::<Version>();
        trace.result(&version);
        if let Ok(version) = version {
            assert_eq!(line.parse(), Ok(version), "a version is equal to itself");
        }
    }
}

fn reads_back<T>(text: &str, trace: &mut Trace)
where
    T: FromStr<Err: Display + Debug> + Display + Debug + PartialEq,
{
    let read = text.parse::<T>();
    trace.result(&read);
    if let Ok(read) = read {
        let again = read.to_string().parse::<T>();
        assert_eq!(again.ok().as_ref(), Some(&read), "{text:?}");
    }
}
