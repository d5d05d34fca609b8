//! Enums of which every variant has a stable name.

/// Declares an enum with the names of its variants, and the table of both.
macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $type:ident in $(#[$about_all:meta])* $all:ident {
            $($(#[$note:meta])* $variant:ident = $name:literal,)*
        }
    ) => {
        $(#[$about])*
        pub enum $type {
            $($(#[$note])* $variant,)*
        }

        $(#[$about_all])*
        pub const $all: &[($type, &str)] = &[$(($type::$variant, $name),)*];

        impl $type {
            /// Its name.
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.id())
            }
        }
    };
}

pub(crate) use named;

/// The variant of a name, or what the names of such a thing are.
pub(crate) fn find<T: Copy>(all: &[(T, &str)], text: &str, what: &str) -> Result<T, String> {
    all.iter().find(|row| row.1 == text).map(|row| row.0).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|row| row.1).collect();
        format!("{text:?} is not {what}; known: {}", known.join(", "))
    })
}
