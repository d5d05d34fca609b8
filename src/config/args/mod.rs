//! Every argument once: its type, default, help, environment variable and key in the configuration file.
//!
//! The command line, the layers, the help, the man page, the completions and the sample file are made from these
//! declarations, and a command reads the value by the name of the declaration. clap's derive with serde was rejected: a
//! default would stand beside the layers and not in them, a key of the file in a second struct, and an error in the
//! file would have neither the nearest key nor the other errors beside it.

/// Declares arguments: a static for each, and all of them as the rows of their section.
macro_rules! args {
    ($($name:ident: $type:ty = $spec:expr;)+) => {
        $(pub static $name: Arg<$type> = Arg::new(stringify!($name), $spec);)+
        pub(super) static ROWS: &[&ArgSpec] = &[$(&$name.spec),+];
    };
}

mod alert;
mod bench;
mod gpu;
mod picture;
mod plan;
mod print;
mod question;
mod read;
mod record;
mod remote;
mod runs;
mod source;
mod spec;
mod view;

pub use alert::*;
pub use bench::*;
pub use gpu::*;
pub use picture::*;
pub use plan::*;
pub use print::*;
pub use question::*;
pub use read::ArgValue;
pub use record::*;
pub use remote::*;
pub use runs::*;
pub use source::*;
pub use spec::{AnyArg, Arg, ArgSpec, EnvRule, Form};
pub use view::*;

const SECTIONS: &[&[&ArgSpec]] = &[
    view::ROWS,
    alert::ROWS,
    source::ROWS,
    bench::ROWS,
    gpu::ROWS,
    question::ROWS,
    plan::ROWS,
    print::ROWS,
    record::ROWS,
    remote::ROWS,
    picture::ROWS,
    runs::ROWS,
];

/// Every argument, section by section.
pub fn all() -> impl Iterator<Item = &'static ArgSpec> {
    SECTIONS.iter().copied().flatten().copied()
}

/// The argument behind a key of the configuration file.
pub(super) fn by_key(key: &str) -> Option<&'static ArgSpec> {
    all().find(|spec| spec.key == Some(key))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_can_be_given_and_explains_itself() {
        for spec in all() {
            assert!(!spec.help.is_empty() && !spec.help.ends_with('.'), "{}", spec.id);
            let flags = spec.long.is_some() || !spec.shorthands.is_empty();
            assert_eq!(flags, spec.form == Form::Option, "{}", spec.id);
            assert_eq!(spec.long.is_some(), !spec.value_name.is_empty() && flags, "{}", spec.id);
        }
    }

    #[test]
    fn every_value_a_row_mentions_is_allowed_and_fits_its_type() {
        for spec in all() {
            let implied = spec.implied_by.iter().map(|(_, rule)| match rule {
                EnvRule::Means(text) | EnvRule::OneShotMeans(text) => *text,
            });
            let shorthands = spec.shorthands.iter().map(|row| row.1);
            let words = spec.kind.words().iter().copied();
            for text in spec.default.into_iter().chain(implied).chain(shorthands).chain(words) {
                let value = spec.kind.parse(text);
                assert!(
                    value.is_ok_and(|value| (spec.readable)(Some(&value))),
                    "{}: {text}",
                    spec.id
                );
            }
            let absent = spec.default.is_none() && spec.form != Form::RequiredOperand;
            assert!(!absent || (spec.readable)(None), "{} needs a default", spec.id);
        }
    }

    #[test]
    fn ids_keys_and_variables_are_unique() {
        let mut seen = BTreeSet::new();
        for spec in all() {
            for name in spec.variables().chain(spec.key).chain([spec.id]) {
                assert!(seen.insert(name), "{}: {name}", spec.id);
            }
            assert!(spec.key.is_none() || spec.variable.is_some(), "{} has no variable", spec.id);
        }
    }
}
