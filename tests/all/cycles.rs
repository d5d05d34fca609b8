//! Circles between the modules of a crate, held at those that are argued for.
//!
//! Parts of one folder may share its types in both directions: the folder is what is understood as a whole. How many folders do so is counted. A
//! circle that leaves a folder, or joins two features or two commands, has to be argued for. `kernels` has neither.
//!
//! A module is a file. It uses another where it names something that is defined there: names are followed through `pub use`, which itself is no use,
//! so a folder's `mod.rs` may gather what lies in it. What only tests use is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The modules of a circle, and why they need each other.
type Argued = (&'static [&'static str], &'static str);

/// What every feature is reached by holds a variant for each of them, and a feature answers in those types.
const FEATURES: Argued = (
    &["features::effect", "features::keys", "features::msg", "features::popup"],
    "Msg, Cmd and Popup have a variant for each feature, and features make them",
);

/// A crate by the folder of its sources.
struct Bounds {
    sources: &'static str,
    /// Folders of the crate that only gather others.
    gathering: &'static [&'static str],
    /// Circles within one folder.
    within: usize,
    /// Circles that leave one; the modules named are in them.
    across: &'static [Argued],
}

const CRATES: &[Bounds] = &[
    Bounds { sources: "kernels/src", gathering: &[], within: 0, across: &[] },
    Bounds { sources: "probes/src", gathering: &[], within: 11, across: &[] },
    Bounds {
        sources: "src",
        gathering: &["features", "commands"],
        within: 29,
        across: &[FEATURES],
    },
];

type Module = Vec<String>;

/// What a crate is made of.
struct Crate {
    /// Code by module, without comments and tests.
    code: BTreeMap<Module, String>,
    /// What a module hands on: its name here, and where it is from.
    exports: BTreeMap<Module, BTreeMap<String, Module>>,
}

/// Code without comments, texts and tests, blanks as they are.
fn plain(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let source = source.replace("#[cfg(test)]\nmod tests;", "");
    let lines = source.lines().map(|line| line.split("//").next().unwrap_or_default());
    let is_child = |line: &str| line.trim_end().ends_with(';') && line.contains("mod ");
    let texts = |line: &str| line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"");
    let lines = lines.filter(|line| !is_child(line)).map(texts);
    lines.collect::<Vec<_>>().join("\n")
}

fn words(path: &str) -> Module {
    path.split("::").map(|word| word.trim().to_owned()).collect()
}

/// Every path of a tree of uses, with the name it gets: `a::{b, c as d}`.
fn tree(text: &str) -> Vec<(Module, String)> {
    let Some((front, rest)) = text.split_once('{') else {
        let (path, name) = text.split_once(" as ").unwrap_or((text, ""));
        let path = words(path);
        let last = path.last().cloned().unwrap_or_default();
        return vec![(path, if name.is_empty() { last } else { name.trim().to_owned() })];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let mut depth = 0;
    let parts = inner.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    let front = words(front.trim_end_matches("::"));
    let joined = |(path, name): (Module, String)| {
        let own = path == ["self"];
        let all = if own { front.clone() } else { [&front[..], &path].concat() };
        (all, if own { front.last().cloned().unwrap_or_default() } else { name })
    };
    parts.flat_map(tree).map(joined).collect()
}

/// The uses of a module, and whether each hands on; and the code without them.
fn uses(code: &str) -> (Vec<(bool, Module, String)>, String) {
    let (mut found, mut rest) = (Vec::new(), String::new());
    for statement in code.split_inclusive(';') {
        let start = statement.rfind("use ").filter(|at| {
            let before = statement[..*at].trim_end();
            let before = before.rsplit(['\n', '}', ';']).next().unwrap_or_default().trim();
            before.is_empty() || before.starts_with("pub")
        });
        match start {
            Some(at) => {
                let handed = statement[..at].trim_end().ends_with([')', 'b']);
                let tree = tree(statement[at + 4..].trim_end_matches(';'));
                found.extend(tree.into_iter().map(|(path, name)| (handed, path, name)));
                rest.push_str(&statement[..at]);
            }
            None => rest.push_str(statement),
        }
    }
    (found, rest)
}

/// Paths in code that begin with one of the names: `w4::pack`.
fn paths<'c>(code: &'c str) -> impl Iterator<Item = Module> + 'c {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let all = code.split(move |c| !word(c)).filter(|path| path.contains("::"));
    all.map(|path| words(path.trim_matches(':')))
}

/// Whether code has a name by itself.
fn has_word(code: &str, name: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').any(|word| word == name)
}

impl Crate {
    fn of(code: BTreeMap<Module, String>) -> Self {
        let handed = |(module, code): (&Module, &String)| {
            let handed = uses(code).0.into_iter().filter(|row| row.0);
            let handed = handed.map(|(_, path, name)| (name, Self::absolute(module, &path)));
            (module.clone(), handed.collect())
        };
        let exports = code.iter().map(handed).collect();
        Self { code, exports }
    }

    /// A path from the root of the crate.
    fn absolute(module: &Module, path: &[String]) -> Module {
        let mut base = module.clone();
        let mut rest = path;
        match path.first().map(String::as_str) {
            Some("crate") => {
                base.clear();
                rest = &path[1..];
            }
            Some("self") => rest = &path[1..],
            _ => {}
        }
        while rest.first().is_some_and(|word| word == "super") {
            base.pop();
            rest = &rest[1..];
        }
        [base, rest.to_vec()].concat()
    }

    /// The module that defines what a path names.
    fn defining(&self, path: &[String], patience: u32) -> Option<Module> {
        let known = (0..=path.len()).rev().find(|end| self.code.contains_key(&path[..*end]))?;
        let (module, rest) = path.split_at(known);
        let name = rest.first()?;
        let handed = self.exports.get(module).and_then(|names| names.get(name));
        match handed.filter(|_| patience > 0) {
            Some(from) => {
                let whole = [&from[..], &rest[1..]].concat();
                self.defining(&whole, patience - 1).or(Some(module.to_vec()))
            }
            None => Some(module.to_vec()),
        }
    }

    /// The modules that one uses.
    fn used(&self, module: &Module) -> BTreeSet<Module> {
        let (uses, code) = uses(&self.code[module]);
        let known: BTreeMap<&String, Module> =
            uses.iter().map(|(_, path, name)| (name, Self::absolute(module, path))).collect();
        let named = uses.iter().filter(|row| !row.0).map(|(_, path, _)| path.clone());
        let inline = paths(&code).filter_map(|path| {
            let first = path.first()?;
            let child = || self.code.contains_key(&[&module[..], &path[..1]].concat());
            match known.get(first) {
                Some(from) => Some([&["crate".to_owned()], &from[..], &path[1..]].concat()),
                None if matches!(&first[..], "crate" | "super" | "self") || child() => Some(path),
                None => None,
            }
        });
        let handed =
            uses.iter().filter(|row| row.0 && has_word(&code, &row.2)).map(|row| row.1.clone());
        let all = named.chain(handed).chain(inline).filter_map(|path| {
            let outside = !matches!(&path[0][..], "crate" | "super" | "self")
                && !self.code.contains_key(&[&module[..], &path[..1]].concat());
            let path = Self::absolute(module, &path);
            if outside { None } else { self.defining(&path, 8) }
        });
        all.filter(|used| used != module).collect()
    }

    /// Groups of modules each of which reaches every other.
    fn circles(&self) -> Vec<BTreeSet<String>> {
        let graph: BTreeMap<&Module, BTreeSet<Module>> =
            self.code.keys().map(|module| (module, self.used(module))).collect();
        let reached = |from: &Module| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(module) = open.pop() {
                let next = graph.get(&module).into_iter().flatten();
                open.extend(next.filter(|next| seen.insert((*next).clone())).cloned());
            }
            seen
        };
        let all: BTreeMap<&Module, BTreeSet<Module>> =
            graph.keys().map(|module| (*module, reached(module))).collect();
        let circle = |module: &Module| -> BTreeSet<String> {
            let back = all[module].iter().filter(|other| all[*other].contains(module));
            back.map(|module| module.join("::")).collect()
        };
        let circles: BTreeSet<_> =
            all.keys().map(|module| circle(module)).filter(|circle| circle.len() > 1).collect();
        circles.into_iter().collect()
    }
}

/// Code by module of a folder of sources; programs beside the library are left out.
fn read(folder: &Path, module: &Module, found: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).expect("is a folder").flatten() {
        let path = entry.path();
        let name = path.file_stem().expect("has a name").to_string_lossy().into_owned();
        let inner = [&module[..], std::slice::from_ref(&name)].concat();
        let is_code = path.extension().is_some_and(|kind| kind == "rs") && !name.ends_with("tests");
        if path.is_dir() && name != "bin" {
            read(&path, &inner, found);
        } else if is_code {
            let is_folder = matches!(&name[..], "mod" | "lib" | "main");
            let source = fs::read_to_string(&path).expect("is readable");
            found.insert(if is_folder { module.clone() } else { inner }, plain(&source));
        }
    }
}

/// The innermost folder that holds every module of a circle.
fn folder(circle: &BTreeSet<String>) -> Module {
    let mut modules = circle.iter().map(|module| words(module));
    let first = modules.next().unwrap_or_default();
    modules.fold(first, |common, module| {
        let shared = common.iter().zip(&module).take_while(|(one, other)| one == other);
        shared.map(|(word, _)| word.clone()).collect()
    })
}

#[test]
fn modules_form_no_circles_but_those_argued_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for bounds in CRATES {
        let mut code = BTreeMap::new();
        read(&root.join(bounds.sources), &Vec::new(), &mut code);
        let (across, within): (Vec<_>, Vec<_>) =
            Crate::of(code).circles().into_iter().partition(|circle| {
                let folder = folder(circle).join("::");
                folder.is_empty() || bounds.gathering.contains(&&*folder)
            });
        assert!(within.len() <= bounds.within, "{}: {within:#?}", bounds.sources);
        assert_eq!(across.len(), bounds.across.len(), "{}: {across:#?}", bounds.sources);
        for (circle, (modules, _)) in across.iter().zip(bounds.across) {
            assert!(modules.iter().all(|module| circle.contains(*module)), "{circle:#?}");
        }
    }
}

#[test]
fn a_circle_is_found_through_what_is_handed_on() {
    let circles = |two: &str| {
        let facade = "mod one;\nmod two;\npub use one::One;\npub(crate) use two::{Two};\n";
        let one = "use super::{Two as Other};\npub struct One(Other);\n";
        let code = [("", ""), ("a", facade), ("a::one", one), ("a::two", two)];
        let code = code.map(|(module, code)| (words(module), plain(code)));
        Crate::of(code.into()).circles()
    };
    let circle = BTreeSet::from(["a::one".to_owned(), "a::two".to_owned()]);
    assert_eq!(circles("pub struct Two;\nfn f() { super::One; }\n"), [circle]);
    let tested = "pub struct Two;\n#[cfg(test)]\nmod tests {\n use super::super::One; }\n";
    assert!(circles(tested).is_empty(), "tests do not count");
}
