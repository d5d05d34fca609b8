//! Changes of inputs: bytes and numbers for binary formats, words, lines and brackets for texts.

mod binary;
mod text;

use crate::random::Random;

/// Longest input that is made.
pub(crate) const LONGEST: usize = 32 << 10;
/// Most words of a dictionary.
const MOST_WORDS: usize = 1024;

/// One way to change an input; the last argument is another input of the same target.
type Change = fn(&mut Mutator, &mut Vec<u8>, &[u8]);

/// Every way. What is there twice is taken twice as often.
const CHANGES: &[Change] = &[
    binary::flip_bit,
    binary::set_byte,
    binary::set_number,
    binary::set_number,
    binary::add_to_number,
    binary::set_length,
    binary::remove_block,
    binary::repeat_block,
    binary::insert_noise,
    binary::take_block,
    binary::splice,
    binary::cut,
    text::insert_word,
    text::replace_word,
    text::replace_word,
    text::replace_number,
    text::replace_number,
    text::move_line,
    text::repeat_line,
    text::take_piece,
    text::nest,
    text::insert_character,
];

/// Makes new inputs from known ones.
pub(crate) struct Mutator {
    random: Random,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    /// One whose words are those of the seeds.
    pub(crate) fn new(seed: u64, seeds: &[Vec<u8>]) -> Self {
        Self { random: Random::new(seed), words: words(seeds) }
    }

    /// An input near those of the corpus; empty where that is.
    pub(crate) fn next(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        // The shorter of two: it takes less time, and a change of it is more likely to matter.
        let two = [self.random.pick(corpus), self.random.pick(corpus)];
        let shorter = two.into_iter().flatten().min_by_key(|one| one.len());
        let mut bytes = shorter.cloned().unwrap_or_default();
        let other = self.random.pick(corpus).map(Vec::as_slice).unwrap_or_default();
        // Few changes most of the time: many rarely leave anything valid.
        for _ in 0..1 << self.random.below(4) {
            let change = self.random.pick(CHANGES).expect("there are some");
            change(self, &mut bytes, other);
            bytes.truncate(LONGEST);
        }
        bytes
    }
}

/// Words of the seeds, each once.
fn words(seeds: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let all = seeds.iter().flat_map(|seed| seed.split(move |byte| !is_part(byte)));
    let mut words: Vec<Vec<u8>> =
        all.filter(|word| (2..=32).contains(&word.len())).map(<[u8]>::to_vec).collect();
    words.sort_unstable();
    words.dedup();
    // Evenly spread over all of them.
    let step = words.len().div_ceil(MOST_WORDS).max(1);
    words.into_iter().step_by(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(seed: u64) -> Vec<Vec<u8>> {
        let seeds = [br#"{"name":"a","list":[1,2.5]}"#.to_vec()];
        let mut mutator = Mutator::new(seed, &seeds);
        (0..20_000).map(|_| mutator.next(&seeds)).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_inputs_and_another_others() {
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
    }

    #[test]
    fn inputs_are_bounded_and_some_texts_stay_json() {
        let all = made(3);
        assert!(all.iter().all(|one| one.len() <= LONGEST));
        let is_json = |one: &&Vec<u8>| serde_json::from_slice::<serde_json::Value>(one).is_ok();
        let json = all.iter().filter(is_json).count();
        assert!(json > all.len() / 20, "{json} of {}", all.len());
    }

    #[test]
    fn every_change_survives_every_small_input() {
        let mut mutator = Mutator::new(4, &[]);
        for change in CHANGES {
            for length in [0, 1, 2, 3, 4, 7, 8, 9, 40] {
                for _ in 0..100 {
                    let mut bytes = b"[\"a\": 12]\n{}"[..].repeat(4)[..length].to_vec();
                    change(&mut mutator, &mut bytes, b"other");
                }
            }
        }
    }
}
