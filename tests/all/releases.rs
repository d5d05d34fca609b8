//! The tables of releases against themselves, and the versions that rules name against the tables.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use warpscope::engine::{Question, Target, evaluate};
use warpscope_kernels::Sm;
use warpscope_probes::releases::fields;
use warpscope_probes::rules::{Rule, Settings, Version};

use super::verdicts::base;

/// Bounds that are no release, and why they stand.
const ARGUED: [(&str, &str, &str); 36] = [
    ("aphrodite-engine", "0.9", "0.9 has a tag and no package; below it the index has 0.6"),
    ("autogptq", "0.8", "0.7.1 is the last; the project is archived"),
    ("bitsandbytes", "0.39", "0.39.0 is in the package index, without a tag"),
    ("bitsandbytes", "0.40.1", "only in the package index"),
    ("flash-attn", "0.2", "0.2.0 has no tag; 0.2.1 is the first"),
    ("flash-attn", "4", "flash-attn-4 has only betas"),
    ("ktransformers", "0.4", "0.4.1 follows 0.3.2"),
    ("ktransformers", "0.7.2", "only in the package index"),
    ("ollama", "0.33", "the mirror ends before it"),
    ("sglang", "0.5", "0.5.0 had release candidates only; 0.5.1 follows"),
    ("sglang", "0.6", "no release of 0.6 yet"),
    ("tensorflow", "2.4", "for Python 3.8; for 3.11 the index begins with 2.12"),
    ("unsloth", "2025.9", "a month; 2025.9.1 is its first"),
    ("tensorrt-llm", "0.15.0.dev0", "development versions have wheels, and the table none of them"),
    ("tensorrt-llm", "0.17", "the index has 0.17.0.post1"),
    ("tensorrt-llm", "0.17.0", "the index has 0.17.0.post1"),
    ("tensorrt-llm", "0.6.0", "the index has 0.6.1"),
    ("tensorrt-llm", "0.20.0rc0", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "0.21.0rc2", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.2.0rc2", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.2.0rc5", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.2.0rc6", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.3.0rc10", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.3.0rc13", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.3.0rc15", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.3.0rc20", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.1.0rc2.post2", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.2.0rc6.post1", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.3.0rc17", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.3.0rc18", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.3.0rc19", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.3.0rc21", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.3.0rc23.post1", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.3.0rc24", "candidates have wheels, and the table none of them"),
    ("tensorrt-llm", "1.3.0rc26", "candidates have wheels, and the table none of them"),
    ("torch", "1.10.1", "its wheels are for Python up to 3.9; the list was asked with a later one"),
];

/// Packages whose name differs from their framework's, or whose releases are those of another.
const PACKAGES: [(&str, &str); 6] = [
    ("auto-gptq", "autogptq"),
    ("flash_attn", "flash-attn"),
    ("flashinfer-python", "flashinfer"),
    ("llama.cpp", "llama-cpp"),
    ("mamba-ssm", "mamba"),
    ("transformer_engine", "transformer-engine"),
];

/// A table, row by row, below its head.
fn table<const N: usize>(name: &str, head: &str) -> Vec<[String; N]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("probes/releases").join(name);
    let text = std::fs::read_to_string(path).expect("the table is there");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(head), "{name}");
    lines.map(|line| fields(line).try_into().expect(line)).collect()
}

fn parsed(text: &str) -> Version {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn same(a: &Version, b: &Version) -> bool {
    a.compare(b).is_some_and(Ordering::is_eq)
}

/// Releases with their dates, by framework, in the order of the table.
fn tags() -> BTreeMap<String, Vec<(Version, String)>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for [framework, version, date] in table("tags.csv", "framework,version,date") {
        found.entry(framework).or_default().push((parsed(&version), date));
    }
    found
}

/// Versions that pip can install, by package.
fn installable() -> BTreeMap<String, BTreeSet<String>> {
    let rows = table("installs.csv", "package,versions");
    rows.into_iter()
        .map(|[package, versions]| (package, versions.split(' ').map(str::to_owned).collect()))
        .collect()
}

fn is_date(text: &str) -> bool {
    matches!(text.parse(), Ok(Version::Date(2018..=2030, 1..=12, 1..=31)))
}

#[test]
fn releases_are_in_order_each_once_and_dated() {
    for (framework, releases) in tags() {
        for pair in releases.windows(2) {
            let order = pair[0].0.compare(&pair[1].0);
            assert!(order.is_some_and(Ordering::is_lt), "{framework}: {pair:?}");
        }
        let undated = releases.iter().find(|(_, date)| !is_date(date));
        assert_eq!(undated, None, "{framework}");
    }
}

#[test]
fn facts_stand_for_releases_of_their_framework() {
    let tags = tags();
    let head = "framework,first,last,date,key,value,source";
    for file in ["pins.csv", "archs.csv"] {
        let mut ends: BTreeMap<_, Option<Version>> = BTreeMap::new();
        for [framework, first, last, date, key, value, source] in table(file, head) {
            let row = format!("{file}: {framework} {first} {key}");
            let dated = |version: &str| {
                tags[&framework]
                    .iter()
                    .find(|(one, _)| same(one, &parsed(version)))
                    .map(|one| &one.1)
            };
            assert_eq!(dated(&first), Some(&date), "{row}");
            assert!(last.is_empty() || dated(&last).is_some(), "{row}: {last}");
            assert!(!value.is_empty() && (source.contains('@') || source.contains("==")), "{row}");
            let before = ends.insert((framework, key), (!last.is_empty()).then(|| parsed(&last)));
            let follows = before.is_none_or(|end| {
                end.is_some_and(|end| end.compare(&parsed(&first)).is_some_and(Ordering::is_lt))
            });
            assert!(follows, "{row}: two values at once");
        }
    }
}

/// `==1.2.3` of a pin names a release of the package, where its releases are known. The tables leave out what comes before a release.
#[test]
fn exact_pins_name_releases() {
    let (tags, installable) = (tags(), installable());
    let head = "framework,first,last,date,key,value,source";
    let mut unknown = Vec::new();
    for [framework, first, _, _, package, value, _] in table("pins.csv", head) {
        let Some(version) = value.strip_prefix("==").filter(|one| {
            !one.contains([',', '*']) && !["rc", "dev"].iter().any(|pre| one.contains(pre))
        }) else {
            continue;
        };
        let name = if package == "flashinfer" { "flashinfer-python" } else { &package };
        let installs = installable.get(name).is_some_and(|known| known.contains(version));
        let tagged = tags
            .get(&package)
            .is_none_or(|known| known.iter().any(|(one, _)| same(one, &parsed(version))));
        if !installs && !tagged {
            unknown.push(format!("{framework} {first}: {package}{value}"));
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn wheels_are_those_of_releases_that_install() {
    let installable = installable();
    let head = "package,first,last,platform,library,archs,ptx,wheel";
    for [package, first, last, _, library, archs, ptx, wheel] in table("wheels.csv", head) {
        let known = &installable[&package];
        assert!(known.contains(&first) && known.contains(&last), "{package} {first} {last}");
        assert!(wheel.contains(&format!("-{first}-")), "{wheel} is not of {first}");
        assert!(!archs.is_empty() || !ptx.is_empty(), "{package} {first} {library}: no code");
    }
}

/// The bounds of a rule that no table knows.
fn unknown_bounds(rule: &Rule, tags: &BTreeMap<String, Vec<(Version, String)>>) -> Vec<String> {
    let Some(releases) = tags.get(&*rule.framework) else { return Vec::new() };
    let builds = rule.framework == "llama-cpp";
    let is_known = |bound: &str| {
        let version = parsed(bound);
        matches!(version, Version::Date(..))
            || ARGUED.iter().any(|(framework, one, _)| *framework == rule.framework && *one == bound)
            || releases.iter().any(|(one, _)| same(one, &version))
            || tags["flash-attn-4"].iter().any(|(one, _)| rule.framework == "flash-attn" && same(one, &version))
            // Every number up to the last is a build of llama.cpp; the table holds a few.
            || builds && releases.last().is_some_and(|(last, _)| version.compare(last).is_some_and(Ordering::is_le))
    };
    let bounds = rule.versions.bound_texts().filter(|bound| !is_known(bound));
    bounds.map(|bound| format!("{}: {bound} is no release", rule.id)).collect()
}

#[test]
fn the_bounds_of_rules_are_releases() {
    let tags = tags();
    let unknown: Vec<_> =
        base().rules().iter().flat_map(|rule| unknown_bounds(rule, &tags)).collect();
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

/// Packages with a version behind a comparison sign, as they stand in a command.
fn required(command: &str) -> Vec<(String, String)> {
    let words = command.split(|c: char| c.is_whitespace() || c == '\'' || c == '`');
    let requirement = |word: &str| {
        let at = word.find(['=', '<', '>', '!'])?;
        let (package, rest) = word.split_at(at);
        let version =
            rest.trim_start_matches(['=', '<', '>', '!']).split([',', '+', ')']).next()?;
        let assigned = rest.starts_with('=') && !rest.starts_with("==");
        let is_package = !assigned
            && package.starts_with(|c: char| c.is_ascii_alphabetic())
            && package.chars().all(|c| c.is_ascii_alphanumeric() || "-_.[]".contains(c));
        let named = is_package && version.starts_with(|c: char| c.is_ascii_digit());
        let package = package.split('[').next().unwrap_or(package);
        named.then(|| (package.to_owned(), version.to_owned()))
    };
    words.filter_map(requirement).collect()
}

/// What a fix tells people to install exists: the version itself, or one that its bound names.
#[test]
fn versions_in_fixes_can_be_installed() {
    let (tags, installable) = (tags(), installable());
    let exists = |package: &str, version: &str| {
        let wanted = parsed(version);
        let framework =
            PACKAGES.iter().find(|(one, _)| *one == package).map_or(package, |one| one.1);
        let argued = ARGUED.iter().any(|(one, bound, _)| *one == framework && *bound == version);
        argued
            || match installable.get(package) {
                Some(known) => known.iter().any(|one| {
                    same(&parsed(one), &wanted) || one.starts_with(&format!("{version}."))
                }),
                None => tags
                    .get(framework)
                    .is_none_or(|known| known.iter().any(|(one, _)| same(one, &wanted))),
            }
    };
    let mut unknown = Vec::new();
    for rule in base().rules() {
        let Some(fix) = &rule.fix else { continue };
        let named = fix.split('#').next().filter(|command| command.contains("pip install"));
        for (package, version) in named.map(required).unwrap_or_default() {
            if !exists(&package, &version) {
                unknown.push(format!("{}: {package} {version}", rule.id));
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn a_version_in_a_command_is_read() {
    let read = |command| required(command);
    let pair = |package: &str, version: &str| (package.to_owned(), version.to_owned());
    assert_eq!(read("pip install 'vllm<0.10.2' && vllm serve m"), [pair("vllm", "0.10.2")]);
    assert_eq!(read("pip install torch==1.10.1+cu111 -f x"), [pair("torch", "1.10.1")]);
    assert_eq!(read("A=1 pip install -U xformers --index-url https://a/b?c=2"), []);
}

#[test]
fn a_version_that_was_never_released_is_told() {
    let told = |version: &str| {
        let question = Question {
            framework: "vllm".to_owned(),
            version: Some(version.to_owned()),
            config: Settings::new([("dtype", "bf16")]).expect("settings"),
            ..Question::default()
        };
        evaluate(base(), &Target::of_sm("A100", Sm::new(8, 0)), &question, &[]).as_of
    };
    assert!(told("0.8.99").is_some_and(|text| text.contains("is not a release known here")));
    assert_eq!(told("0.8.1"), None);
}
