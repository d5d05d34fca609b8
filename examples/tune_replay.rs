//! What the strategies of `warpscope tune` find in search spaces that kernel_tuner measured as a whole.
//!
//! `cargo run --example tune_replay -- CACHE.json...`: for each cache file and budget the best time found, as a multiple of the best in the
//! file, mean of a hundred searches. Nothing is timed: the file answers.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::Value;
use warpscope::tuner::{Parameters, Space, Strategy};

const BUDGETS: [usize; 3] = [50, 100, 200];
const SEARCHES: u64 = 100;

/// A space whose times are known; none where a configuration failed.
struct Cache {
    params: BTreeMap<String, Vec<String>>,
    candidates: Vec<Parameters>,
    times: Vec<Option<f64>>,
}

impl Cache {
    fn read(path: &str) -> Result<Self, Box<dyn Error>> {
        let document: Value = serde_json::from_slice(&std::fs::read(path)?)?;
        let keys = document["tune_params_keys"].as_array().ok_or("no tune_params_keys")?;
        let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
        let entries = document["cache"].as_object().ok_or("no cache")?;
        let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let (mut candidates, mut times) = (Vec::new(), Vec::new());
        for entry in entries.values() {
            let row = keys.iter().map(|key| ((*key).to_owned(), word(&entry[*key])));
            candidates.push(Parameters(row.collect()));
            times.push(entry["time"].as_f64());
        }
        let values = |key: &&str| {
            let all = document["tune_params"][*key].as_array().cloned().unwrap_or_default();
            ((*key).to_owned(), all.iter().map(word).collect())
        };
        Ok(Self { params: keys.iter().map(values).collect(), candidates, times })
    }

    /// The best time found within a budget; none where nothing ran.
    fn search(&self, strategy: Strategy, budget: usize, seed: u64) -> Option<f64> {
        let mut space = Space::new(&self.candidates, &self.params, strategy, budget, seed);
        let mut known = Vec::new();
        for _ in 0..budget {
            let Some(next) = space.next(&known) else { break };
            space.tried(next);
            known.extend(self.times[next].map(|time| (next, time)));
        }
        known.into_iter().map(|one| one.1).reduce(f64::min)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:44} {:>6}  {:>7} {:>7}", "space", "budget", "random", "local");
    for path in std::env::args().skip(1) {
        let cache = Cache::read(&path)?;
        let best = cache.times.iter().flatten().copied().fold(f64::MAX, f64::min);
        for budget in BUDGETS {
            let mean = |strategy| {
                let found = (0..SEARCHES).filter_map(|seed| cache.search(strategy, budget, seed));
                let found: Vec<f64> = found.collect();
                found.iter().sum::<f64>() / found.len() as f64 / best
            };
            let [random, local] = [Strategy::Random, Strategy::Local].map(mean);
            println!("{path:44} {budget:>6}  {random:>7.3} {local:>7.3}");
        }
    }
    Ok(())
}
