//! The GGUF file of a model that is published in another format: llama.cpp and what is built on it load no other.

use warpscope_probes::model::{Model, ShapeSource, WeightFormat};

use super::packed::TRAINED_IN;

/// Such a file.
#[derive(Clone, Debug, PartialEq)]
pub struct GgufCopy {
    /// The model as the file holds it.
    pub model: Model,
    /// Whether the file is known to be published; otherwise only that such files are made.
    pub is_published: bool,
}

/// The mix that most repositories of GGUF files name first.
const USUAL: &str = "-GGUF:Q4_K_M";

impl GgufCopy {
    /// The file of a model of the table that is not quantised; files on this machine are what they are.
    pub fn of(model: &Model) -> Option<Self> {
        let shape = model.shape.as_ref().filter(|shape| shape.source == ShapeSource::Table)?;
        let is_own = |format: &WeightFormat| TRAINED_IN.contains(&&*format.name);
        if !shape.format.as_ref().is_none_or(is_own) {
            return None;
        }
        let published = Model::published_gguf(&model.name);
        let name = published.map_or_else(|| format!("{}{USUAL}", model.name), str::to_owned);
        Some(Self { model: Model::known(&name)?, is_published: published.is_some() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_models_of_the_table_that_are_not_packed_have_one() {
        let copy = |id: &str| GgufCopy::of(&Model::known(id).expect("is in the table"));
        let llama = copy("meta-llama/Llama-3.3-70B-Instruct").expect("is saved in 16 bits");
        assert_eq!(llama.model.name, "MaziyarPanahi/Llama-3.3-70B-Instruct-GGUF:Q4_K_M");
        assert!(llama.is_published);
        let yi = copy("01-ai/Yi-1.5-34B-Chat").expect("is saved in 16 bits");
        assert_eq!(yi.model.name, "01-ai/Yi-1.5-34B-Chat-GGUF:Q4_K_M");
        assert!(!yi.is_published);
        let format = llama.model.shape.and_then(|shape| shape.format).map(|format| format.name);
        assert_eq!(format.as_deref(), Some("gguf"));
        assert_eq!(copy("Qwen/Qwen2.5-32B-Instruct-AWQ"), None);
        let own = Model { name: "/models/llama".to_owned(), ..Model::default() };
        assert_eq!(GgufCopy::of(&own), None);
    }
}
