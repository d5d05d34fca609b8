//! Journals as other tools leave them: the same to every command that reads one.

use serde_json::Value;

use super::{Desk, frames, journal, text};

/// The same journal in other forms, each with how many lines of it are damaged.
fn forms(journal: &str) -> Vec<(&'static str, String, u64)> {
    let values: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    let pretty: String =
        values.iter().map(|one| serde_json::to_string_pretty(one).expect("JSON") + "\n").collect();
    let sorted: String = values.iter().map(|one| format!("{one}\n")).collect();
    vec![
        ("json.dumps", journal.replace("\":", "\": ").replace(",\"", ", \""), 0),
        ("jq -c -S", sorted, 0),
        ("jq .", pretty.clone(), 0),
        ("byte order mark", format!("\u{feff}{journal}"), 0),
        ("blank first line", format!("\n\n{journal}"), 0),
        ("Windows", journal.replace('\n', "\r\n"), 0),
        ("damaged first line", format!("{{\"type\":\"ru\n{journal}"), 1),
        ("torn pretty value", format!("{{\n  \"type\": \"point\",\n{pretty}"), 1),
        ("damaged last line", format!("{journal}{{\"type\":\"po"), 1),
    ]
}

fn skipped(said: &str) -> u64 {
    let found = said.lines().find_map(|line| line.split_once(" damaged line"));
    found.map_or(0, |(before, _)| {
        before.rsplit(' ').next().expect("a word").parse().expect("a number")
    })
}

#[test]
fn every_reader_reads_every_form_and_tells_once_what_it_skipped() {
    let desk = Desk::new();
    let plain = journal(&["gemm", "softmax"]);
    let whole = desk.file("plain.jsonl", &plain);
    let csv = desk.run([&"export".into(), &whole]).stdout;
    assert_eq!(text(&csv).lines().count(), 1 + 20);
    for (form, content, damaged) in forms(&plain) {
        let file = desk.file("form.jsonl", content);
        let told = |output: &std::process::Output| {
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{form}: {said}");
            assert_eq!(said.matches("damaged line").count() as u64, damaged, "{form}: {said}");
            assert_eq!(skipped(&said), damaged, "{form}: {said}");
            assert_eq!(said.contains("line "), damaged > 0, "{form}: {said}");
        };
        let exported = desk.run([&"export".into(), &file]);
        told(&exported);
        assert_eq!(text(&exported.stdout), text(&csv), "{form}");
        let compared = desk.run([&"compare".into(), &whole, &file, &"--json".into()]);
        told(&compared);
        let rows: Value = serde_json::from_slice(&compared.stdout).expect("is JSON");
        assert_eq!(rows["rows"].as_array().expect("a list").len(), 2, "{form}");
        let imported = desk.run([&"history".into(), &"--import".into(), &file, &"--json".into()]);
        told_import(&text(&imported.stderr), form, damaged);
        // An existing journal is continued, whatever its first line is.
        let words = [
            "record".as_ref(),
            file.as_os_str(),
            "--".as_ref(),
            "echo".as_ref(),
            "name=new".as_ref(),
            "t_us=1".as_ref(),
        ];
        let recorded = desk.run(words);
        assert_eq!(recorded.status.code(), Some(0), "{form}: {}", text(&recorded.stderr));
    }
}

fn told_import(said: &str, form: &str, damaged: u64) {
    assert!(said.contains("1 run") && said.contains("20 samples"), "{form}: {said}");
    assert_eq!(skipped(said), damaged, "{form}: {said}");
}

#[test]
fn a_journal_comes_through_a_pipe_as_well() {
    let desk = Desk::new();
    let whole = desk.file("plain.jsonl", journal(&["gemm"]));
    for words in ["compare /dev/fd/3 \"$1\"", "export /dev/fd/3", "history --import /dev/fd/3"] {
        let script = format!("cat \"$1\" | {{ exec 3<&0 <&-; \"$0\" {words}; }}");
        let command = desk.shell(":");
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_warpscope")]).arg(&whole).env_clear();
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = shell.output().expect("starts");
        assert_eq!(output.status.code(), Some(0), "{words}: {}", text(&output.stderr));
    }
}

#[test]
fn a_recording_is_read_in_every_form_as_well() {
    let desk = Desk::new();
    let plain = desk.file("plain.jsonl", frames());
    let stream = |file: &std::path::Path| {
        let words = ["stream".as_ref(), "--source".as_ref(), file.as_os_str()];
        let output = desk.run(words.into_iter().chain(["--speed", "1000"].map(AsRef::as_ref)));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let end =
            |line: &str| line.replace(&*file.file_name().expect("has one").to_string_lossy(), "");
        (text(&output.stdout).lines().map(end).collect::<Vec<_>>(), text(&output.stderr))
    };
    let want = stream(&plain).0;
    assert!(!want.is_empty(), "nothing is streamed");
    for (form, content, damaged) in forms(&frames()) {
        let (found, said) = stream(&desk.file("form.jsonl", content));
        assert_eq!(found, want, "{form}");
        assert_eq!(skipped(&said), damaged, "{form}: {said}");
    }
}
