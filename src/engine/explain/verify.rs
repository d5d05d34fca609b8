//! Fixes that are configurations, asked of the rules: one that fails on the same GPU is no fix.

use warpscope_kernels::Sm;
use warpscope_probes::rules::{Framework, RuleBase, Settings};

use super::answer::{Problem, Refuted};
use super::fact::Facts;
use crate::engine::{Question, Target, evaluate_without_fixes};

/// Other spellings of values than a framework's own.
const SPELLINGS: &[(&str, &str)] = &[
    ("half", "fp16"),
    ("float16", "fp16"),
    ("torch.float16", "fp16"),
    ("bfloat16", "bf16"),
    ("torch.bfloat16", "bf16"),
    ("float", "fp32"),
    ("float32", "fp32"),
    ("torch.float32", "fp32"),
];

/// What a fix is asked for.
pub(super) struct Rules<'a> {
    pub(super) base: &'a RuleBase,
    pub(super) facts: &'a Facts,
    /// The text of the error, in lower case.
    pub(super) text: &'a str,
}

impl Rules<'_> {
    /// Takes the fixes out that fail by the rules, each with its reason. Commands of frameworks the text does not speak of, and of another
    /// operating system than its own, come last.
    pub(super) fn verify(&self, problem: &mut Problem) {
        let system = system(self.text);
        problem.fix.sort_by_key(|fix| {
            self.started(fix).is_some_and(|one| !self.names(one))
                || system.is_some_and(|system| is_of_another(fix, system))
        });
        let Some(target) = self.target() else { return };
        let (mut kept, mut refuted) = (Vec::new(), Vec::new());
        for fix in std::mem::take(&mut problem.fix) {
            match self.refusal(&target, &fix) {
                Some(why) => refuted.push(Refuted { fix, why }),
                None => kept.push(fix),
            }
        }
        (problem.fix, problem.refuted) = (kept, refuted);
    }

    fn target(&self) -> Option<Target> {
        let tenths = (self.facts.number("cc")? * 10.0).round() as u16;
        let sm = Sm::new(u8::try_from(tenths / 10).ok()?, u8::try_from(tenths % 10).ok()?);
        let label = self.facts.get("gpu").map_or_else(|| sm.to_string(), |gpu| gpu.shown.clone());
        Some(Target::of_sm(label, sm))
    }

    /// Why a fix fails; `None` where it is no configuration, or nothing says that it does.
    fn refusal(&self, target: &Target, fix: &str) -> Option<String> {
        let command = fix.split("   # ").next()?;
        let question = self.question(command)?;
        let verdict = evaluate_without_fixes(self.base, target, &question, &[]);
        verdict.outcome.is_bad().then(|| {
            format!(
                "{} {} on {}: {}",
                verdict.framework,
                verdict.outcome.words(),
                verdict.gpu,
                verdict.reason
            )
        })
    }

    /// The configuration a command starts.
    fn question(&self, command: &str) -> Option<Question> {
        let framework = self.framework(command)?;
        let mut config = Settings::default();
        for arg in &framework.launch.as_ref()?.arg {
            let Some((before, _)) = arg.write.split_once("{value}") else { continue };
            let Some((_, rest)) = command.split_once(before).filter(|_| !before.is_empty()) else {
                continue;
            };
            let ends = |letter: char| letter.is_whitespace() || ",;)\"'".contains(letter);
            let written = rest.split(ends).next().unwrap_or_default();
            let own =
                arg.names.iter().find(|(_, name)| *name == written).map(|(name, _)| name.as_str());
            let general = SPELLINGS.iter().find(|row| row.0 == written).map(|row| row.1);
            config.set(&arg.key, own.or(general).unwrap_or(written)).ok()?;
        }
        let version = self.facts.get(&format!("{}_version", framework.id.replace('-', "_")));
        let version =
            version.map(|fact| fact.shown.split('+').next().unwrap_or_default().to_owned());
        (!config.is_empty()).then(|| Question {
            framework: framework.id.to_string(),
            version: version.or_else(|| framework.version.clone()),
            config,
            ..Question::default()
        })
    }

    /// The framework a command starts; where it is an argument alone, the one the text is about.
    fn framework(&self, command: &str) -> Option<&Framework> {
        match command.starts_with("--") {
            true => self.launched().find(|framework| self.names(framework)),
            false => self.started(command),
        }
    }

    fn launched(&self) -> impl Iterator<Item = &Framework> {
        self.base.frameworks().iter().filter(|framework| framework.launch.is_some())
    }

    fn started(&self, command: &str) -> Option<&Framework> {
        self.launched().find(|framework| {
            let text = framework.launch.as_ref().map_or("", |launch| &launch.text);
            let head = text.split('{').next().unwrap_or_default().trim();
            head.len() > 3 && command.starts_with(head)
        })
    }

    /// Whether the text speaks of a framework, by its name, its id or its module.
    fn names(&self, framework: &Framework) -> bool {
        let names =
            [framework.name.to_lowercase(), framework.id.clone(), framework.id.replace('-', "_")];
        names.iter().any(|name| has_word(self.text, name))
    }
}

/// An operating system as a text shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum System {
    Linux,
    Windows,
}

/// Signs of each, in lower case.
const SIGNS: [(System, &[&str]); 2] = [
    (
        System::Windows,
        &["c:\\", "d:\\", "e:\\", "winerror", ".dll", "microsoft windows", "windows 1"],
    ),
    (System::Linux, &["/usr/", "/home/", "/root/", "/opt/", "/lib/", ".so", "ubuntu", "linux"]),
];

/// How commands of each begin.
const COMMANDS: [(System, &[&str]); 2] = [
    (System::Windows, &["windows:", "wsl ", "winver"]),
    (
        System::Linux,
        &[
            "linux:", "sudo ", "export ", "ldconfig", "ldd ", "dpkg", "find /", "lsmod", "ls -l",
            "arch:",
        ],
    ),
];

/// The operating system of a text; `None` where it has signs of none, or of both as under WSL.
fn system(text: &str) -> Option<System> {
    let has = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    let mut found = SIGNS.into_iter().filter(|(_, signs)| has(signs)).map(|(system, _)| system);
    found.next().filter(|_| found.next().is_none())
}

/// Whether a fix is a command of another operating system.
fn is_of_another(fix: &str, system: System) -> bool {
    let fix = fix.to_lowercase();
    let is_of = |(_, heads): &(System, &[&str])| heads.iter().any(|head| fix.starts_with(head));
    COMMANDS.iter().find(|row| is_of(row)).is_some_and(|row| row.0 != system)
}

fn has_word(text: &str, word: &str) -> bool {
    let ends = |letter: Option<char>| {
        !letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    text.match_indices(word).any(|(at, _)| {
        ends(text[..at].chars().next_back()) && ends(text[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::super::fact::Origin;
    use super::*;

    fn refused(gpu: (&str, &str), version: &str, text: &str, fix: &str) -> bool {
        let base = RuleBase::builtin();
        let mut facts = Facts::default();
        facts.state("gpu", gpu.0, Origin::Named);
        facts.state("cc", gpu.1, Origin::Named);
        facts.state("vllm_version", version, Origin::Here);
        let rules = Rules { base, facts: &facts, text };
        let target = rules.target().expect("a capability");
        rules.refusal(&target, fix).is_some()
    }

    // vLLM 0.8 refuses bfloat16 below compute capability 8.0 (vllm/platforms/cuda.py, check_if_supports_dtype).
    #[test]
    fn a_fix_that_fails_on_this_gpu_is_refused() {
        let bf16 = "vllm serve MODEL --dtype bfloat16   # keeps the range";
        for (gpu, fix, is_refused) in [
            (("V100", "7.0"), bf16, true),
            (("A100", "8.0"), bf16, false),
            (("V100", "7.0"), "vllm serve MODEL --dtype half", false),
            (("V100", "7.0"), "--dtype bfloat16   # in the same command", true),
            (("V100", "7.0"), "pip install -U vllm", false),
            (("V100", "7.0"), "vllm serve MODEL --dtype nonsense", false),
        ] {
            let text = "file \"/x/site-packages/vllm/engine.py\"";
            assert_eq!(refused(gpu, "0.8.5", text, fix), is_refused, "{fix} on {}", gpu.0);
        }
        assert!(!refused(("V100", "7.0"), "0.8.5", "no framework", "--dtype bfloat16"));
    }

    #[test]
    fn commands_of_another_system_are_told_apart() {
        for (text, want) in [
            ("oserror: [winerror 126] c:\\torch\\lib\\a.dll", Some(System::Windows)),
            ("file \"/usr/lib/python3/a.py\"", Some(System::Linux)),
            ("/usr/lib/wsl/lib/libcuda.so on windows 11", None),
            ("cuda error", None),
        ] {
            assert_eq!(system(text), want, "{text}");
        }
        for (fix, system, want) in [
            ("sudo ldconfig", System::Windows, true),
            ("sudo ldconfig", System::Linux, false),
            ("Windows: a larger paging file", System::Linux, true),
            ("pip install torch", System::Windows, false),
        ] {
            assert_eq!(is_of_another(fix, system), want, "{fix}");
        }
    }

    #[test]
    fn a_framework_is_named_by_a_whole_word() {
        for (text, word, want) in [
            ("file \"/x/vllm/engine.py\"", "vllm", true),
            ("vllm: error", "vllm", true),
            ("llama.cpp", "llama.cpp", true),
            ("myvllm_fork", "vllm", false),
        ] {
            assert_eq!(has_word(text, word), want, "{text}");
        }
    }
}
