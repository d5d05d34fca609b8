//! Completions in the shells that are installed; the others are skipped aloud.

use std::process::Command;

/// Shells, and what makes each of them complete `warpscope check --gpu rtx-30` from a script on its standard input.
const SHELLS: &[(&str, &[&str], &str)] = &[
    (
        "bash",
        &["--norc", "-c"],
        "source \"$SCRIPT\"; COMP_WORDS=(warpscope check --gpu rtx-30); COMP_CWORD=3; _warpscope warpscope rtx-30 --gpu; printf '%s\n' \"${COMPREPLY[@]}\"",
    ),
    ("fish", &["--no-config", "-c"], "source $SCRIPT; complete -C 'warpscope check --gpu rtx-30'"),
    (
        "zsh",
        &["-f", "-c"],
        "autoload -U compinit; compinit -D; source $SCRIPT; grep -o 'rtx-30[^ ]*' $SCRIPT",
    ),
    ("nu", &["-n", "-c"], "source $SCRIPT; open $SCRIPT | lines | find rtx-30"),
];

#[test]
fn shells_complete_names_of_gpus() {
    let folder = tempfile::tempdir().expect("a folder");
    for (shell, args, ask) in SHELLS {
        let program = env!("CARGO_BIN_EXE_warpscope");
        let made = Command::new(program).args(["completions", shell]).output().expect("runs");
        assert!(made.status.success(), "{shell}");
        let path = folder.path().join(format!("warpscope.{shell}"));
        std::fs::write(&path, made.stdout).expect("writes");
        // Nushell wants to know what it sources before it runs.
        let ask = ask.replace("$SCRIPT", &path.display().to_string());
        let answer = Command::new(shell).args(*args).arg(&ask).env("SCRIPT", &path).output();
        let Ok(answer) = answer else {
            crate::skip::skipped(format_args!("{shell} is not installed"));
            continue;
        };
        let said = String::from_utf8_lossy(&answer.stdout);
        assert!(
            said.contains("rtx-3090"),
            "{shell}: {said} {}",
            String::from_utf8_lossy(&answer.stderr)
        );
        assert!(!said.contains("h100"), "{shell}: {said}");
    }
}
