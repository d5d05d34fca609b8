//! What was typed, word by word: releases joined to the names before them, options as they stand on a command line.

use std::iter::Peekable;
use std::vec::IntoIter;

use warpscope_probes::model::Model;
use warpscope_probes::rules::{Framework, Kind, RuleBase, kind_of};

use super::meaning;
use super::options::{Follows, Meaning, is_unheard_variable, key, option, unheard};
use super::programs;
use super::shell;
use super::word::{find, generation, is_release, split_version};
use crate::engine::DRIVER;

/// One word of what was typed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// To be judged: `awq`, `torch@2.6.0`, `quantization=awq`.
    Word(String),
    /// What changes no verdict: `--max-model-len 32768`.
    Unheard(String),
    /// What may change one, and is known to nobody here.
    Open(String),
}

/// Names before a release that may be a whole number: `driver 535`.
const NUMBERED: &[&str] = &["cuda", "cudnn", "driver", "jetpack"];

/// Words one by one; a release that follows a name belongs to it, and a value to its option: `vllm 0.8.5 cuda 12.8 --quantization awq`.
pub(super) fn tokens(base: &RuleBase, typed: &[String]) -> Result<Vec<Token>, String> {
    let words = shell::words(typed).into_iter().peekable();
    let mut reader = Reader { base, words, tokens: Vec::new(), late: Vec::new(), named: None };
    while let Some(word) = reader.words.next() {
        reader.read(word)?;
    }
    reader.tokens.append(&mut reader.late);
    Ok(reader.tokens)
}

struct Reader<'a> {
    base: &'a RuleBase,
    words: Peekable<IntoIter<String>>,
    tokens: Vec<Token>,
    /// Settings of the environment, which stand before the framework that they are for.
    late: Vec<Token>,
    /// The framework that was named last.
    named: Option<&'a Framework>,
}

impl Reader<'_> {
    fn read(&mut self, word: String) -> Result<(), String> {
        let next = self.words.peek().map(String::as_str);
        if programs::is_starter(&word) || word.chars().all(|letter| letter == '-') {
            return Ok(());
        }
        if programs::is_container(&word, next) {
            return self.container();
        }
        if programs::is_installer(&word, next) {
            self.words.next();
            self.words.next_if(|next| next == "install");
            return Ok(());
        }
        if programs::is_python(&word, next) {
            self.python();
            return Ok(());
        }
        if let Some(name) = word.strip_prefix('-') {
            return self.option(name.trim_start_matches('-'), &word);
        }
        if let Some((name, value)) = word.split_once('=').filter(|one| is_variable(one.0)) {
            self.variable(name, value);
            return Ok(());
        }
        if let Some(follows) = unheard(word.split('=').next().unwrap_or(&word)) {
            self.unheard(word, follows, false);
            return Ok(());
        }
        if let Some(image) = programs::image(&word) {
            self.image(image);
            return Ok(());
        }
        if let Some(framework) = programs::program(&word) {
            self.framework(framework);
            return Ok(());
        }
        if self.named.is_some() && programs::is_subcommand(&word) {
            return Ok(());
        }
        match self.counted(&word) {
            Some(count) => self.tokens.push(Token::Word(count)),
            None => self.plain(&word),
        }
        Ok(())
    }

    /// A number of GPUs without a sign between: `tp 8`, `tp8`.
    fn counted(&mut self, word: &str) -> Option<String> {
        let lower = word.to_ascii_lowercase();
        let name = lower.trim_end_matches(|last: char| last.is_ascii_digit());
        let key = key(name).unwrap_or(name);
        if kind_of(key) != Ok(Kind::Count) {
            return None;
        }
        let is_whole = |next: &String| {
            next.trim_end_matches([',', ';']).bytes().all(|byte| byte.is_ascii_digit())
        };
        let number = match &lower[name.len()..] {
            "" => self.words.next_if(is_whole)?.trim_end_matches([',', ';']).to_owned(),
            number => number.to_owned(),
        };
        Some(format!("{key}={number}"))
    }

    /// Words without a dash, several where colons or commas stand between them. The names of models have colons of their own.
    fn plain(&mut self, word: &str) {
        let word = without_extras(word);
        let head = word.split([':', '@']).next().unwrap_or(&word);
        let is_model = || find(self.base, head).is_none() && Model::known(&word).is_some();
        let is_whole = word.contains('/') || is_model();
        let parts = match is_whole {
            true => vec![word.trim_end_matches([',', ';'])],
            false => word.split([':', ',', ';']).collect(),
        };
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            match switched(part) {
                Some((name, true)) => self.word(name),
                Some((_, false)) => self.tokens.push(Token::Unheard(part.to_owned())),
                None if is_moving(part) => self.tokens.push(Token::Open(part.to_owned())),
                None if is_width_of_exl(part) => {
                    self.tokens.push(Token::Unheard(part.to_owned()));
                }
                None => self.word(part),
            }
        }
    }

    fn word(&mut self, word: &str) {
        if let Some(framework) = name_of(word).and_then(|name| find(self.base, name))
            && (self.named.is_none()
                || kind_of(&framework.id) != Ok(Kind::Package) && framework.id != DRIVER)
        {
            self.named = Some(framework);
        }
        match self.tokens.last_mut() {
            Some(Token::Word(last)) if joined(self.base, last, word).is_some() => {
                *last = joined(self.base, last, word).unwrap_or_default();
            }
            _ => self.tokens.push(Token::Word(word.to_owned())),
        }
    }

    /// The framework that a program or a module belongs to, unless the command is about it already.
    fn framework(&mut self, id: &str) {
        if self.named.is_none_or(|named| named.id != id) {
            self.word(id);
        }
    }

    /// The image that a container is made of; what stands before it is for the container.
    fn container(&mut self) -> Result<(), String> {
        let image = self.words.by_ref().find_map(|word| programs::image(&word));
        let image = image.ok_or(
            "the command starts no image of a framework that is known; name the framework instead, as in vllm@0.11.0 docker",
        )?;
        self.image(image);
        Ok(())
    }

    fn image(&mut self, image: programs::Image) {
        image.words.iter().for_each(|word| self.word(word));
        let part = |part: String| Token::Open(format!("{part} of the image's tag"));
        self.tokens.extend(image.open.into_iter().map(part));
    }

    /// A module of Python, or a file, which says nothing.
    fn python(&mut self) {
        let file = self.words.next().unwrap_or_default();
        if file != "-m" {
            self.tokens.push(Token::Open(file));
            return;
        }
        let Some(module) = self.words.next() else { return };
        let next = self.words.peek().map(String::as_str);
        match programs::module(self.base, &module).map(str::to_owned) {
            Some(framework) => self.framework(&framework),
            None if programs::is_installer(&module, next) => drop(self.words.next()),
            None => self.tokens.push(Token::Open(module)),
        }
    }

    fn variable(&mut self, name: &str, value: &str) {
        let word = format!("{name}={value}");
        if name == "VLLM_USE_V1" && ["0", "1"].contains(&value) {
            self.late.push(Token::Word(format!("engine=v{value}")));
        } else if let Some(key) = key(name) {
            self.late.push(Token::Word(format!("{key}={value}")));
        } else if is_unheard_variable(name) {
            self.tokens.push(Token::Unheard(word));
        } else {
            self.tokens.push(Token::Open(word));
        }
    }

    /// What changes no verdict, with its value. A word without a dash has a number behind it at most: other words may be meant.
    fn unheard(&mut self, word: String, follows: Follows, is_option: bool) {
        let mut said = word;
        let mut add = |next: String| {
            said.push(' ');
            said.push_str(next.trim_end_matches(','));
        };
        match follows {
            _ if add_nothing(follows, is_option) => {}
            Follows::Numbers => {
                while let Some(next) = self.words.next_if(|next| is_number(next)) {
                    add(next);
                }
            }
            Follows::Word => {
                self.words.next_if(|next| !next.starts_with('-')).into_iter().for_each(add)
            }
            _ => self.words.next_if(|next| is_number(next)).into_iter().for_each(add),
        }
        self.tokens.push(Token::Unheard(said));
    }

    /// An option: a setting, a word, what changes no verdict, or one that nobody knows here.
    fn option(&mut self, name: &str, word: &str) -> Result<(), String> {
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        if let "index-url" | "extra-index-url" | "i" = name {
            self.index(value);
            return Ok(());
        }
        let spelt = name.replace('-', "_");
        let own = kind_of(&spelt).is_ok().then_some(Meaning::Key("")).or_else(|| option(name));
        match own {
            Some(Meaning::Key(key)) => {
                let key = if key.is_empty() { &spelt } else { key };
                self.setting(key, value, word);
            }
            Some(Meaning::Word(said)) => self.word(said),
            Some(Meaning::Value) => match value.or_else(|| self.value()) {
                Some(said) if meaning::is_way_to_guess(&said) => {
                    self.word(&said.to_ascii_lowercase())
                }
                Some(said) => self.tokens.push(Token::Open(format!("{word} {said}"))),
                None => self.tokens.push(Token::Open(word.to_owned())),
            },
            Some(Meaning::Flash) => self.flash(value),
            Some(Meaning::Unheard(_)) if value.is_some() => {
                self.tokens.push(Token::Unheard(word.to_owned()));
            }
            Some(Meaning::Unheard(follows)) => self.unheard(word.to_owned(), follows, true),
            None => return self.unknown(name, value.is_some(), word),
        }
        Ok(())
    }

    fn value(&mut self) -> Option<String> {
        self.words.next_if(|next| !next.starts_with('-'))
    }

    /// A setting with its value. All GPUs there are is no number of them.
    fn setting(&mut self, key: &str, value: Option<String>, word: &str) {
        match value.or_else(|| self.value()) {
            Some(all) if key == "tp" && all == "all" => {
                self.tokens.push(Token::Unheard(format!("{word} {all}")));
            }
            Some(value) => self.tokens.push(Token::Word(format!("{key}={value}"))),
            None => self.word(word),
        }
    }

    /// `-fa`, `-fa on`, `--flash-attn off`.
    fn flash(&mut self, value: Option<String>) {
        let says = |next: &String| ["0", "1", "auto", "off", "on"].contains(&next.as_str());
        match value.or_else(|| self.words.next_if(says)).as_deref() {
            None | Some("1" | "on" | "true") => self.word("flash-attn"),
            Some("auto") => self.tokens.push(Token::Unheard("flash-attn auto".to_owned())),
            Some(_) => self.tokens.push(Token::Word("attention=none".to_owned())),
        }
    }

    /// An index of packages is about one build.
    fn index(&mut self, value: Option<String>) {
        let Some(address) = value.or_else(|| self.value()) else { return };
        match programs::build_of_index(&address) {
            Some(build) => self.word(build),
            None => self.tokens.push(Token::Open(address)),
        }
    }

    /// An option that no table has. What follows may be its value, but not where it means something by itself.
    fn unknown(&mut self, name: &str, has_value: bool, word: &str) -> Result<(), String> {
        let names = |word: &str| name_of(word).is_some_and(|name| find(self.base, name).is_some());
        let means = |word: &str| match self.named {
            Some(own) => is_known(self.base, own, word),
            None => names(word),
        };
        if !has_value && means(name) {
            self.word(name);
            return Ok(());
        }
        let next = self.words.peek().filter(|next| !has_value && !next.starts_with('-'));
        if let Some(next) = next.filter(|next| means(next)) {
            return Err(format!(
                "{word} is no option that is known here; write {word}={next} where {next} is its value, or {next} before it"
            ));
        }
        let said = match next.is_some() {
            true => format!("{word} {}", self.words.next().unwrap_or_default()),
            false => word.to_owned(),
        };
        self.tokens.push(Token::Open(said));
        Ok(())
    }
}

/// What is switched on or off as code does it: `load_in_4bit=True`.
fn switched(word: &str) -> Option<(&str, bool)> {
    let (name, value) = word.split_once('=')?;
    let value = value.to_ascii_lowercase();
    ["true", "false"].contains(&&*value).then_some((name, value == "true"))
}

/// Whether a word stands for a release that is another from day to day.
fn is_moving(word: &str) -> bool {
    ["latest", "main", "master", "nightly"].contains(&&*word.to_ascii_lowercase())
}

/// Whether a word is a width that EXL2 and EXL3 have any of: `4.0bpw`.
fn is_width_of_exl(word: &str) -> bool {
    word.strip_suffix("bpw").is_some_and(is_number)
}

fn add_nothing(follows: Follows, is_option: bool) -> bool {
    follows == Follows::Nothing || follows == Follows::Word && !is_option
}

/// Whether a word means something behind the name of this framework.
fn is_known(base: &RuleBase, framework: &Framework, word: &str) -> bool {
    let is_named = || {
        let name = name_of(word);
        name.is_some_and(|name| find(base, name).is_some() || generation(base, name).is_some())
    };
    is_release(word)
        || meaning::is_known(base, framework, word)
        || is_named()
        || Model::known(word).is_some()
}

/// The name before a release.
pub(super) fn name_of(word: &str) -> Option<&str> {
    split_version(word).ok().map(|one| one.0)
}

fn is_variable(name: &str) -> bool {
    name.contains('_')
        && name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// A package without what is installed with it: `vllm[audio]==0.8.5`.
fn without_extras(word: &str) -> String {
    match (word.split_once('['), word.split_once(']')) {
        (Some((before, _)), Some((_, behind))) if !before.is_empty() => format!("{before}{behind}"),
        _ => word.to_owned(),
    }
}

/// A name with the release behind it, or with the number of its generation: `flash-attn 3`.
fn joined(base: &RuleBase, name: &str, word: &str) -> Option<String> {
    let framework = find(base, name).map(|one| one.id.as_str());
    let is_named = framework.is_some() || kind_of(name) == Ok(Kind::Package) || name == "jetpack";
    let is_numbered = NUMBERED.contains(&framework.unwrap_or(name));
    if is_named && (is_release(word) || is_numbered && is_number(word)) {
        return Some(format!("{name}@{word}"));
    }
    let with_generation = format!("{name}-{word}");
    let known = framework.is_some() && generation(base, &with_generation).is_some();
    known.then_some(with_generation)
}

/// One number, or several with commas between them.
fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> String {
        let tokens = tokens(RuleBase::builtin(), &[words.to_owned()]).expect(words);
        let text = |token: &Token| match token {
            Token::Word(word) => word.clone(),
            Token::Unheard(word) => format!("({word})"),
            Token::Open(word) => format!("({word}?)"),
        };
        tokens.iter().map(text).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn options_are_read_as_they_stand_on_a_command_line() {
        for (words, want) in [
            ("vllm --quantization awq -tp 2", "vllm|quantization=awq|tp=2"),
            ("vllm --kv-cache-dtype=fp8 --dtype half", "vllm|kv_cache=fp8|dtype=half"),
            ("vllm --max-model-len 32768 awq", "vllm|(--max-model-len 32768)|awq"),
            ("vllm --max-model-len 32768 0.8.5", "vllm|(--max-model-len 32768)|0.8.5"),
            ("vllm max-model-len 32768, 0.8.5", "vllm|(max-model-len 32768)|0.8.5"),
            ("vllm python 3.9 0.8.5", "vllm|(python 3.9)|0.8.5"),
            ("vllm --enforce-eager 0.8.5", "vllm|(--enforce-eager)|0.8.5"),
            ("llama.cpp --n-cpu-moe q4_k_m", "llama.cpp|(--n-cpu-moe)|q4_k_m"),
            ("llama.cpp tensor-split 1,1 q8_0", "llama.cpp|(tensor-split 1,1)|q8_0"),
            ("llama.cpp -ts 3 1 -fa on -ngl 99", "llama.cpp|(-ts 3 1)|flash-attn|(-ngl 99)"),
            ("vllm driver 535 torch 2.6.0", "vllm|driver@535|torch@2.6.0"),
            ("torch 2.5.0 jetpack 6.2", "torch@2.5.0|jetpack@6.2"),
            ("flash-attn 3 bf16", "flash-attn-3|bf16"),
            ("vllm 3", "vllm|3"),
            ("vllm -- awq", "vllm|awq"),
            ("sglang --speculative-algorithm EAGLE fp8", "sglang|eagle|fp8"),
            ("transformers --load-in-4bit", "transformers|load-in-4bit"),
        ] {
            assert_eq!(read(words), want);
        }
    }

    #[test]
    fn options_that_no_table_has_are_open_with_their_values() {
        for (words, want) in [
            ("vllm --no-such-option", "vllm|(--no-such-option?)"),
            ("vllm --no-such-option=awq fp16", "vllm|(--no-such-option=awq?)|fp16"),
            ("vllm --no-such-option some-value fp16", "vllm|(--no-such-option some-value?)|fp16"),
            ("vllm fp16 --no-such-option 3", "vllm|fp16|(--no-such-option 3?)"),
        ] {
            assert_eq!(read(words), want);
        }
        for words in ["vllm --no-such-option awq", "--no-such-option vllm"] {
            let error = tokens(RuleBase::builtin(), &[words.to_owned()]);
            assert!(error.is_err_and(|error| error.contains("write --no-such-option=")), "{words}");
        }
    }

    #[test]
    fn commands_are_read_as_they_are_pasted() {
        for (words, want) in [
            ("vllm serve Qwen/Qwen3-8B --port 8000", "vllm|Qwen/Qwen3-8B|(--port 8000)"),
            (
                "CUDA_VISIBLE_DEVICES=0,1 python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2",
                "(CUDA_VISIBLE_DEVICES=0,1)|sglang|model=Qwen/Qwen3-8B|tp=2",
            ),
            (
                "VLLM_USE_V1=0 VLLM_ATTENTION_BACKEND=XFORMERS vllm serve Qwen/Qwen3-8B",
                "vllm|Qwen/Qwen3-8B|engine=v0|attention=XFORMERS",
            ),
            (
                "llama-server -m Qwen3-8B-Q4_K_M.gguf -c 8192",
                "llama-cpp|model=Qwen3-8B-Q4_K_M.gguf|(-c 8192)",
            ),
            ("ollama run qwen3:8b", "ollama|qwen3:8b"),
            (
                "docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B",
                "vllm@v0.11.0|wheel=docker|model=Qwen/Qwen3-8B",
            ),
            (
                "docker run --gpus all lmsysorg/sglang:latest python3 -m sglang.launch_server --tp 8",
                "sglang|wheel=docker|tp=8",
            ),
            ("pip install torch==2.7.1+cu128", "torch==2.7.1+cu128"),
            (
                "pip3 install torch torchvision --index-url https://download.pytorch.org/whl/cu128",
                "torch|(torchvision)|cu128",
            ),
            ("uv pip install vllm[audio]==0.8.5", "vllm==0.8.5"),
            (
                "lmdeploy serve api_server internlm/internlm2_5-7b-chat --tp 2",
                "lmdeploy|internlm/internlm2_5-7b-chat|tp=2",
            ),
        ] {
            assert_eq!(read(words), want);
        }
        let error = tokens(RuleBase::builtin(), &["docker run nvidia/cuda nvidia-smi".to_owned()]);
        assert!(error.is_err_and(|error| error.contains("name the framework")));
    }
}
