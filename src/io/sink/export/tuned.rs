//! A tuning search as kernel_tuner's T4. Unlike a journal it knows which candidates failed and how.

use std::io;

use serde_json::{Value, json};
use warpscope_probes::Timestamp;

use super::tuners::{T4, T4Result, T4Times, of_key, plain, write};
use crate::tuner::{Board, CandidateRun, Parameters, Problem, State};

/// Every candidate that was tried, as a file; times of wrong ones are in no file. `None` where none was tried.
pub fn tuned(board: &Board, at_ms: u64) -> Option<io::Result<Vec<u8>>> {
    let results = board.problems.iter().flat_map(|problem| {
        let rows = board.candidates.iter().zip(&problem.trials);
        rows.filter_map(|(parameters, trial)| result(problem, parameters, trial, at_ms))
    });
    let results: Vec<T4Result> = results.collect();
    let mut file = Vec::new();
    (!results.is_empty()).then(|| write(&T4::of(results), &mut file).map(|()| file))
}

fn result(
    problem: &Problem,
    parameters: &Parameters,
    trial: &CandidateRun,
    at_ms: u64,
) -> Option<T4Result> {
    let invalidity = match &trial.state {
        State::Waiting | State::Running => return None,
        State::Done | State::Right | State::Stopped(_) => "correct",
        State::Invalid(invalid) => invalid.fault.word(),
    };
    let mut configuration = of_key(&problem.key);
    let parameters = parameters.0.iter();
    configuration.extend(parameters.map(|(name, value)| (name.clone(), plain(value))));
    let series = trial.series();
    let runtimes: Vec<f64> = series.sorted().iter().map(|ns| ns / 1e6).collect();
    let right = invalidity == "correct";
    if right && runtimes.is_empty() {
        return None;
    }
    Some(T4Result {
        timestamp: Some(Timestamp(at_ms)),
        configuration,
        objectives: ["time"],
        times: T4Times { runtimes },
        invalidity,
        correctness: u8::from(right),
        measurements: measurements(trial),
    })
}

fn measurements(trial: &CandidateRun) -> Vec<Value> {
    let time = trial.quartiles().map(|all| all.median / 1e6);
    let error = trial.said.error.filter(|error| error.is_finite());
    let stopped = matches!(trial.state, State::Stopped(_)).then_some(1.0);
    let rows = [("time", time, "ms"), ("error", error, ""), ("stopped_early", stopped, "")];
    let metrics = trial.metrics.iter().map(|(name, value)| (name.as_str(), Some(*value), ""));
    rows.into_iter()
        .chain(metrics)
        .filter_map(|(name, value, unit)| {
            Some(json!({"name": name, "value": value?, "unit": unit}))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::samples as points;
    use crate::runs::samples::Key;
    use crate::tuner::{Fault, Invalid, ParsedOutput};

    #[test]
    fn what_is_written_reads_back_and_the_wrong_have_no_times() {
        let said =
            |times: &[f64]| ParsedOutput { times: times.to_vec(), ..ParsedOutput::default() };
        let invalid = Invalid { fault: Fault::Correctness, why: "far off".into() };
        let trials = vec![
            CandidateRun { state: State::Done, said: said(&[2e6, 1e6]), ..CandidateRun::default() },
            CandidateRun {
                state: State::Invalid(invalid),
                said: said(&[5.0]),
                ..CandidateRun::default()
            },
            CandidateRun::default(),
        ];
        let key = Key { name: "sum".into(), ..Key::default() };
        let candidate = |block: u32| Parameters([("block".to_owned(), block.to_string())].into());
        let board = Board {
            candidates: [8, 16, 32].map(candidate).to_vec(),
            problems: vec![Problem { key, trials, ..Problem::default() }],
        };
        let bytes = tuned(&board, 1_700_000_000_000).expect("has results").expect("writes");
        let text = String::from_utf8(bytes).expect("is text");
        let read = points::read(&text).expect("is T4");
        assert_eq!((read.format, read.points.len(), read.left_out), ("kernel-tuner", 1, 1));
        assert_eq!(read.points[0].t_ns, [1e6, 2e6]);
        let document: Value = serde_json::from_str(&text).expect("is JSON");
        let wrong = &document["results"][1];
        assert_eq!(
            (&wrong["invalidity"], &wrong["correctness"]),
            (&json!("correctness"), &json!(0))
        );
        assert_eq!(
            (&wrong["times"]["runtimes"], &wrong["configuration"]["block"]),
            (&json!([]), &json!(16))
        );
        assert!(tuned(&Board::default(), 0).is_none(), "nothing was tried");
    }
}
