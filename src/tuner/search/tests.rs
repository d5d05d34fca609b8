use super::*;
use crate::runs::compare::{Call, SplitMix};
use crate::tuner::spec::tests::spec;
use crate::tuner::{Parameters, Tainted, Winner};

/// A machine where everything is known: the true time of each candidate, and what is wrong with it.
struct Machine {
    truth: fn(&Parameters) -> Result<f64, Fault>,
    random: SplitMix,
    /// Share by which the machine gets slower with every run.
    drift: f64,
    /// The run during which it is three times slower.
    slow: Option<usize>,
    runs: Vec<usize>,
    /// Runs until the user ends it.
    patience: usize,
    /// Who won the last search.
    winner: Option<usize>,
    /// From which run on the second candidate takes another time.
    later: Option<(usize, f64)>,
    /// Whether a run of a candidate is tainted, by how many it had before; then it takes three times as long.
    tainted: fn(usize, usize) -> bool,
}

impl Machine {
    fn new(truth: fn(&Parameters) -> Result<f64, Fault>) -> Self {
        Self {
            truth,
            random: SplitMix::new(7),
            drift: 0.0,
            slow: None,
            runs: Vec::new(),
            patience: usize::MAX,
            winner: None,
            later: None,
            tainted: |_, _| false,
        }
    }
}

impl Runner for Machine {
    fn last_winner(&self, _: &Board, _: usize) -> Option<usize> {
        self.winner
    }

    fn run(&mut self, board: &Board, job: Job) -> Result<ParsedOutput, Halt> {
        if self.runs.len() == self.patience {
            return Err(Halt::Interrupted);
        }
        let slow = if self.slow == Some(self.runs.len()) { 3.0 } else { 1.0 };
        let before = self.runs.iter().filter(|run| **run == job.candidate).count();
        let is_first = before == 0;
        let later = self.later.filter(|(from, _)| self.runs.len() >= *from && job.candidate == 1);
        self.runs.push(job.candidate);
        let invalid = |fault: Fault| Halt::Invalid(Invalid { fault, why: fault.word().to_owned() });
        let truth = (self.truth)(&board.candidates[job.candidate]).map_err(invalid)?;
        let truth = later.map_or(truth, |later| later.1);
        let is_tainted = (self.tainted)(job.candidate, before);
        let slow = if is_tainted { 3.0 } else { slow };
        let truth = truth * slow * (1.0 + self.drift * self.runs.len() as f64);
        let sample = |random: &mut SplitMix| truth * (1.0 + 0.004 * (random.uniform() - 0.5));
        let mut times: Vec<f64> = (0..job.samples).map(|_| sample(&mut self.random)).collect();
        let tainted = is_tainted.then(|| Tainted {
            times: std::mem::take(&mut times),
            why: vec!["throttled".to_owned()],
            ..Tainted::default()
        });
        // Measured once, as the child does; the slowest takes least.
        let energy = is_first.then(|| ("energy_j".to_owned(), 1.0 / truth));
        let numbers = energy.into_iter().collect();
        let tainted = tainted.into_iter().collect();
        Ok(ParsedOutput { times, tainted, error: Some(1e-7), numbers, ..ParsedOutput::default() })
    }
}

#[derive(Default)]
struct Notes {
    settled: Vec<usize>,
    /// Samples of the final, by candidate.
    finals: Vec<(usize, usize)>,
}

impl Observer for Notes {
    fn changed(&mut self, _: &Board) {}

    fn settled(&mut self, _: &Board, _: usize, candidate: usize) {
        self.settled.push(candidate);
    }

    fn timed_again(&mut self, _: &Board, _: usize, candidate: usize, said: &ParsedOutput) {
        self.finals.push((candidate, said.samples()));
    }
}

fn tuned(more: &str, machine: &mut Machine) -> (Board, Result<(), Interrupted>, Vec<usize>) {
    let mut notes = Notes::default();
    let (board, ended) = search(&spec(more), machine, &mut notes);
    (board, ended, notes.settled)
}

/// Least at b = 8, in a valley.
fn valley(parameters: &Parameters) -> Result<f64, Fault> {
    let b: f64 = parameters.0["b"].parse().expect("a number");
    Ok(1000.0 + 40.0 * (b - 8.0).abs())
}

const GRID: &str = "params.b = [1, 2, 4, 8, 16]\n";

#[test]
fn a_grid_finds_the_known_best_and_says_that_it_is_faster() {
    let mut machine = Machine::new(valley);
    let (board, ended, settled) = tuned(GRID, &mut machine);
    let problem = &board.problems[0];
    assert_eq!((ended, problem.best(), settled), (Ok(()), Some(3), vec![0, 1, 2, 3, 4]));
    let judgement = problem.trials[3].judgement.clone().expect("judged");
    assert_eq!(judgement.call, Call::Faster);
    // 1280 for the first, 1000 for the best.
    let change = judgement.time.expect("samples").change;
    assert!((change - (1000.0 / 1280.0 - 1.0)).abs() < 0.003, "{change}");
    assert!(problem.trials.iter().all(|trial| trial.series().len() >= 30));
}

/// Two that differ by 0.6%, of which the slower looks better by luck beside the baseline; the final has them in turn.
#[test]
fn a_final_decides_between_those_that_are_close() {
    let close = |parameters: &Parameters| {
        Ok(match parameters.0["b"].as_str() {
            "4" => 1006.0,
            "8" => 1000.0,
            _ => 1300.0,
        })
    };
    let mut machine = Machine::new(close);
    let (board, ended, _) = tuned(GRID, &mut machine);
    let problem = &board.problems[0];
    assert_eq!((ended, problem.best()), (Ok(()), Some(3)));
    let finals: Vec<usize> = problem.finals.keys().copied().collect();
    assert_eq!(finals, [2, 3]);
    let (second, judgement) = problem.runner_up.as_ref().expect("was decided");
    assert_eq!(*second, 2);
    let change = judgement.time.expect("samples").change;
    assert!((change + 0.006).abs() < 0.001, "{change}");
    let ratio = problem.ratio(3).expect("timed");
    assert!((ratio - 1000.0 / 1300.0).abs() < 0.003, "{ratio}");
    // Five rounds of six samples each, both in every round, after the search.
    let last = &machine.runs[machine.runs.len() - 10..];
    assert_eq!(last, [3, 2, 2, 3, 3, 2, 2, 3, 3, 2]);
}

/// It takes 97 beside the baseline's 100, and 101 in the final: then the baseline is the best, unchanged.
#[test]
fn a_final_that_the_baseline_wins_leaves_its_time_as_it_is() {
    let mut machine =
        Machine::new(|parameters| Ok(if parameters.0["b"] == "2" { 970.0 } else { 1000.0 }));
    // One run to check and five of samples for the first; one, and ten in turn, for the second.
    machine.later = Some((1 + 1 + 1 + 10, 1010.0));
    let mut notes = Notes::default();
    let (board, ended) = search(&spec("params.b = [1, 2]\n"), &mut machine, &mut notes);
    let problem = &board.problems[0];
    assert_eq!((ended, problem.best(), problem.ratio(0)), (Ok(()), Some(0), Some(1.0)));
    assert!(problem.ratio(1).is_some_and(|ratio| (ratio - 1.01).abs() < 0.003), "{problem:?}");
    assert_eq!(notes.finals, [(1, 30), (0, 30)]);
    let winner = Winner::new(&board, problem, "5eed", 7).expect("a winner");
    assert_eq!(winner.change, 0.0);
    assert!((winner.best[0].median_ns - 1000.0).abs() < 3.0, "{winner:?}");
}

#[test]
fn tainted_samples_make_no_winner_and_are_kept() {
    let mut machine = Machine::new(valley);
    machine.tainted = |_, _| true;
    let (board, ended, _) = tuned(GRID, &mut machine);
    let problem = &board.problems[0];
    assert_eq!((ended, problem.best(), problem.ratio(0)), (Ok(()), None, None));
    let trial = &problem.trials[3];
    let judgement = trial.judgement.as_ref().expect("judged");
    assert_eq!((judgement.call, trial.series().len()), (Call::Ambiguous, 0));
    assert_eq!((trial.said.samples(), trial.beside.samples()), (30, 30));
    assert!(Winner::new(&board, problem, "5eed", 7).is_none());

    // Only the last block of each candidate is hot, and three times as slow.
    let mut machine = Machine::new(valley);
    machine.tainted = |candidate, runs| candidate != 0 && runs == 5;
    let (board, ..) = tuned(GRID, &mut machine);
    let trial = &board.problems[0].trials[3];
    assert_eq!((trial.blocks.len(), trial.series().len()), (4, 24));
    assert_eq!(trial.said.taints().into_iter().collect::<Vec<_>>(), ["throttled"]);
    assert_eq!(board.problems[0].best(), Some(3));
}

/// The fastest has 16, and uses the most of what is to be least.
#[test]
fn an_objective_decides_in_place_of_the_time() {
    let faster = |parameters: &Parameters| {
        let b: f64 = parameters.0["b"].parse().expect("a number");
        Ok(1000.0 - 10.0 * b)
    };
    let best = |objective: &str| {
        let metrics = "metrics.cost = \"time_ns * b\"\n";
        let more = format!("objective = {{ {objective} }}\n{GRID}{metrics}");
        let (board, ..) = tuned(&more, &mut Machine::new(faster));
        let problem = &board.problems[0];
        let best = problem.best().expect("one");
        (board.candidates[best].0["b"].clone(), problem.trials[best].metrics["cost"].round())
    };
    assert_eq!(best("minimize = \"cost\"").0, "1");
    assert_eq!(best("maximize = \"b / time_s\"").0, "16");
    // The slowest takes least energy.
    assert_eq!(best("minimize = \"energy_j\"").0, "1");
    let (b, cost) = best("minimize = \"cost * (b != 1) + (b == 1) * 1e9\"");
    assert!(b == "2" && (cost - 1960.0).abs() < 5.0, "{b} {cost}");
}

#[test]
fn a_budget_ends_a_search_and_a_local_one_finds_the_best_of_a_valley() {
    let wide = "params.b = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n";
    let more = format!("strategy = \"local\"\nbudget = 12\nbaseline = {{ b = 16 }}\n{wide}");
    let mut machine = Machine::new(valley);
    let (board, ended, settled) = tuned(&more, &mut machine);
    assert_eq!((ended, settled.len(), settled[0]), (Ok(()), 12, 15));
    assert_eq!(board.problems[0].best(), Some(7));
}

#[test]
fn who_won_the_last_search_is_tried_after_the_baseline() {
    let mut machine = Machine::new(valley);
    machine.winner = Some(3);
    let (board, _, settled) = tuned(&format!("budget = 2\n{GRID}"), &mut machine);
    assert_eq!((settled, board.problems[0].best()), (vec![0, 3], Some(3)));
    machine.winner = Some(0);
    let (.., settled) = tuned(GRID, &mut machine);
    assert_eq!(settled, [0, 1, 2, 3, 4], "none is tried twice");
}

#[test]
fn a_machine_that_gets_slower_all_the_time_makes_no_winner_of_the_first() {
    let mut machine = Machine::new(|_| Ok(1000.0));
    machine.drift = 0.002;
    let (board, ..) = tuned(GRID, &mut machine);
    for trial in &board.problems[0].trials[1..] {
        let judgement = trial.judgement.as_ref().expect("judged");
        assert!(![Call::Slower, Call::Faster].contains(&judgement.call), "{judgement:?}");
        let ratio = trial.ratio().expect("both sides");
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    }
}

#[test]
fn a_wrong_candidate_is_never_best_nor_baseline_however_fast_it_is() {
    let wrong = |parameters: &Parameters| match parameters.0["b"].as_str() {
        "1" => Err(Fault::Correctness),
        "8" => Err(Fault::Timeout),
        _ => valley(parameters),
    };
    let mut machine = Machine::new(wrong);
    let (board, ..) = tuned(&format!("baseline = {{ b = 1 }}\n{GRID}"), &mut machine);
    let problem = &board.problems[0];
    assert_eq!((problem.baseline, problem.best()), (Some(1), Some(2)));
    assert!(problem.note.as_ref().is_some_and(|note| note.contains("baseline")), "{problem:?}");
    for (place, fault) in [(0, Fault::Correctness), (3, Fault::Timeout)] {
        let trial = &problem.trials[place];
        assert!(matches!(&trial.state, State::Invalid(invalid) if invalid.fault == fault));
        assert!(trial.judgement.is_none() && trial.series().is_empty());
    }
}

#[test]
fn the_hopeless_are_given_up_after_two_blocks_and_say_so() {
    let truth =
        |parameters: &Parameters| Ok(if parameters.0["b"] == "16" { 5000.0 } else { 1000.0 });
    let mut machine = Machine::new(truth);
    let (board, ..) = tuned(GRID, &mut machine);
    let slow = &board.problems[0].trials[4];
    assert!(matches!(&slow.state, State::Stopped(why) if why.contains("5.0x")), "{:?}", slow.state);
    assert_eq!(slow.series().len(), 12, "two blocks of five");
    let mut patient = Machine::new(truth);
    let (board, ..) = tuned(&format!("early_stop = false\n{GRID}"), &mut patient);
    assert!(board.problems[0].trials[4].is_done());
}

#[test]
fn what_was_measured_before_the_user_ended_it_stays() {
    let mut machine = Machine::new(valley);
    machine.patience = 20;
    let (board, ended, _) = tuned(GRID, &mut machine);
    assert_eq!(ended, Err(Interrupted));
    let trials = &board.problems[0].trials;
    assert!(trials[0].is_done() && trials[1].is_done());
    assert!(trials.iter().any(|trial| matches!(trial.state, State::Stopped(_))));
    assert_eq!(trials[4].state, State::Waiting);
}

#[test]
fn every_shape_and_number_format_is_a_problem_of_its_own() {
    let more = "dtypes = [\"fp32\", \"bf16\"]\nshape = [{ n = 1 }, { n = 2 }]\n";
    let (board, ..) = tuned(&format!("{more}{GRID}"), &mut Machine::new(valley));
    let keys: Vec<String> = board.problems.iter().map(|problem| problem.key.to_string()).collect();
    assert_eq!(keys, ["k n=1 fp32", "k n=1 bf16", "k n=2 fp32", "k n=2 bf16"]);
    assert!(board.problems.iter().all(|problem| problem.best() == Some(3)));
}

#[test]
fn a_neighbour_who_takes_the_machine_for_a_block_makes_nobody_hopeless() {
    let mut machine = Machine::new(|_| Ok(1000.0));
    // The first block of the second candidate: runs are one to check, one of samples, and the same again.
    machine.slow = Some(4);
    let (board, ..) = tuned(GRID, &mut machine);
    let trial = &board.problems[0].trials[1];
    assert!(trial.blocks[0] > 2.9, "{:?}", trial.blocks);
    assert!(trial.is_done());
    assert!(trial.ratio().is_some_and(|ratio| (ratio - 1.0).abs() < 0.01), "{:?}", trial.blocks);
}
