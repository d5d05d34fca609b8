//! What else is known of a candidate than its time.

use std::collections::BTreeMap;

use super::cuda::Expression;
use super::parameters::Parameters;
use super::trial::Problem;

/// Names every metric may use, beside sizes, parameters, other metrics and numbers of the program's lines.
pub(super) const MEASURED: [&str; 9] = [
    "time_ns",
    "time_us",
    "time_ms",
    "time_s",
    "flops",
    "bytes",
    "error",
    "registers",
    "local_bytes",
];
/// Longest chain of metrics made of metrics.
const DEEPEST: usize = 16;

/// Metrics of one candidate: what the program said, and what the spec computes.
pub(super) struct Numbers<'a> {
    pub(super) problem: &'a Problem,
    pub(super) candidate: usize,
    pub(super) parameters: &'a Parameters,
    pub(super) metrics: &'a BTreeMap<String, Expression>,
}

impl Numbers<'_> {
    /// The value of an expression; none where something in it is not known.
    pub(super) fn value(&self, expression: &Expression) -> Option<f64> {
        self.deep(expression, 0)
    }

    fn deep(&self, expression: &Expression, depth: usize) -> Option<f64> {
        expression.real(&|name| match self.metrics.get(name) {
            Some(metric) if depth < DEEPEST => self.deep(metric, depth + 1),
            Some(_) => None,
            None => self.known(name),
        })
    }

    fn known(&self, name: &str) -> Option<f64> {
        let trial = &self.problem.trials[self.candidate];
        let (said, amount) = (&trial.said, self.problem.amount_of(self.candidate));
        let time = |unit: f64| Some(trial.quartiles()?.median / unit);
        let text = || {
            let given = self.parameters.0.get(name).or_else(|| self.problem.key.shape.0.get(name));
            given?.parse().ok()
        };
        match name {
            "time_ns" => time(1.0),
            "time_us" => time(1e3),
            "time_ms" => time(1e6),
            "time_s" => time(1e9),
            "flops" => amount.flops,
            "bytes" => amount.bytes,
            "error" => said.error,
            "registers" => said.registers.map(f64::from),
            "local_bytes" => said.local_bytes.map(f64::from),
            _ => said.numbers.get(name).copied().or_else(text),
        }
    }
}
