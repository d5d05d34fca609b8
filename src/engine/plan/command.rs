//! What a plan decides, as words of the command that starts a framework.

use super::demand::{Demand, KvFormat, Parallel};
use super::framework::Release;
use super::placement::Plan;

/// Where the words of a framework stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Behind the command.
    #[default]
    Behind,
    /// Before it, as variables.
    Before,
    /// Among the arguments of a call.
    Inside,
}

/// A format of the cache as a framework spells it.
#[derive(Clone, Copy, Debug)]
pub struct KvWord {
    /// The format.
    pub format: KvFormat,
    /// Its value of `kv_cache` among the rules.
    pub value: &'static str,
    /// Options of the command; empty where it is said otherwise than in a command.
    pub text: &'static str,
    /// The first release that knows them.
    pub since: Release,
}

impl KvWord {
    /// Known to every release.
    pub const fn new(format: KvFormat, value: &'static str, text: &'static str) -> Self {
        Self { format, value, text, since: (0, 0, 0) }
    }

    /// Known from this release on.
    pub const fn since(self, since: Release) -> Self {
        Self { since, ..self }
    }
}

/// Command-line words of a framework for what a plan decides; `{}` is the value.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Where they stand.
    pub place: Place,
    /// What every plan needs said.
    pub always: &'static str,
    /// GPUs that share each layer.
    pub tensor: &'static str,
    /// Stages of layers.
    pub pipeline: &'static str,
    /// The first release that can do so.
    pub pipeline_since: Release,
    /// Context of one request.
    pub context: &'static str,
    /// The first release that knows the word for it.
    pub context_since: Release,
    /// The first release that refuses a longer one than the model was made for, and the variable that allows it.
    pub context_limit: Option<(Release, &'static str)>,
    /// Whether the context is divided among the requests.
    pub shares_context: bool,
    /// Requests at once.
    pub concurrency: &'static str,
    /// Tokens of one batch.
    pub batched_tokens: &'static str,
    /// Formats of the cache below 16 bits; of several spellings of one the newest first.
    pub kv: &'static [KvWord],
    /// Formats that weights in 16 bits are quantised to while they are loaded; empty where the rules write it.
    pub at_load: &'static [(&'static str, &'static str)],
    /// Without CUDA graphs.
    pub eager: &'static str,
    /// Share of the memory it may take.
    pub utilization: &'static str,
    /// Layers that stay on the GPU, as the command says that all do.
    pub layers: &'static str,
}

impl Words {
    /// A framework started without options.
    pub const NONE: Self = Self {
        place: Place::Behind,
        always: "",
        tensor: "",
        pipeline: "",
        pipeline_since: (0, 0, 0),
        context: "",
        context_since: (0, 0, 0),
        context_limit: None,
        shares_context: false,
        concurrency: "",
        batched_tokens: "",
        kv: &[],
        at_load: &[],
        eager: "",
        utilization: "",
        layers: "",
    };

    /// What tells the framework this split; empty where nothing is split or it finds out itself.
    pub fn split(&self, parallel: Parallel) -> String {
        let words = [(self.tensor, parallel.tp), (self.pipeline, parallel.pp)];
        let told = words.into_iter().filter(|(word, count)| *count > 1 && !word.is_empty());
        let told: Vec<_> = told.map(|(word, count)| filled(word, count)).collect();
        told.join(" ")
    }

    /// What tells it the format of the cache; none where this release has no such cache.
    pub fn kv(&self, format: KvFormat, release: Option<Release>) -> Option<&'static str> {
        match format {
            KvFormat::Fp16 | KvFormat::Fp32 => Some(""),
            _ => self.cache(format, release).map(|word| word.text),
        }
    }

    /// How this release spells a format below 16 bits.
    pub fn cache(&self, format: KvFormat, release: Option<Release>) -> Option<&'static KvWord> {
        let knows = |word: &&KvWord| release.is_none_or(|release| release >= word.since);
        self.kv.iter().filter(|word| word.format == format).find(knows)
    }

    /// What tells it to quantise weights while it loads them; none where it cannot.
    pub fn at_load(&self, format: &str) -> Option<&'static str> {
        self.at_load.iter().find(|row| row.0 == format).map(|row| row.1)
    }

    /// A command with everything that was planned beside the checkpoint as it is saved.
    pub fn command(&self, text: &str, demand: &Demand, plan: &Plan) -> String {
        let text = match plan.offload {
            Some(offload) if !self.layers.is_empty() => {
                let all = ["99", "-1"].map(|all| filled(self.layers, all));
                let kept = filled(self.layers, offload.layers);
                all.iter().fold(text.to_owned(), |text, all| text.replace(all, &kept))
            }
            _ => text.to_owned(),
        };
        let words = self.planned(demand).into_iter().map(|word| self.unsaid(&text, &word));
        let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        self.placed(&text, &words)
    }

    /// The options of a word that the text does not have yet.
    fn unsaid(&self, text: &str, word: &str) -> String {
        let between = if self.place == Place::Inside { ", " } else { " " };
        let mut is_new = true;
        let kept = word.split(between).filter(|part| {
            if self.place != Place::Behind || part.starts_with('-') {
                is_new = !has(text, name(part));
            }
            is_new
        });
        kept.collect::<Vec<_>>().join(between)
    }

    fn planned(&self, demand: &Demand) -> Vec<String> {
        let slots = if self.shares_context { demand.concurrency } else { 1 };
        let knows = demand.release.is_none_or(|release| release >= self.context_since);
        let context = if knows { self.context } else { "" };
        let tuning = &demand.tuning;
        // The others prepare for no more than are asked for.
        let requests = match self.batched_tokens {
            "" => Some(demand.concurrency).filter(|count| *count > 1),
            _ => demand.most_at_once(),
        };
        let of = |word: &str, value: Option<String>| {
            value.map_or_else(String::new, |value| filled(word, value))
        };
        vec![
            self.always.to_owned(),
            demand.packed.and_then(|one| self.at_load(one.format)).unwrap_or_default().to_owned(),
            self.split(demand.parallel),
            filled(context, demand.context * slots),
            of(self.concurrency, requests.map(|count| count.to_string())),
            of(self.batched_tokens, tuning.batched_tokens.map(|tokens| tokens.to_string())),
            of(self.utilization, tuning.utilization.map(|share| share.to_string())),
            if tuning.eager { self.eager.to_owned() } else { String::new() },
            demand.kv.and_then(|kv| self.kv(kv, demand.release)).unwrap_or_default().to_owned(),
        ]
    }

    fn placed(&self, text: &str, words: &[String]) -> String {
        let mut text = text.to_owned();
        for word in words {
            match (self.place, text.rfind(')')) {
                (Place::Before, _) => text = format!("{word} {text}"),
                (Place::Inside, Some(end)) => text.insert_str(end, &format!(", {word}")),
                _ => text.push_str(&format!(" {word}")),
            }
        }
        text
    }
}

/// An option or argument without its value.
fn name(part: &str) -> &str {
    part.split('=').next().unwrap_or(part)
}

/// Whether a command has an option or argument of this name.
fn has(text: &str, wanted: &str) -> bool {
    text.split([' ', '(', ')', ',', '\n']).any(|part| name(part) == wanted)
}

fn filled(word: &str, value: impl ToString) -> String {
    word.replace("{}", &value.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::framework::Framework;
    use super::*;

    fn words(id: &str) -> Words {
        Framework::find(id).expect("a framework").words
    }

    #[test]
    fn only_whole_arguments_are_repeated() {
        let text = "python -m sglang.launch_server --tp-size-of-another 4";
        assert_eq!(words("sglang").unsaid(text, "--tp-size 2"), "--tp-size 2");
        let text = "llama-server -m a -fa on";
        let word = "-fa on --cache-type-k q8_0 --cache-type-v q8_0";
        assert_eq!(
            words("llama-cpp").unsaid(text, word),
            "--cache-type-k q8_0 --cache-type-v q8_0"
        );
        let text = "llm = Llama(model_path=\"a\", flash_attn=True)";
        let word = "flash_attn=True, type_k=8, type_v=8";
        assert_eq!(words("llama-cpp-python").unsaid(text, word), "type_k=8, type_v=8");
        let text = "vllm serve a --kv-cache-dtype=fp8";
        assert_eq!(words("vllm").unsaid(text, "--kv-cache-dtype fp8"), "");
    }

    /// Releases: vLLM's notes of 0.20.0 (PR 38378), 0.21.0 and 0.25.0 (PR 40835), llama.cpp's PR 15434, Ollama's notes of 0.5.0.
    #[test]
    fn a_release_is_told_only_what_it_knows() {
        use KvFormat::{Int4, Int8, Nvfp4, Q8};
        for (id, format, before, since) in [
            ("vllm", Nvfp4, (0, 20, 2), (0, 21, 0)),
            ("vllm", Int8, (0, 19, 1), (0, 20, 0)),
            ("vllm", Int4, (0, 24, 0), (0, 25, 0)),
            ("ollama", Q8, (0, 4, 7), (0, 5, 0)),
        ] {
            assert_eq!(words(id).kv(format, Some(before)), None, "{id} {format:?}");
            assert!(words(id).kv(format, Some(since)).is_some(), "{id} {format:?}");
        }
        let flash = |build| words("llama-cpp").kv(Q8, Some((0, 0, build))).expect("is known");
        assert!(
            flash(6324).starts_with("-fa --cache") && flash(6325).starts_with("-fa on --cache")
        );
        let context = |release| {
            let demand = Demand { release: Some(release), ..Demand::new(4096) };
            words("ollama").planned(&demand).concat()
        };
        assert_eq!(context((0, 5, 12)), "");
        assert_eq!(context((0, 5, 13)), "OLLAMA_CONTEXT_LENGTH=4096");
    }

    #[test]
    fn tensorrt_llm_is_told_its_cache() {
        let kv = |format| words("tensorrt-llm").kv(format, None);
        assert_eq!(kv(KvFormat::Fp8), Some("--kv_cache_dtype fp8"));
        assert_eq!(kv(KvFormat::Nvfp4), Some("--kv_cache_dtype nvfp4"));
        assert_eq!(kv(KvFormat::Int8), None);
    }
}
