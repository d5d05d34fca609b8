//! Which candidate is tried next, where there are more than anyone waits for.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::parameters::Parameters;
use crate::runs::compare::SplitMix;

/// In which order candidates are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// As in the grid.
    #[default]
    Grid,
    /// In random order, the same in every search.
    Random,
    /// Some at random, then in turn by chance neighbours of the best, which differ in one parameter, near values first, and crossings of two
    /// good ones. Where all neighbours of the best were tried, those of the next best follow, so it never stays in a valley.
    Local,
}

/// Random candidates before the first neighbour: a quarter of what may be tried, within these; and then one in so many.
const FIRST: [usize; 2] = [5, 20];
const EXPLORE: f64 = 0.1;
/// How often two good ones are crossed, and how often one value of theirs is then another.
const CROSS: f64 = 0.5;
const MUTATE: f64 = 0.5;
/// Best candidates that are crossed.
const PARENTS: usize = 16;
/// Pairs that are tried before all crossings count as known.
const PAIRS: usize = 20;
/// Best candidates whose neighbours are looked at.
const LEADERS: usize = 32;
/// Seed of the random order of a search: one that is repeated tries the same.
pub(super) const SEED: u64 = 2026;

/// The candidates that are left to try.
#[derive(Debug)]
pub struct Space {
    strategy: Strategy,
    /// Random candidates before the first neighbour.
    first: usize,
    /// Places of the values of each candidate, by parameter.
    places: Vec<Vec<usize>>,
    /// How many values each parameter has.
    sizes: Vec<usize>,
    at: HashMap<Vec<usize>, usize>,
    left: BTreeSet<usize>,
    /// All candidates in random order; those at the end come first.
    shuffled: Vec<usize>,
    random: SplitMix,
    count: usize,
}

impl Space {
    /// A space where nothing was tried, of which so many candidates may be.
    pub fn new(
        candidates: &[Parameters],
        params: &BTreeMap<String, Vec<String>>,
        strategy: Strategy,
        budget: usize,
        seed: u64,
    ) -> Self {
        let place = |(name, value): (&String, &String)| {
            params.get(name).and_then(|values| values.iter().position(|one| one == value))
        };
        let places: Vec<Vec<usize>> = candidates
            .iter()
            .map(|one| one.0.iter().map(|row| place(row).unwrap_or(0)).collect())
            .collect();
        let mut random = SplitMix::new(seed);
        let mut shuffled: Vec<usize> = (0..candidates.len()).collect();
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, below(&mut random, at + 1));
        }
        let [fewest, most] = FIRST;
        Self {
            strategy,
            first: (candidates.len().min(budget) / 4).clamp(fewest, most),
            at: places.iter().cloned().zip(0..).collect(),
            sizes: params.values().map(Vec::len).collect(),
            places,
            left: (0..candidates.len()).collect(),
            shuffled,
            random,
            count: 0,
        }
    }

    /// A candidate that need not be tried again.
    pub fn tried(&mut self, candidate: usize) {
        self.left.remove(&candidate);
        self.count += 1;
    }

    /// Whether a candidate is still to be tried.
    pub fn is_left(&self, candidate: usize) -> bool {
        self.left.contains(&candidate)
    }

    /// The candidate to try next, from what is known of others; none where all were tried.
    pub fn next(&mut self, known: &[(usize, f64)]) -> Option<usize> {
        match self.strategy {
            Strategy::Grid => self.left.first().copied(),
            Strategy::Random => self.any(),
            Strategy::Local if self.count < self.first || self.random.uniform() < EXPLORE => {
                self.any()
            }
            Strategy::Local => self.improve(known).or_else(|| self.any()),
        }
    }

    fn any(&mut self) -> Option<usize> {
        while let Some(one) = self.shuffled.last().copied() {
            if self.left.contains(&one) {
                return Some(one);
            }
            self.shuffled.pop();
        }
        None
    }

    fn improve(&mut self, known: &[(usize, f64)]) -> Option<usize> {
        let mut best: Vec<&(usize, f64)> = known.iter().collect();
        best.sort_by(|one, other| one.1.total_cmp(&other.1));
        let best: Vec<usize> = best.iter().take(LEADERS).map(|one| one.0).collect();
        let crosses = self.random.uniform() < CROSS;
        let crossed = if crosses { self.crossed(&best[..best.len().min(PARENTS)]) } else { None };
        crossed.or_else(|| best.iter().find_map(|one| self.neighbour_of(*one)))
    }

    /// An untried candidate with each value from one of two others, and sometimes one from neither.
    fn crossed(&mut self, parents: &[usize]) -> Option<usize> {
        let Self { random, places, sizes, at, left, .. } = self;
        let tries = if parents.len() > 1 { PAIRS } else { 0 };
        (0..tries).find_map(|_| {
            let pair = [(); 2].map(|()| &places[parents[below(random, parents.len())]]);
            let mut child: Vec<usize> =
                (0..sizes.len()).map(|place| pair[below(random, 2)][place]).collect();
            if random.uniform() < MUTATE {
                let place = below(random, sizes.len());
                child[place] = below(random, sizes[place]);
            }
            at.get(&child).copied().filter(|one| left.contains(one))
        })
    }

    /// An untried candidate that differs in one parameter, by as few places in its list as can be.
    fn neighbour_of(&self, candidate: usize) -> Option<usize> {
        let own = &self.places[candidate];
        let changed = |(parameter, size): (usize, &usize)| {
            let values = (0..*size).filter(move |value| *value != own[parameter]);
            values.map(move |value| (value.abs_diff(own[parameter]), parameter, value))
        };
        let mut all: Vec<_> = self.sizes.iter().enumerate().flat_map(changed).collect();
        all.sort_unstable();
        all.into_iter().find_map(|(_, parameter, value)| {
            let mut places = own.clone();
            places[parameter] = value;
            self.at.get(&places).copied().filter(|one| self.left.contains(one))
        })
    }
}

/// A whole number less than `count`.
fn below(random: &mut SplitMix, count: usize) -> usize {
    (random.uniform() * count as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four parameters, a bowl with its least at 2, 5, 3, 6 and steps that end a search which stays where it is.
    fn searched(strategy: Strategy, side: usize, budget: usize, seed: u64) -> (f64, usize) {
        let values: Vec<String> = (0..side).map(|value| value.to_string()).collect();
        let params: BTreeMap<String, Vec<String>> =
            ["a", "b", "c", "d"].map(|name| (name.to_owned(), values.clone())).into();
        let candidates: Vec<Parameters> = (0..side.pow(4))
            .map(|at| {
                let digit = |place: u32| (at / side.pow(place) % side).to_string();
                Parameters((0..4).zip(params.keys()).map(|(p, k)| (k.clone(), digit(p))).collect())
            })
            .collect();
        let time = |one: &Parameters| {
            let of = |name: &str| one.0[name].parse::<f64>().expect("a number");
            let squares = [("a", 2.0), ("b", 5.0), ("c", 3.0), ("d", 6.0)]
                .map(|(name, best)| (of(name) - best).powi(2));
            100.0 + squares.iter().sum::<f64>() + 4.0 * ((of("a") + of("b")) % 2.0)
        };
        let mut space = Space::new(&candidates, &params, strategy, budget, seed);
        let mut known: Vec<(usize, f64)> = Vec::new();
        for _ in 0..budget {
            let Some(next) = space.next(&known) else { break };
            assert!(known.iter().all(|one| one.0 != next), "tried twice");
            space.tried(next);
            known.push((next, time(&candidates[next])));
        }
        (known.iter().map(|one| one.1).fold(f64::MAX, f64::min), known.len())
    }

    #[test]
    fn a_local_search_finds_in_a_fraction_what_chance_does_not() {
        let mean =
            |strategy| (0..20).map(|seed| searched(strategy, 8, 60, seed).0).sum::<f64>() / 20.0;
        let [chance, local] = [Strategy::Random, Strategy::Local].map(mean);
        println!("best of 101 in 60 of 4096: {local:.2} by neighbours, {chance:.2} by chance");
        assert!(local < 102.0 && local + 2.0 < chance, "{local} {chance}");
    }

    #[test]
    fn every_candidate_is_tried_once_where_the_budget_allows() {
        for strategy in [Strategy::Grid, Strategy::Random, Strategy::Local] {
            assert_eq!(searched(strategy, 4, 300, SEED).1, 256, "{strategy:?}");
        }
    }
}
