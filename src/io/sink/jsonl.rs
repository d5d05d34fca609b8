//! One frame, one line of JSON. The recording, the wire and `--json` are this.
//!
//! Hostile characters beyond those that JSON itself has escaped (U+007F to U+009F, what turns the direction
//! of text, what cannot be seen) are written as `\u` escapes: JSON allows them plain, but a terminal may obey
//! them, and a process may be named with them. The value stays the same for every reader.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use warpscope_probes::text::is_hostile;

/// A value as one line, with its line feed.
pub fn line<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = write(value, CompactFormatter)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// A value over several indented lines, with a line feed at the end.
pub fn pretty<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = write(value, PrettyFormatter::new())?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn write<T: Serialize, F: Formatter>(value: &T, inner: F) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::with_capacity(4096);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Harmless(inner)))?;
    Ok(bytes)
}

/// Escapes what a terminal could obey; leaves everything else to the formatter inside.
struct Harmless<F>(F);

macro_rules! hand_over {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        fn $name<W: ?Sized + Write>(&mut self, out: &mut W $(, $arg: $ty)*) -> io::Result<()> {
            self.0.$name(out $(, $arg)*)
        }
    )*};
}

impl<F: Formatter> Formatter for Harmless<F> {
    hand_over! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|byte| byte < 0x7f) {
            return out.write_all(fragment.as_bytes());
        }
        let mut plain = 0;
        for (at, letter) in fragment.char_indices().filter(|(_, letter)| is_hostile(*letter)) {
            out.write_all(&fragment.as_bytes()[plain..at])?;
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                write!(out, "\\u{unit:04x}")?;
            }
            plain = at + letter.len_utf8();
        }
        out.write_all(&fragment.as_bytes()[plain..])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_a_terminal_obeys_is_written() {
        let name = "a\u{1b}[2J\u{9b}31m\u{202e}\u{200b}\u{e0041}\u{7f}é☃\n";
        let text = String::from_utf8(line(&name).expect("writes")).expect("is text");
        assert_eq!(text, "\"a\\u001b[2J\\u009b31m\\u202e\\u200b\\udb40\\udc41\\u007fé☃\\n\"\n");
        assert_eq!(serde_json::from_str::<String>(&text).expect("reads back"), name);
    }

    proptest! {
        #[test]
        fn every_text_survives_and_no_hostile_character_is_left(text in any::<String>()) {
            let bytes = line(&text).expect("writes");
            prop_assert_eq!(serde_json::from_slice::<String>(&bytes).expect("reads back"), text);
            let printed = String::from_utf8(bytes).expect("is text");
            prop_assert!(!printed.trim_end_matches('\n').chars().any(is_hostile));
        }
    }
}
