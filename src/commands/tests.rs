//! What holds for every command, and how a command line reaches one.

use std::path::PathBuf;
use std::time::Duration;

use super::cli::parser::command;
use super::cli::raw_args::RawArgs;
use super::*;
use crate::config::args::LineFormat;
use crate::config::{Form, Value, args};
use crate::worker::PathDtype;
use crate::worker::scheduler::{BenchMode, Budget};

/// Splits at spaces, minding double quotes.
fn words(line: &str) -> Vec<OsString> {
    let mut quoted = false;
    let split = line.split(|letter| {
        quoted ^= letter == '"';
        letter == ' ' && !quoted
    });
    let words = split.map(|word| word.replace('"', "")).filter(|word| !word.is_empty());
    std::iter::once("warpscope".to_owned()).chain(words).map(OsString::from).collect()
}

fn raw(line: &str) -> RawArgs {
    match parse(ALL, words(line)) {
        Ok(Parsed::Run(low)) => low,
        Ok(Parsed::Print(text)) => panic!("{line}: {text}"),
        Err(error) => panic!("{line}: {error:?}"),
    }
}

fn error(line: &str) -> String {
    match parse(ALL, words(line)) {
        Err(CliError::Usage(text)) => text,
        _ => panic!("{line} is not refused"),
    }
}

#[test]
fn every_example_parses_and_runs_its_own_command() {
    for spec in ALL.iter() {
        for (line, _) in spec.examples {
            assert_eq!(raw(line).command.name, spec.name, "{line}");
        }
    }
}

#[test]
fn every_command_of_the_documents_parses() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_dir(root.join("docs")).expect("is there");
    let docs = docs.map(|entry| entry.expect("reads").path());
    let mut seen = 0;
    for path in
        docs.chain([root.join("README.md")]).filter(|path| path.extension() == Some("md".as_ref()))
    {
        let text = std::fs::read_to_string(path).expect("is text");
        for block in text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            for line in block.lines().filter_map(|line| line.strip_prefix("warpscope ")) {
                let line = line.split("  ").next().unwrap_or_default();
                raw(line);
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn repeated_and_comma_separated_names_add_up() {
    let names = Value::List(["2xT4", "RTX 3090", "V100"].map(str::to_owned).to_vec());
    for line in ["--gpu 2xT4 -g \"RTX 3090\" --gpu V100", "--gpu=\"2xT4,RTX 3090\" -g V100"] {
        assert_eq!(raw(line).values[args::GPUS.spec.id], names, "{line}");
    }
}

#[test]
fn an_option_of_the_dashboard_may_stand_before_the_command() {
    for line in ["-g T4 check", "check -g T4", "-g V100 check -g T4"] {
        let given = raw(line);
        assert_eq!(given.command.name, "check");
        assert_eq!(given.values[args::GPUS.spec.id], Value::List(vec!["T4".to_owned()]), "{line}");
    }
}

#[test]
fn the_last_of_two_opposites_counts() {
    for (line, want) in [("--ascii --no-ascii", false), ("--no-ascii --ascii", true)] {
        assert_eq!(raw(line).values[args::ASCII.spec.id], Value::Switch(want), "{line}");
    }
    for (line, want) in
        [("--no-what-if --what-if always", "always"), ("--what-if always --no-what-if", "never")]
    {
        assert_eq!(raw(line).values[args::WHAT_IF.spec.id], Value::Text(want.to_owned()), "{line}");
    }
}

#[test]
fn nothing_given_is_nothing_said() {
    assert!(raw("").values.is_empty());
    assert!(raw("snapshot").values.is_empty());
}

#[test]
fn mistakes_are_named_with_the_way_out() {
    for (line, parts) in [
        ("--interval soon", &["soon", "--interval", "500ms"][..]),
        ("--color sometimes", &["sometimes", "auto, always, never"]),
        ("snapshto", &["snapshto", "snapshot"]),
        ("snapshot --jsno", &["--jsno", "--json"]),
        ("record", &["FILE"]),
        ("bench --dtype fp16,fp17", &["fp17", "fp16"]),
    ] {
        let text = error(line);
        for part in parts {
            assert!(text.contains(part), "{line}: {text}");
        }
    }
}

#[test]
fn help_and_version_are_printed() {
    for (line, part) in [
        ("-h", "Usage: warpscope"),
        ("--help", "Exit codes"),
        ("-V", env!("CARGO_PKG_VERSION")),
        ("check --help", "FRAMEWORK"),
    ] {
        match parse(ALL, words(line)) {
            Ok(Parsed::Print(text)) => assert!(text.contains(part), "{text}"),
            _ => panic!("{line} prints nothing"),
        }
    }
}

#[test]
fn clap_finds_no_fault_with_the_tables() {
    command(ALL).debug_assert();
}

#[test]
fn commands_are_sorted_and_every_argument_is_used_by_one() {
    assert!(COMMANDS.windows(2).all(|pair| pair[0].name < pair[1].name));
    for spec in args::all() {
        let taken = ALL.iter().any(|command| command.specs().any(|one| one.id == spec.id));
        assert!(taken, "{}", spec.id);
    }
}

#[test]
fn the_help_of_every_command_names_each_of_its_flags_and_examples() {
    let mut all = command(ALL);
    for spec in COMMANDS {
        let inner = all.find_subcommand_mut(spec.name).expect("is there");
        let help = inner.render_long_help().to_string();
        for row in spec.specs() {
            let shown = if row.form == Form::Option { row.name() } else { row.value_name };
            assert_eq!(help.contains(shown), !row.hidden, "{} {shown}", spec.name);
        }
        assert!(!spec.about.ends_with('.') && !spec.examples.is_empty(), "{}", spec.name);
    }
}

fn options(line: &str, env: &[(&str, &str)]) -> Result<Options, CliError> {
    resolve(&raw(line), env.iter().copied().collect(), ALL)
}

#[test]
fn the_defaults_are_those_of_the_documentation() {
    let options = options("", &[]).expect("resolves");
    assert_eq!(options.get(&args::INTERVAL), Duration::from_secs(1));
    assert_eq!(options.get(&args::SPEED), 1.0);
    assert_eq!(options.get(&args::START_TAB), "overview");
    assert!(options.get(&args::BENCH) == BenchMode::Ask && options.get(&args::MOUSE));
    assert_eq!(dashboard::allowance(&options), Budget::default());
    assert!(!options.get(&args::ASCII) && !options.get(&args::READONLY));
    assert_eq!(options.get(&args::SIZE), (120, 36));
    assert_eq!(options.get(&args::KEEP), 3);
    let all = [PathDtype::Fp32, PathDtype::Fp16, PathDtype::Bf16, PathDtype::Int4];
    assert_eq!(options.get(&args::DTYPES), all);
}

#[test]
fn flags_reach_the_commands() {
    let line = "stream --format csv -n 3 -s a.jsonl --speed 2 --redact";
    let options = options(line, &[]).expect("resolves");
    assert!(options.get(&args::LINE_FORMAT) == LineFormat::Csv && options.get(&args::REDACT));
    assert_eq!(options.frames(), Some(3));
    assert_eq!(options.recording(), Some(PathBuf::from("a.jsonl")));
    assert_eq!(options.get(&args::SPEED), 2.0);
}

#[test]
fn a_named_configuration_that_is_missing_stops_all_but_the_lenient() {
    let env = [("WARPSCOPE_CONFIG", "/nowhere/at/all.toml")];
    assert!(matches!(options("snapshot", &env), Err(CliError::Usage(_))));
    let lenient = options("doctor", &env).expect("doctor works all the same");
    assert!(lenient.config.settings.is_err());
}
