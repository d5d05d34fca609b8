//! File names that are no UTF-8 are names like any other.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{Desk, frames, journal, text};

fn odd(end: &str) -> OsString {
    [OsStr::from_bytes(b"odd \xff\xfe"), end.as_ref()].into_iter().collect()
}

#[test]
fn every_command_takes_a_name_that_is_no_text() {
    let desk = Desk::new();
    let run = desk.file(odd("run.jsonl"), journal(&["gemm"]));
    let theme = desk.file(odd(".toml"), include_str!("../../../themes/dark.toml"));
    let config = desk.file(odd("config"), "ascii = true\n");
    let frames = desk.file(odd("frames.jsonl"), frames());
    let binary = desk.path(odd("binary"));
    std::fs::copy(env!("CARGO_BIN_EXE_warpscope"), &binary).expect("copies");
    let rules = desk.path(odd("rules"));
    std::fs::create_dir(&rules).expect("makes");
    let (exported, recorded) = (desk.path(odd("out.csv")), desk.path(odd("new.jsonl")));
    let word = |text: &str| PathBuf::from(text);
    for words in [
        vec![word("compare"), run.clone(), run.clone()],
        vec![word("export"), run.clone(), word("-o"), exported.clone()],
        vec![word("history"), word("--import"), run.clone()],
        vec![
            word("record"),
            recorded.clone(),
            word("--"),
            word("echo"),
            word("name=a"),
            word("t_us=1"),
        ],
        vec![
            word("record"),
            desk.path(odd("copy")),
            word("--source"),
            frames.clone(),
            word("--once"),
        ],
        vec![
            word("bench"),
            word("--device"),
            word("cpu"),
            word("--record"),
            desk.path(odd("bench")),
        ],
        vec![word("snapshot"), word("--source"), frames.clone()],
        vec![word("screenshot"), word("--theme"), theme.clone(), word("--source"), frames.clone()],
        vec![word("snapshot"), word("--config"), config, word("--source"), frames.clone()],
        vec![word("inspect"), binary],
        vec![word("check"), word("vllm"), word("--gpu"), word("T4"), word("--rules"), rules],
    ] {
        let output = desk.run(&words);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1 | 4)), "{words:?}: {code:?} {}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("cannot read"), "{}", text(&output.stderr));
    }
    assert!(exported.exists() && recorded.exists());
    let missing = desk.run([word("compare"), desk.path(odd("missing")), run]);
    assert!(text(&missing.stderr).contains("odd \u{fffd}"), "{}", text(&missing.stderr));
}
