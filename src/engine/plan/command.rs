//! What a plan decides, as words of the command that starts a framework.

use super::demand::{Demand, KvFormat, Parallel};
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
    /// Context of one request.
    pub context: &'static str,
    /// Requests at once.
    pub concurrency: &'static str,
    /// Tokens of one batch.
    pub batched_tokens: &'static str,
    /// Formats of the cache below 16 bits; empty where it is said otherwise than in a command.
    pub kv: &'static [(KvFormat, &'static str)],
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
        context: "",
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

    /// What tells it the format of the cache; none where it has no such cache.
    pub fn kv(&self, format: KvFormat) -> Option<&'static str> {
        match format {
            KvFormat::Fp16 | KvFormat::Fp32 => Some(""),
            _ => self.kv.iter().find(|row| row.0 == format).map(|row| row.1),
        }
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
        let said = |word: &String| {
            let named = |part: &str| part.starts_with("--") && text.contains(part);
            !word.is_empty() && !word.split(' ').any(named)
        };
        let words: Vec<String> = self.planned(demand).into_iter().filter(said).collect();
        self.placed(&text, &words)
    }

    fn planned(&self, demand: &Demand) -> Vec<String> {
        // llama.cpp divides its context among the requests.
        let divides = self.layers.starts_with("-ngl");
        let slots = if divides { demand.concurrency } else { 1 };
        let tuning = &demand.tuning;
        // The others prepare for no more than are asked for.
        let most = tuning.sequences.filter(|_| !self.batched_tokens.is_empty());
        let requests = most.unwrap_or(0).max(demand.concurrency);
        let of = |word: &str, value: Option<String>| {
            value.map_or_else(String::new, |value| filled(word, value))
        };
        vec![
            self.always.to_owned(),
            demand.packed.and_then(|one| self.at_load(one.format)).unwrap_or_default().to_owned(),
            self.split(demand.parallel),
            filled(self.context, demand.context * slots),
            of(self.concurrency, (requests > 1).then(|| requests.to_string())),
            of(self.batched_tokens, tuning.batched_tokens.map(|tokens| tokens.to_string())),
            of(self.utilization, tuning.utilization.map(|share| share.to_string())),
            if tuning.eager { self.eager.to_owned() } else { String::new() },
            demand.kv.and_then(|format| self.kv(format)).unwrap_or_default().to_owned(),
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

fn filled(word: &str, value: impl ToString) -> String {
    word.replace("{}", &value.to_string())
}
