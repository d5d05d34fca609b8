//! Where a recording goes, and where its points come from.

use std::path::PathBuf;

use super::spec::{Arg, ArgSpec, Form, operand, option, switch};
use crate::config::value::Kind;
use crate::runs::samples as points;

args! {
    FILE: PathBuf = operand(Form::RequiredOperand, "FILE", Kind::Path)
        .help("Recording to write; an existing one is continued");
    MAX_SIZE: Option<u64> = option("max-size", "SIZE", Kind::Size)
        .help("Start a new file before this one exceeds the size");
    KEEP: u64 = option("keep", "N", Kind::Count)
        .default("3")
        .help("Number of older files to keep with --max-size: FILE.1, FILE.2 and so on");
    COMMAND: Vec<String> = operand(Form::Rest, "COMMAND", Kind::Words)
        .help("Program to run and record: the samples in its output, and the state of the machine while it runs");
    ATTACH: Option<u64> = option("attach", "PID", Kind::Count)
        .help("Record the samples of a running process until it ends; the address to send them to is printed");
    STDIN: bool = switch(&[("stdin", "on")])
        .help("Record the samples in standard input, which is passed through");
    PARSERS: Vec<String> = option("parse", "LIST", Kind::AnyOf(points::PARSERS))
        .help("Also recognize the output of these tools, comma-separated");
    PATTERN: Option<String> = option("pattern", "REGEX", Kind::Text)
        .help("Also recognize lines that match this regular expression; groups name the fields: (?<name>...), (?<t_us>...), (?<per_s>...)");
    REMARK: Vec<String> = operand(Form::RequiredOperand, "TEXT", Kind::Words)
        .help("Remark to store with the measurements");
}
