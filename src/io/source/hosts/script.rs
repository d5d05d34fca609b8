//! What a host is asked to do: one line for whatever login shell the user has there.

use std::fmt;
use std::time::Duration;

use super::nvidia_smi;

/// First word of the line with which the other side begins. What comes before it is a banner.
const GREETING: &str = "warpscope-host";
/// Number of what follows that line.
const PROTOCOL: &str = "1";

/// What the other side has found to answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// warpscope itself.
    Warpscope,
    /// NVIDIA's own tool.
    NvidiaSmi,
    /// Neither.
    Nothing,
}

/// The line with which the other side begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// What answers.
    pub means: Means,
    /// Operating system and kind of CPU, as `uname` names them.
    pub platform: Platform,
}

/// What decides whether a program of this machine can start on another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// `Linux`
    pub system: String,
    /// `x86_64`
    pub cpu: String,
}

impl Platform {
    /// Of this program.
    pub fn here() -> Self {
        let system = if cfg!(target_os = "linux") { "Linux" } else { std::env::consts::OS };
        Self { system: system.to_owned(), cpu: std::env::consts::ARCH.to_owned() }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.system, self.cpu)
    }
}

impl Hello {
    /// The greeting in a line, where it is one.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        if (words.next(), words.next()) != (Some(GREETING), Some(PROTOCOL)) {
            return None;
        }
        let means = match words.next()? {
            "warpscope" => Means::Warpscope,
            "nvidia-smi" => Means::NvidiaSmi,
            "nothing" => Means::Nothing,
            _ => return None,
        };
        let (system, cpu) = (words.next()?.to_owned(), words.next()?.to_owned());
        Some(Self { means, platform: Platform { system, cpu } })
    }
}

/// Folder of programs that were sent to another machine, for `sh` in double quotes.
pub const FOLDER: &str = "${XDG_CACHE_HOME:-$HOME/.cache}/warpscope/hosts";

/// Prints the greeting of whoever answers.
pub fn greeting(means: &str) -> String {
    format!("echo \"{GREETING} {PROTOCOL} {means} $(uname -s) $(uname -m)\"")
}

/// Runs warpscope with these words; without it, `instead`. `build` names the program that may have been sent.
///
/// It is looked for also where the shells of people look and those of ssh do not. One that is too old to end with its input, or that does
/// not start there, is passed over.
pub fn run_warpscope(build: &str, words: &[&str], instead: &str) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let words = words.join(" ");
    format!(
        "for w in warpscope \"$HOME/.local/bin/warpscope\" \"$HOME/.cargo/bin/warpscope\" \"{FOLDER}/{build}\"; do \
         if command -v \"$w\" >/dev/null 2>&1 && \"$w\" stream --end-with-input --help >/dev/null 2>&1; then \
         {here}; exec \"$w\" {words}; fi; done; \
         if command -v nvidia-smi >/dev/null 2>&1; then {smi}; {instead}; else {nothing}; fi",
        here = greeting("warpscope"),
        smi = greeting("nvidia-smi"),
        nothing = greeting("nothing"),
    )
}

/// Frames, one line each, until this side hangs up.
pub fn stream(build: &str, interval: Duration) -> String {
    let every = format!("{}s", interval.as_secs_f64());
    let words = ["stream", "--interval", &every, "--what-if", "never", "--end-with-input"];
    run_warpscope(build, &words, &nvidia_smi::script(interval))
}

/// A script as one word that every login shell hands to `sh` as it is.
///
/// A single quote in it, or a `!`, which some shells read even inside quotes, would need more than quotes.
pub fn for_login_shell(script: &str) -> String {
    debug_assert!(!script.contains(['\'', '!', '\n']), "{script}");
    format!("exec sh -c '{script}'")
}

/// A word of one line that `sh` takes literally, written without a single quote.
pub fn quoted(word: &str) -> String {
    let mut out = String::from("\"");
    for c in word.chars() {
        match c {
            '\\' | '"' | '$' | '`' => out.extend(['\\', c]),
            // In octal: neither may stand in the script.
            '\'' | '!' => out.push_str(&format!("$(printf \"\\{:03o}\")", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_greeting_is_found_among_other_lines() {
        let hello =
            Hello::parse("warpscope-host 1 nvidia-smi Linux aarch64\r").expect("a greeting");
        assert_eq!((hello.means, hello.platform.cpu.as_str()), (Means::NvidiaSmi, "aarch64"));
        for other in ["Welcome!", "warpscope-host 2 warpscope Linux x86_64", "warpscope-host 1", ""]
        {
            assert_eq!(Hello::parse(other), None, "{other}");
        }
    }

    #[test]
    fn the_script_is_good_for_the_strictest_shell() {
        let script = stream("warpscope-0.1.0-abc", Duration::from_millis(1500));
        let checked = Command::new("sh").args(["-n", "-c", &script]).status().expect("starts");
        assert!(checked.success(), "{script}");
        assert!(for_login_shell(&script).starts_with("exec sh -c '"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn sh_gives_back_what_was_quoted(word in "[ -~é\u{7}]{0,30}") {
            let script = for_login_shell(&format!("printf %s {}", quoted(&word)));
            let output = Command::new("sh").args(["-c", &script]).output().expect("starts");
            prop_assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }
}
