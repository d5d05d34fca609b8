use super::*;

const HEAD: &str = "framework = \"demo\"\n\n";

fn rule(lines: &str) -> String {
    format!(
        "{HEAD}[[rule]]\nid = \"demo.one\"\nversions = \"all\"\nstage = \"gate\"\noutcome = \"works\"\n\
         reason = \"it does\"\nconfidence = \"high\"\n{lines}"
    )
}

const SOURCED: &str = "source = \"a page\"\nretrieved = \"2026-11\"\n";

fn error_of(text: &str) -> RuleError {
    RuleBase::parse(&[("demo.toml", text)]).expect_err("a mistake")
}

#[test]
fn the_built_in_files_parse_and_every_file_of_the_folder_is_among_them() {
    let base = RuleBase::builtin();
    assert!(base.rules().len() > 40);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let mut on_disk: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .collect();
    on_disk.sort();
    let mut compiled: Vec<_> = builtin::FILES.iter().map(|file| file.0.to_owned()).collect();
    compiled.sort();
    assert_eq!(on_disk, compiled);
}

#[test]
fn a_good_rule_is_read() {
    let base = RuleBase::parse(&[("demo.toml", &rule(SOURCED))]).expect("reads");
    assert_eq!(base.rule("demo.one").map(|rule| rule.line), Some(3));
    assert_eq!(base.framework("demo").map(|one| one.name.as_str()), Some("demo"));
}

/// Each mistake is an error that names the line and says what would be right.
#[test]
fn mistakes_are_named_with_file_and_line() {
    let wrong = |lines: &str| rule(&format!("{SOURCED}{lines}"));
    for (text, line, words) in [
        (wrong("for = { dtyp = \"fp16\" }\n"), 12, "\"dtyp\" is not a configuration key"),
        (wrong("for = { dtype = \"fp17\" }\n"), 12, "\"fp17\" is not a dtype"),
        (wrong("for = { triton = \"new\" }\n"), 12, "not a version"),
        (wrong("on = { sm = \"<7\" }\n"), 12, "not a compute capability"),
        (wrong("on = { cc = \"<7.0\" }\n"), 12, "unknown field `cc`"),
        (wrong("colour = \"red\"\n"), 12, "unknown field `colour`"),
        (wrong("fix = \"pip install {package}\"\n"), 3, "{package} is not a placeholder"),
        (wrong("outside = \"fails\"\n"), 3, "either outcome, or outside"),
        (wrong("on = { part = \"gtx17\" }\n"), 3, "there is no part \"gtx17\""),
        (wrong("overrides = [\"demo.two\"]\n"), 3, "overrides \"demo.two\", which is not there"),
        (rule("retrieved = \"2026-11\"\n"), 3, "missing field `source`"),
        (rule("source = \" \"\nretrieved = \"2026-11\"\n"), 3, "source is empty"),
        (rule("source = \"a page\"\nretrieved = \"lately\"\n"), 3, "not a date"),
        (format!("{}{}", rule(SOURCED), rule(SOURCED).replace(HEAD, "")), 12, "there twice"),
        (rule(SOURCED).replace("demo.one", "other.one"), 3, "write demo.what_it_is_about"),
        (rule(SOURCED).replace("works", "fails"), 3, "say in `needs`"),
        (rule(SOURCED).replace("works", "fallback"), 3, "route's name"),
        (rule(SOURCED).replace("works", "resolves"), 3, "needs a `route`"),
        ("framework = \n".to_owned(), 1, ""),
    ] {
        let error = error_of(&text);
        assert_eq!((error.file.as_str(), error.line), ("demo.toml", line), "{error}\n{text}");
        assert!(error.message.contains(words), "{error}: no {words:?}");
    }
}

#[test]
fn the_users_rule_replaces_ours_and_is_marked() {
    let base = RuleBase::parse(&[("demo.toml", &rule(SOURCED))]).expect("reads");
    let theirs = rule(SOURCED).replace("it does", "I tried it");
    let base = base.with_user(&[("mine.toml", &theirs)]).expect("reads");
    let rule = base.rule("demo.one").expect("still there");
    assert_eq!((&*rule.reason, rule.user, base.rules().len()), ("I tried it", true, 1));
}

#[test]
fn a_gate_becomes_two_rules() {
    let text = rule(SOURCED).replace(
        "outcome = \"works\"",
        "outside = \"fails\"\ninside = \"works\"\nneeds = \"sm_80\"\non = { sm = \">=8.0\" }",
    );
    let base = RuleBase::parse(&[("demo.toml", &text)]).expect("reads");
    let ids: Vec<_> = base.rules().iter().map(|rule| &*rule.id).collect();
    assert_eq!(ids, ["demo.one", "demo.one.inside"]);
}

proptest::proptest! {
    /// Whatever a file, a tracker or a person writes is an answer or an error, never a panic.
    #[test]
    fn no_text_panics(text in "\\PC{0,40}", versionish in "[v0-9a-z.+!*<>=, -]{0,24}") {
        use crate::rules::{NumberRange, Settings, SmSet, Version, VersionRange};
        for text in [text.as_str(), versionish.as_str()] {
            let _ = text.parse::<Version>();
            let _ = text.parse::<SmSet>();
            let _ = text.parse::<NumberRange>();
            let _ = Settings::new([(text, text), ("dtype", text), ("triton", text)]);
            let _ = RuleBase::parse(&[("any.toml", text)]);
            let _ = RuleBase::parse(&[("any.toml", &rule(text))]);
            if let (Ok(range), Ok(version)) = (text.parse::<VersionRange>(), "1.0".parse::<Version>()) {
                let _ = range.contains(Some(&version));
            }
        }
    }
}
