//! Every option once: the command line, the environment, the configuration file, the help, the man
//! page, the completions and the sample file are made from this table.
//!
//! Derive macros were rejected: they would spread one option over three structs, and the layers
//! could not be walked by a test.

mod ask;
mod bench;
mod gpu;
mod id;
mod look;
mod picture;
mod print;
mod record;
mod row;
mod runs;
mod source;

pub use ask::ONLY;
pub use bench::{DTYPES, PATHS};
pub use id::Id;
pub use look::{COLORS, TABS};
pub use print::SHELLS;
pub use row::{ArgSpec, EnvRule, Form};
pub use source::WHAT_IFS;

/// Every option, sorted by name in the code.
pub static ARGS: [ArgSpec; COUNT] = sorted();

const SECTIONS: &[&[ArgSpec]] = &[
    look::ROWS,
    source::ROWS,
    bench::ROWS,
    gpu::ROWS,
    ask::ROWS,
    print::ROWS,
    record::ROWS,
    picture::ROWS,
    runs::ROWS,
];

const COUNT: usize = {
    let (mut count, mut section) = (0, 0);
    while section < SECTIONS.len() {
        count += SECTIONS[section].len();
        section += 1;
    }
    count
};

/// The rows of all sections, each put before those with a later name.
const fn sorted() -> [ArgSpec; COUNT] {
    let mut rows = [SECTIONS[0][0]; COUNT];
    let (mut filled, mut section) = (0, 0);
    while section < SECTIONS.len() {
        let mut row = 0;
        while row < SECTIONS[section].len() {
            let new = SECTIONS[section][row];
            let mut at = filled;
            while at > 0 && rows[at - 1].id as usize > new.id as usize {
                rows[at] = rows[at - 1];
                at -= 1;
            }
            rows[at] = new;
            filled += 1;
            row += 1;
        }
        section += 1;
    }
    rows
}

/// The row of an option.
pub fn spec(id: Id) -> &'static ArgSpec {
    ARGS.iter().find(|spec| spec.id == id).expect("every option has a row")
}

/// The row behind a key of the configuration file.
pub(super) fn by_key(key: &str) -> Option<&'static ArgSpec> {
    ARGS.iter().find(|spec| spec.key == Some(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_each_stands_once() {
        assert!(ARGS.windows(2).all(|pair| pair[0].id < pair[1].id));
    }

    #[test]
    fn every_row_can_be_given_and_explains_itself() {
        for spec in &ARGS {
            assert!(!spec.help.is_empty() && !spec.help.ends_with('.'), "{:?}", spec.id);
            let flags = spec.long.is_some() || !spec.shorthands.is_empty();
            assert_eq!(flags, spec.form == Form::Option, "{:?}", spec.id);
            assert_eq!(spec.long.is_some(), !spec.value_name.is_empty() && flags, "{:?}", spec.id);
        }
    }

    #[test]
    fn every_value_a_row_mentions_is_allowed() {
        for spec in &ARGS {
            let means = spec.env.iter().filter_map(|(_, rule)| match rule {
                EnvRule::Value => None,
                EnvRule::Means(text) | EnvRule::OneShotMeans(text) => Some(*text),
            });
            let shorthands = spec.shorthands.iter().map(|row| row.1);
            for text in spec.default.into_iter().chain(means).chain(shorthands) {
                assert!(spec.kind.parse(text).is_ok(), "{:?}: {text}", spec.id);
            }
        }
    }

    #[test]
    fn keys_and_variables_stand_once_and_speak_of_their_flag() {
        for spec in ARGS.iter().filter(|spec| spec.key.is_some()) {
            assert_eq!(ARGS.iter().filter(|other| other.key == spec.key).count(), 1);
            assert!(!spec.env.is_empty(), "{:?} has no variable", spec.id);
            assert!(!spec.key_help.is_empty(), "{:?} has no sentence", spec.id);
        }
        let mut names: Vec<_> = ARGS.iter().flat_map(|spec| spec.env).map(|row| row.0).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
