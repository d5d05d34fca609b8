//! The corpus of configurations: valid ones load, invalid ones give exactly the text beside them.

use std::path::{Path, PathBuf};

use warpscope::config::{parse, sample};
use warpscope::shell::keys::rows;

fn corpus(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configs").join(kind);
    let files =
        std::fs::read_dir(folder).expect("is committed").map(|file| file.expect("lists").path());
    let mut files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[test]
fn every_valid_file_loads() {
    let files = corpus("valid");
    assert!(!files.is_empty());
    for file in files {
        let name = file.display().to_string();
        assert!(parse("config.toml", &read(&file)).is_ok(), "{name}");
    }
}

#[test]
fn every_invalid_file_is_refused_with_the_text_beside_it() {
    let files = corpus("invalid");
    assert!(files.len() >= 10);
    for file in files {
        let problems = parse("config.toml", &read(&file)).expect_err(&file.display().to_string());
        let expected = read(&file.with_extension("expected"));
        assert_eq!(problems.to_string(), expected.trim_end(), "{}", file.display());
    }
}

#[test]
fn the_sample_at_the_root_is_the_one_the_program_prints() {
    let committed = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("config.sample.toml"));
    let actions = rows().iter().map(|row| (row.spec.id, row.spec.keys, row.spec.help));
    assert_eq!(committed, sample(actions), "run: warpscope config sample > config.sample.toml");
}
