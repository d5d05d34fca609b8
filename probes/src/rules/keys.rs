//! The closed table of what a configuration can say. A key outside it, or a value of the wrong kind, is an error with a line number:
//! a misspelt key in a rule would otherwise make a rule that never speaks.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use warpscope_kernels::{DTYPES, Dtype};

use super::range::VersionRange;
use super::version::Version;

/// What the values of a key are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A lower-case name: `awq`, `flash_attention_2`.
    Word,
    /// A dtype id of `warpscope_kernels::DTYPES`, or `auto`.
    Dtype,
    /// A version of another package; naming one brings in that package's own rules.
    Package,
}

/// Every key: id, kind, and what it means.
pub const KEYS: &[(&str, Kind, &str)] = &[
    ("engine", Kind::Word, "engine within the framework: pytorch, turbomind, v0, v1"),
    ("dtype", Kind::Dtype, "type of activations and unquantised weights"),
    ("checkpoint_dtype", Kind::Dtype, "type the checkpoint was saved in; decides what auto means"),
    ("quantization", Kind::Word, "format of quantised weights: awq, gptq, nf4, fp8"),
    ("attention", Kind::Word, "attention implementation: flash_attention_2, sdpa, eager"),
    ("kernel", Kind::Word, "kernel family asked for: marlin, exllama, machete"),
    ("wheel", Kind::Word, "which build: pypi, docker, source, cu126, cu128"),
    (
        "arch_list",
        Kind::Word,
        "compute capability a source build was made for: native when it is this GPU's",
    ),
    ("operator", Kind::Word, "operator class put in by a rule file"),
    ("model_type", Kind::Word, "model_type of the model's config.json"),
    ("kv_cache", Kind::Word, "type of the key-value cache"),
    ("head_dim", Kind::Word, "size of an attention head"),
    ("tp", Kind::Word, "tensor parallelism: GPUs that share each layer"),
    ("pp", Kind::Word, "pipeline parallelism: stages of layers"),
    ("feature", Kind::Word, "a feature switched on: torch_compile, mla, sinks"),
    ("platform", Kind::Word, "linux, windows, jetson"),
    ("compute_type", Kind::Word, "CTranslate2's compute_type: int8_float16"),
    (
        "operation",
        Kind::Word,
        "what is done: inference, training, backward, convolution, scaled_mm",
    ),
    ("instruction", Kind::Word, "one family of machine instructions: cp_async, wgmma"),
    ("runner", Kind::Word, "build a program picks at its start: cuda_v12, cuda_v13"),
    (
        "bitsandbytes.wheel",
        Kind::Word,
        "which build of bitsandbytes, where it takes part as a package",
    ),
    ("flash-attn.wheel", Kind::Word, "which build of flash-attn, where it takes part as a package"),
    ("flashinfer.wheel", Kind::Word, "which build of FlashInfer, where it takes part as a package"),
    (
        "torch.wheel",
        Kind::Word,
        "which build of PyTorch, where it takes part as a package: cu126, cu128",
    ),
    ("xformers.wheel", Kind::Word, "which build of xformers, where it takes part as a package"),
    ("autoawq-kernels", Kind::Package, "AutoAWQ's compiled kernels"),
    ("bitsandbytes", Kind::Package, "bitsandbytes"),
    ("cublas", Kind::Package, "cuBLAS"),
    ("cuda", Kind::Package, "CUDA toolkit the build was made with"),
    ("cudnn", Kind::Package, "cuDNN"),
    ("flash-attn", Kind::Package, "the flash-attn package"),
    ("flashinfer", Kind::Package, "FlashInfer"),
    ("gptqmodel", Kind::Package, "GPTQModel"),
    ("sageattention", Kind::Package, "SageAttention"),
    ("sgl-kernel", Kind::Package, "SGLang's compiled kernels"),
    ("tensorrt", Kind::Package, "TensorRT"),
    ("torch", Kind::Package, "PyTorch"),
    ("transformers", Kind::Package, "transformers"),
    ("triton", Kind::Package, "Triton"),
    ("vllm", Kind::Package, "vLLM"),
    ("xformers", Kind::Package, "xformers"),
];

/// Keys that describe the model, not the route taken: a framework's rule need not name them to speak of the whole.
const MODEL_KEYS: &[&str] = &["checkpoint_dtype", "head_dim", "model_type"];

/// Keys that describe how a model is spread over GPUs; a rule need not name them either.
const SPLIT_KEYS: &[&str] = &["pp", "tp"];

/// Keys that describe one package's build: what is said of the framework is not said of its packages.
const BUILD_KEYS: &[&str] = &["arch_list", "wheel"];

/// Kind of a key, or an error that lists the keys there are.
pub fn kind_of(key: &str) -> Result<Kind, String> {
    row_of(key).map(|row| row.1)
}

/// Row of a key, or an error that lists the keys there are.
fn row_of(key: &str) -> Result<&'static (&'static str, Kind, &'static str), String> {
    KEYS.iter().find(|row| row.0 == key).ok_or_else(|| {
        let known: Vec<_> = KEYS.iter().map(|row| row.0).collect();
        format!("{key:?} is not a configuration key; known: {}", known.join(", "))
    })
}

/// Spellings of dtypes in other people's software.
const DTYPE_SPELLINGS: &[(&str, &str)] = &[
    ("float16", "fp16"),
    ("half", "fp16"),
    ("bfloat16", "bf16"),
    ("float32", "fp32"),
    ("float", "fp32"),
    ("float64", "fp64"),
    ("fp8", "fp8_e4m3"),
];

/// The dtype id a user's word means, if it means one: `half` → `fp16`.
pub fn dtype_id(word: &str) -> Option<&'static str> {
    let word = DTYPE_SPELLINGS.iter().find(|row| row.0 == word).map_or(word, |row| row.1);
    if word == "auto" {
        return Some("auto");
    }
    DTYPES.iter().map(|row| row.1).find(|id| *id == word)
}

/// Checks one value against its key, as rules and questions write it.
pub fn check_value(key: &str, value: &str) -> Result<(), String> {
    if value == UNSET {
        return Err(format!("{key}: only a rule can speak of a key that is unset; leave it out"));
    }
    match kind_of(key)? {
        Kind::Word => {
            let plain =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-+".contains(c);
            let good = !value.is_empty() && value.len() <= 64 && value.chars().all(plain);
            good.then_some(()).ok_or_else(|| {
                format!("{value:?}: write {key} in lower case, like flash_attention_2")
            })
        }
        Kind::Dtype if value == "auto" => Ok(()),
        Kind::Dtype => value.parse::<Dtype>().map(|_| ()),
        Kind::Package if value == ANY_VERSION || value == NOTHING => Ok(()),
        Kind::Package => value.parse::<Version>().map(|_| ()).map_err(|error| error.to_string()),
    }
}

/// Version of a package that takes part in a version nobody named.
pub const ANY_VERSION: &str = "any";

/// Value of a key that a route has taken out of play: `quantization = "none"` once weights were widened, `triton = "none"` where none
/// of its kernels takes part any more.
const NOTHING: &str = "none";

/// What a rule accepts under a key that the configuration does not name: `wheel = ["pypi", "unset"]`.
pub(super) const UNSET: &str = "unset";

/// A configuration: what is asked about. Every value is checked against its key.
///
/// A list in order of the key: a tree takes half a kilobyte for its first pair, and most configurations have fewer than five.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Settings(Vec<(&'static str, Box<str>)>);

impl Settings {
    /// Reads pairs, checking each.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut settings = Self::default();
        for (key, value) in pairs {
            settings.set(key, value)?;
        }
        settings.0.shrink_to_fit();
        Ok(settings)
    }

    /// Sets one key after checking it.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        check_value(key, value)?;
        self.put(row_of(key)?.0, value.into());
        Ok(())
    }

    fn put(&mut self, key: &'static str, value: Box<str>) {
        match self.0.binary_search_by(|one| one.0.cmp(key)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    /// This configuration with everything `over` names replaced.
    pub fn with(&self, over: &Self) -> Self {
        let mut settings = self.clone();
        for (key, value) in &over.0 {
            settings.put(key, value.clone());
        }
        settings
    }

    /// What of it is the route taken: everything but what describes the model.
    pub fn of_route(&self) -> Self {
        self.only(|key| !MODEL_KEYS.contains(&key))
    }

    /// This configuration without these keys.
    pub fn without(&self, keys: &[&str]) -> Self {
        self.only(|key| !keys.contains(&key))
    }

    /// Versions in here of the packages that `other` names without a version.
    pub fn named_by(&self, other: &Self) -> Self {
        self.only(|key| other.get(key) == Some(ANY_VERSION))
    }

    fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|(key, _)| wanted(key)).cloned().collect())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|one| one.0 == key).map(|one| &*one.1)
    }

    /// The packages that take part, and their versions.
    pub fn packages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(key, value)| kind_of(key) == Ok(Kind::Package) && *value != NOTHING)
    }

    /// What a rule must speak of to speak of the whole: neither the model nor the packages.
    pub fn route_keys(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(key, value)| {
            let package = key.contains('.') || kind_of(key) == Ok(Kind::Package);
            let aside = MODEL_KEYS.contains(key) || SPLIT_KEYS.contains(key);
            *value != NOTHING && !aside && !package
        })
    }

    /// This configuration without a type that is left to a checkpoint nobody named.
    pub fn without_open_type(&self) -> Self {
        let open = self.get("dtype") == Some("auto") && self.get("checkpoint_dtype").is_none();
        self.only(|key| !(open && key == "dtype"))
    }

    /// Linux is the system that rules mean where they name none, and WSL runs the same builds.
    pub fn with_plain_linux(mut self) -> Self {
        if matches!(self.get("platform"), Some("linux" | "wsl" | "wsl2")) {
            self.put("platform", "none".into());
        }
        self
    }

    /// This configuration as rules of a package meet it: with the package's own build, which `torch.wheel = "cu128"` names and so does
    /// `torch = "2.7.1+cu128"`.
    pub fn of_package(&self, package: &str) -> Self {
        let mut settings = self.only(|key| !BUILD_KEYS.contains(&key));
        let named = BUILD_KEYS
            .iter()
            .filter_map(|key| Some((*key, self.get(&format!("{package}.{key}"))?)));
        let local = self.get(package).and_then(|version| version.split_once('+'));
        let local = local.filter(|(_, build)| build.starts_with("cu")).map(|one| ("wheel", one.1));
        local.into_iter().chain(named).for_each(|(key, value)| settings.put(key, value.into()));
        settings
    }

    /// Every key and value, in order of the key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (*key, &**value))
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<_> = self.iter().map(|(key, value)| format!("{key}={value}")).collect();
        f.pad(&pairs.join(" "))
    }
}

/// What a rule asks of a configuration: for each key the values it speaks of, for packages a version range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<(&'static str, Choice)>);

/// What a rule accepts under one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Any of these values; `unset` stands for a configuration that does not name the key.
    OneOf(Vec<String>),
    /// A package in this range.
    Within(VersionRange),
}

impl Selector {
    /// Whether the rule speaks of this configuration; `None` when a package version that decides it is not known.
    pub fn matches(&self, settings: &Settings) -> Option<bool> {
        let mut known = true;
        for (key, choice) in &self.0 {
            let value = settings.get(key);
            match (choice, value) {
                (Choice::OneOf(values), _) if accepts(values, value) => {}
                (Choice::OneOf(_), _) | (Choice::Within(_), None | Some(NOTHING)) => {
                    return Some(false);
                }
                (Choice::Within(range), Some(value)) => {
                    match range.contains(value.parse().ok().as_ref()) {
                        Some(true) => {}
                        Some(false) => return Some(false),
                        None => known = false,
                    }
                }
            }
        }
        known.then_some(true)
    }

    /// Keys the rule asks for and the configuration leaves open, where everything else matches; `None` where something else does not.
    /// Only the number format and versions of packages can be left open: other keys choose another route.
    pub fn left_open(&self, settings: &Settings) -> Option<Vec<&'static str>> {
        let mut open = Vec::new();
        for (key, choice) in &self.0 {
            let fits = match (choice, settings.get(key)) {
                (Choice::OneOf(values), None) if *key == "dtype" => {
                    open.extend((!values.iter().any(|one| one == UNSET)).then_some(*key));
                    true
                }
                (Choice::Within(_), None) => {
                    open.push(*key);
                    true
                }
                (Choice::OneOf(values), value) => {
                    values.iter().any(|one| one == value.unwrap_or(UNSET))
                }
                (Choice::Within(range), Some(value)) => {
                    range.contains(value.parse().ok().as_ref()) == Some(true)
                }
            };
            if !fits {
                return None;
            }
        }
        Some(open)
    }

    /// Whether it names this value under this key.
    pub fn names(&self, key: &str, value: &str) -> bool {
        let one = self.0.iter().find(|(own, _)| *own == key);
        one.is_some_and(|(_, choice)| match choice {
            Choice::OneOf(values) => values.iter().any(|own| own == value),
            Choice::Within(range) => range.contains(value.parse().ok().as_ref()) == Some(true),
        })
    }

    /// Whether it speaks of this key.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(own, _)| *own == key)
    }

    /// Every key and what is accepted under it.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Choice)> {
        self.0.iter().map(|(key, choice)| (*key, choice))
    }

    /// Whether the rule speaks of everything that was asked for. One that does not cannot say that the whole of it runs.
    pub fn covers(&self, settings: &Settings) -> bool {
        settings.route_keys().all(|(key, _)| self.has(key))
    }

    /// Number of keys it names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it accepts every configuration.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether a rule speaks of this value. One that a route has taken out of play is as good as unset.
fn accepts(values: &[String], value: Option<&str>) -> bool {
    let is = |wanted: &str| values.iter().any(|one| one == wanted);
    value.is_some_and(is) || (matches!(value, None | Some(NOTHING)) && is(UNSET))
}

struct Pairs<T, F>(F, std::marker::PhantomData<T>);

impl<'de, T, F> Visitor<'de> for Pairs<T, F>
where
    F: FnMut(&str, Vec<String>) -> Result<T, String>,
{
    type Value = Vec<(&'static str, T)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of configuration keys")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            let values: OneOrMany = map.next_value()?;
            let value = (self.0)(key, values.0).map_err(A::Error::custom)?;
            pairs.push((key, value));
        }
        pairs.shrink_to_fit();
        Ok(pairs)
    }
}

struct Key(&'static str);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = Cow::<'de, str>::deserialize(deserializer)?;
        row_of(&key).map(|row| Self(row.0)).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let single = |key: &str, values: Vec<String>| match values.as_slice() {
            [value] => check_value(key, value).map(|()| value.as_str().into()),
            _ => Err(format!("{key}: a configuration has one value for each key")),
        };
        let pairs = deserializer.deserialize_map(Pairs(single, std::marker::PhantomData))?;
        let mut settings = Self::default();
        pairs.into_iter().for_each(|(key, value)| settings.put(key, value));
        settings.0.shrink_to_fit();
        Ok(settings)
    }
}

impl serde::Serialize for Settings {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let choice = |key: &str, values: Vec<String>| match (kind_of(key)?, values.as_slice()) {
            (Kind::Package, [range]) => range.parse().map(Choice::Within),
            (Kind::Package, _) => Err(format!("{key}: write one version range")),
            _ => {
                let named = || values.iter().filter(|value| *value != UNSET);
                if named().next().is_none() {
                    return Err(format!("{key}: name a value beside {UNSET}"));
                }
                named().try_for_each(|value| check_value(key, value))?;
                Ok(Choice::OneOf(values))
            }
        };
        deserializer.deserialize_map(Pairs(choice, std::marker::PhantomData)).map(Self)
    }
}

struct OneOrMany(Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        one_or_many(deserializer).map(Self)
    }
}

/// Reads `"a"` as well as `["a", "b"]`, never an empty list.
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    struct Either;

    impl<'de> Visitor<'de> for Either {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("text or a list of texts")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(
            self,
            mut list: A,
        ) -> Result<Self::Value, A::Error> {
            let mut texts = Vec::new();
            while let Some(text) = list.next_element()? {
                texts.push(text);
            }
            if texts.is_empty() {
                Err(A::Error::custom("an empty list accepts nothing"))
            } else {
                texts.shrink_to_fit();
                Ok(texts)
            }
        }
    }

    deserializer.deserialize_any(Either)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_explained() {
        for (key, _, meaning) in KEYS {
            assert_eq!(KEYS.iter().filter(|row| row.0 == *key).count(), 1, "{key}");
            assert!(!meaning.is_empty());
        }
    }

    #[test]
    fn values_are_checked_against_their_key() {
        assert!(Settings::new([("dtype", "fp16"), ("triton", "3.3.1"), ("torch", "any")]).is_ok());
        for (key, value) in
            [("dtyp", "fp16"), ("dtype", "fp17"), ("triton", "new"), ("engine", "Turbo Mind")]
        {
            assert!(Settings::new([(key, value)]).is_err(), "{key}={value}");
        }
    }

    #[test]
    fn a_rule_can_accept_a_key_that_is_not_named() {
        let selector: Selector =
            toml::from_str("wheel = [\"pypi\", \"unset\"]\ndtype = \"fp16\"").expect("reads");
        let asked = |pairs: &[(&str, &str)]| {
            let settings = Settings::new(pairs.iter().copied()).expect("good settings");
            (selector.matches(&settings), selector.covers(&settings))
        };
        assert_eq!(asked(&[("dtype", "fp16")]), (Some(true), true));
        assert_eq!(asked(&[("dtype", "fp16"), ("wheel", "pypi")]), (Some(true), true));
        assert_eq!(asked(&[("dtype", "fp16"), ("wheel", "source")]), (Some(false), true));
        assert_eq!(asked(&[("wheel", "pypi")]).0, Some(false));
        assert_eq!(asked(&[("dtype", "fp16"), ("wheel", "none")]).0, Some(true));
    }

    #[test]
    fn a_package_taken_out_of_play_meets_no_range() {
        let settings = Settings::new([("triton", "none"), ("torch", "2.8.0")]).expect("good");
        assert_eq!(settings.packages().collect::<Vec<_>>(), [("torch", "2.8.0")]);
        let selector: Selector = toml::from_str("triton = \">=3.4\"").expect("reads");
        assert_eq!(selector.matches(&settings), Some(false));
    }

    #[test]
    fn linux_is_the_platform_of_rules_without_one() {
        let asked = |platform: &str| {
            let settings = Settings::new([("platform", platform)]).expect("good settings");
            settings.with_plain_linux().get("platform").map(str::to_owned)
        };
        assert_eq!(["linux", "wsl2"].map(asked), [Some("none".into()), Some("none".into())]);
        assert_eq!(asked("windows"), Some("windows".into()));
    }

    #[test]
    fn unset_is_no_value_of_a_question_and_no_rule_by_itself() {
        assert!(Settings::new([("wheel", "unset")]).is_err());
        assert!(toml::from_str::<Settings>("wheel = \"unset\"").is_err());
        assert!(toml::from_str::<Selector>("wheel = \"unset\"").is_err());
        assert!(toml::from_str::<Selector>("torch = \"unset\"").is_err());
    }

    #[test]
    fn spellings_of_other_software_mean_our_dtypes() {
        for (theirs, ours) in DTYPE_SPELLINGS {
            assert_eq!(dtype_id(theirs), Some(*ours));
            assert!(ours.parse::<Dtype>().is_ok(), "{ours}");
        }
        assert_eq!(dtype_id("marlin"), None);
    }
}
