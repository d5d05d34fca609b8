//! Rules against the checks they take their bounds from: `probes/releases/gates.csv` has a row for each check found in the releases of a
//! framework, with the first and the last release that has it, their neighbours, and the rules that speak of it.

use std::path::Path;

use warpscope_kernels::Sm;
use warpscope_probes::releases::fields;
use warpscope_probes::rules::{Rule, SmSet, Version, VersionRange};

use super::verdicts::{SMS, base};

const COLUMNS: &str = "repo,gate_id,meaning,kind,bound,before,first_tag,last_tag,after,message,source,rule,sm,exception";

/// One check of one framework.
#[derive(Default)]
struct Gate {
    name: String,
    /// The release before the first, the first, the last (empty while it is still there) and the one after.
    before: String,
    first: String,
    last: String,
    after: String,
    source: String,
    /// Rules that take their bound from it, or `-: reason`.
    rule: String,
    /// The devices on one side of it, alternatives joined by `|`.
    sm: String,
    /// Where a rule differs on purpose: `first: reason; sm: reason`.
    exception: String,
}

fn gates() -> Vec<Gate> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("probes/releases/gates.csv");
    let text = std::fs::read_to_string(path).expect("the table is there");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(COLUMNS));
    let gate = |line: &str| {
        let row: [String; 14] = fields(line).try_into().expect(line);
        let [repo, id, _, _, _, before, first, last, after, _, source, rule, sm, exception] = row;
        let name = format!("{repo} {id}");
        Gate { name, before, first, last, after, source, rule, sm, exception }
    };
    lines.map(gate).collect()
}

/// The version a tag stands for, where it stands for one.
fn version(tag: &str) -> Option<Version> {
    tag.strip_prefix("fa4-").unwrap_or(tag).parse().ok()
}

impl Gate {
    fn excepts(&self, what: &str) -> bool {
        let mut clauses = self.exception.split(';').map(str::trim);
        clauses.any(|clause| clause.split_once(':').is_some_and(|(about, _)| about == what))
    }

    /// Whether one of the ranges holds for the release of this tag; no tag, no answer.
    fn within(ranges: &[&VersionRange], tag: &str) -> Option<bool> {
        let version = (!tag.is_empty()).then(|| version(tag))?;
        Some(ranges.iter().any(|range| range.contains(version.as_ref()) == Some(true)))
    }

    /// Rules begin with the first release that has the check.
    fn begins(&self, ranges: &[&VersionRange]) -> bool {
        Self::within(ranges, &self.first) == Some(true)
            && Self::within(ranges, &self.before) != Some(true)
    }

    /// Rules end with the last release that has it, and go on while it is still there.
    fn ends(&self, ranges: &[&VersionRange]) -> bool {
        if self.last.is_empty() {
            return ranges.iter().any(|range| range.is_open_above());
        }
        Self::within(ranges, &self.last) == Some(true)
            && Self::within(ranges, &self.after) != Some(true)
    }

    /// Rules end where the check begins.
    fn is_ended_by(&self, ranges: &[&VersionRange]) -> bool {
        Self::within(ranges, &self.before) != Some(false)
            && Self::within(ranges, &self.first) == Some(false)
    }

    /// The rule's set of devices is this one or everything else.
    fn divides_as(&self, rule: &Rule) -> bool {
        let sides: Vec<SmSet> = self
            .sm
            .split('|')
            .map(|side| side.parse().unwrap_or_else(|error| panic!("{}: {error}", self.name)))
            .collect();
        let Some(own) = &rule.on.sm else { return false };
        let same = |sm: Sm| own.contains(sm) == sides.iter().any(|side| side.contains(sm));
        let mut all = SMS.iter().map(|(major, minor)| same(Sm::new(*major, *minor)));
        let first = all.next().expect("there are devices");
        all.all(|one| one == first)
    }

    /// What is wrong with the rules of this gate.
    fn wrong(&self, rules: &[&Rule]) -> Vec<String> {
        let ranges: Vec<_> = rules.iter().map(|rule| &rule.versions).collect();
        let holds = if self.excepts("sides") {
            vec![("sides", !self.is_ended_by(&ranges))]
        } else {
            vec![("first", self.begins(&ranges)), ("last", self.ends(&ranges))]
        };
        let sm = !self.sm.is_empty() && rules.iter().all(|rule| self.divides_as(rule));
        let all = holds.into_iter().chain([("sm", sm)]);
        let odd = all.filter(|(what, holds)| *holds == self.excepts(what));
        odd.map(|(what, holds)| {
            let words = if holds { "an exception that is none" } else { "differs" };
            format!("{}: {what}: {words} ({}; {})", self.name, self.rule, self.source)
        })
        .collect()
    }
}

#[test]
fn rules_take_their_bounds_from_the_gates_of_the_releases() {
    let gates = gates();
    assert!(gates.len() > 200, "{} gates", gates.len());
    let mut wrong = Vec::new();
    for gate in &gates {
        if let Some(reason) = gate.rule.strip_prefix('-') {
            assert!(reason.len() > 3, "{}: say why no rule speaks of it", gate.name);
            continue;
        }
        let (known, unknown): (Vec<_>, Vec<_>) =
            gate.rule.split("; ").map(|id| base().rule(id).ok_or(id)).partition(Result::is_ok);
        let unknown = unknown.into_iter().filter_map(Result::err);
        wrong.extend(unknown.map(|id| format!("{}: there is no rule {id:?}", gate.name)));
        let known: Vec<_> = known.into_iter().filter_map(Result::ok).collect();
        wrong.extend(gate.wrong(&known));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_rule_that_leaves_its_gate_is_found() {
    let gate = |first: &str, last: &str, sm: &str, exception: &str| Gate {
        before: "v0.5.0.post1".to_owned(),
        first: first.to_owned(),
        last: last.to_owned(),
        after: if last.is_empty() { String::new() } else { "v0.14.0".to_owned() },
        sm: sm.to_owned(),
        exception: exception.to_owned(),
        ..Gate::default()
    };
    let rule = base().rule("vllm.quant.fp8_ampere").expect("vLLM's FP8 from sm_80");
    let wrong = |gate: Gate| gate.wrong(&[rule]).len();
    assert_eq!(wrong(gate("v0.5.1", "v0.13.0", ">=8.0", "")), 0);
    assert_eq!(wrong(gate("v0.5.1", "v0.13.0", "<8.0", "")), 0);
    assert_eq!(wrong(gate("v0.5.0", "v0.13.0", ">=8.0", "")), 1);
    assert_eq!(wrong(gate("v0.5.1", "", ">=8.0", "")), 1);
    assert_eq!(wrong(gate("v0.5.1", "v0.13.0", ">=8.9", "")), 1);
    assert_eq!(wrong(gate("v0.5.1", "v0.13.0", ">=8.9", "sm: on purpose")), 0);
    assert_eq!(wrong(gate("v0.5.1", "v0.13.0", ">=8.0", "sm: without need")), 1);
}
