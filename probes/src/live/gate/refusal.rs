//! One entry of a text of PTX alone, for a device it was not meant for: what the driver's compiler says of it is what users see.

use std::fmt::Write;

use warpscope_kernels::image::Isa;
use warpscope_kernels::{Sm, Suffix};

/// The text with nothing but this entry, for the target and version given; `None` where it has no such entry.
pub(in super::super) fn alone(ptx: &str, entry: &str, target: Sm, isa: Isa) -> Option<String> {
    let start = ptx.find(&format!(".visible .entry {entry}("))?;
    let end = start + ptx[start..].find("\n}")? + "\n}\n".len();
    let mut text = String::new();
    let header = writeln!(text, ".version {isa}\n.target {target}\n.address_size 64\n");
    header.expect("a String takes everything");
    text += ptx.get(start..end)?;
    Some(text)
}

/// The target under which a device is offered everything it may have: from 9.0 on some instructions ask for the architecture itself.
pub(super) fn widest(device: Sm) -> Sm {
    let suffix = if device.major >= 9 { Suffix::Arch } else { Suffix::None };
    Sm { suffix, ..device }
}

/// What a compiler complains of: the first line that names an error, without its place in a file nobody has.
pub(super) fn complaint(log: &str) -> Option<String> {
    let line = log.lines().find(|line| line.contains("error") || line.contains("fatal"))?;
    let told = line.split_once(": ").map_or(line, |(place, rest)| {
        if place.contains("error") || place.contains("fatal") { rest } else { line }
    });
    let clean: String = told.chars().filter(|c| !c.is_control()).take(200).collect();
    Some(clean.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//\n.version 8.8\n.target sm_80\n.address_size 64\n.global .u32 WARP = 32;\n\
        .visible .entry one(\n\t.param .u64 a\n)\n{\n\t{\n\t.reg .b32 r;\n\t}\n\tret;\n\n}\n\t// .globl\ttwo\n\
        .visible .entry one_more(\n)\n{\n\tret;\n}\n";

    #[test]
    fn an_entry_is_taken_with_its_body_and_nothing_else() {
        let text = alone(TEXT, "one", Sm::new(7, 5), Isa::new(7, 4)).expect("is there");
        assert!(text.starts_with(".version 7.4\n.target sm_75\n.address_size 64\n"), "{text}");
        assert!(text.ends_with("\tret;\n\n}\n") && text.matches(".entry").count() == 1, "{text}");
        let more =
            alone(TEXT, "one_more", widest(Sm::new(10, 0)), Isa::new(8, 8)).expect("is there");
        assert!(more.contains(".target sm_100a") && more.contains("one_more("), "{more}");
        assert_eq!(alone(TEXT, "on", Sm::new(7, 5), Isa::new(7, 4)), None);
    }

    /// As ptxas 12.9 writes them.
    #[test]
    fn a_complaint_reads_without_its_place() {
        let log = "ptxas application ptx input, line 21; error   : Feature '.bf16' requires .target sm_80 or higher\n\
                   ptxas fatal   : Ptx assembly aborted due to errors\n";
        assert_eq!(
            complaint(log).as_deref(),
            Some("Feature '.bf16' requires .target sm_80 or higher")
        );
        let fatal = "ptxas fatal   : Unsupported .version 9.9; current version is '8.8'";
        assert_eq!(
            complaint(fatal).as_deref(),
            Some("Unsupported .version 9.9; current version is '8.8'")
        );
        assert_eq!(complaint("warning: \u{1b}[31m all is well"), None);
    }
}
