//! Which frameworks may say that they run a model of a type at all. The lists are those of each framework's own source; the heads of the
//! rule files cite it.

use warpscope::engine::{Outcome, Question, Target, evaluate_without_fixes};
use warpscope_kernels::Sm;
use warpscope_probes::rules::{Framework, RuleBase};

use super::verdicts::base;

/// Software that never sees the class of a model: it computes what others ask of it, and its answers say so.
const PARTS: &[&str] = &[
    "autoawq-kernels",
    "bitsandbytes",
    "cublas",
    "cuda",
    "cudnn",
    "deepgemm",
    "deepspeed",
    "driver",
    "flash-attn",
    "flashinfer",
    "hardware",
    "jax",
    "marlin",
    "models",
    "nccl",
    "onnxruntime",
    "sageattention",
    "tensorflow",
    "tensorrt",
    "tensorrt-rtx",
    "torch",
    "torchao",
    "transformer-engine",
    "triton",
    "xformers",
];

/// What runs llama.cpp's code of 2024: its converter names the class.
const LLAMA_CPP: &[&str] = &[
    "ik_llama.cpp",
    "koboldcpp",
    "llama-cpp",
    "llama-cpp-python",
    "llamafile",
    "lm-studio",
    "ollama",
];

/// What runs its code of today; the lists of the others end with the releases that were read.
const LLAMA_CPP_NOW: &[&str] =
    &["ik_llama.cpp", "koboldcpp", "llama-cpp", "llama-cpp-python", "lm-studio", "ollama"];

/// A framework, and where its code for a model is.
type Source = (&'static str, &'static str);

/// A type of model, and what has code for it besides: the source.
const TYPES: &[(&str, &[&str], &[Source])] = &[
    (
        "mamba",
        LLAMA_CPP,
        &[
            ("aphrodite", "v0.20.0:aphrodite/model_executor/models/registry.py MambaForCausalLM"),
            ("candle", "0.8.0:candle-transformers/src/models/mamba.rs"),
            ("mamba", "mamba_ssm/models/mixer_seq_simple.py MambaLMHeadModel"),
            ("tgi", "v3.3.7:server/text_generation_server/models/mamba.py"),
            ("transformers", "models/mamba"),
            ("vllm", "0141f15d:tests/models/language/generation/test_hybrid.py mamba-130m-hf"),
        ],
    ),
    (
        "xlm-roberta",
        LLAMA_CPP,
        &[
            ("aphrodite", "v0.20.0:aphrodite/model_executor/models/registry.py XLMRobertaModel"),
            ("ctranslate2", "v4.8.1:converters/transformers.py XLMRobertaConfig"),
            ("sglang", "v0.5.9:test/registered/models/test_encoder_embedding_models.py"),
            ("tei", "v1.9.3:README.md XLM-RoBERTa"),
            ("transformers", "models/xlm_roberta"),
            ("vllm", "0.8.5 sdist@tests/models/embedding/language/test_embedding.py"),
        ],
    ),
    (
        "whisper",
        &[],
        &[
            ("aphrodite", "v0.20.0:aphrodite/model_executor/models/registry.py Whisper"),
            ("candle", "0.8.0:candle-transformers/src/models/whisper"),
            ("ctranslate2", "v4.8.1:converters/transformers.py WhisperConfig"),
            ("lightllm", "v1.0.1, v1.1.0:lightllm/models"),
            ("tensorrt-llm", "008b2b8d:tests/integration/test_lists/test-db/l0_a10.yml"),
            ("transformers", "models/whisper"),
            ("unsloth", "b87ff3f5:README.md:33 and :48"),
            ("vllm", "0.11.0 sdist@tests/models/multimodal/generation/test_whisper.py"),
            ("whisper-cpp", "README.md"),
        ],
    ),
    (
        "qwen3",
        LLAMA_CPP_NOW,
        &[
            ("aphrodite", "v0.20.0:aphrodite/model_executor/models/registry.py Qwen3ForCausalLM"),
            ("autoawq", "v0.2.9:awq/models/auto.py"),
            ("axolotl", "006f226:src/axolotl/monkeypatch/multipack.py"),
            ("ctranslate2", "v4.8.1:converters/transformers.py Qwen3Config"),
            ("exllamav2", "v0.3.2:exllamav2/architecture.py"),
            ("exllamav3", "v1.4.1:exllamav3/architecture/qwen3.py"),
            ("gptqmodel", "v7.3.4:gptqmodel/models/auto.py"),
            ("lightllm", "v1.0.1, v1.1.0:lightllm/models"),
            ("lmdeploy", "common_models of its rule file"),
            ("mistralrs", "v0.9.2:mistralrs-core/src/pipeline/loaders/normal_loaders.rs"),
            ("mlc-llm", "v0.20.0:python/mlc_llm/model/model.py"),
            ("sglang", "common_models of its rule file"),
            ("tei", "v1.9.3:README.md Qwen3"),
            ("tensorrt-edge-llm", "common_models of its rule file"),
            ("tensorrt-llm", "common_models of its rule file"),
            ("transformers", "models/qwen3"),
            ("unsloth", "common_models of its rule file"),
            ("vllm", "0002bff:vllm/model_executor/models/registry.py Qwen3ForCausalLM"),
        ],
    ),
    (
        "flux",
        &[],
        &[
            ("candle", "0.8.0:candle-transformers/src/models/flux"),
            ("comfyui", "README.md"),
            ("diffusers", "src/diffusers/pipelines/flux"),
            ("forge", "backend/diffusion_engine/flux.py"),
            ("forge-neo", "README.md"),
            ("invokeai", "invokeai/backend/model_manager/taxonomy.py"),
            ("nunchaku", "nunchaku/models/transformers/transformer_flux.py"),
            ("stable-diffusion-cpp", "master-827-97d2990:README.md"),
        ],
    ),
];

const GPUS: &[(&str, Sm)] = &[
    ("T4", Sm::new(7, 5)),
    ("RTX 4090", Sm::new(8, 9)),
    ("H100", Sm::new(9, 0)),
    ("RTX 5090", Sm::new(12, 0)),
];

/// Every row of a framework, and no settings at all, asked about a model of this type.
fn questions(base: &RuleBase, framework: &Framework, model: &str) -> Vec<Question> {
    let rows = base.configs().iter().filter(|row| row.framework == framework.id);
    let plain = Question {
        framework: framework.id.clone(),
        version: framework.version.clone(),
        ..Question::default()
    };
    let mut questions: Vec<Question> = rows.map(|row| Question::of_row(base, row)).collect();
    questions.push(plain);
    for question in &mut questions {
        question.config.set("model_type", model).expect("a word");
    }
    questions
}

#[test]
fn only_what_has_code_for_a_model_says_that_it_runs() {
    let base = base();
    let mut wrong = Vec::new();
    for (model, llama_cpp, others) in TYPES {
        let may = |id: &str| {
            PARTS.contains(&id) || llama_cpp.contains(&id) || others.iter().any(|one| one.0 == id)
        };
        for framework in base.frameworks().iter().filter(|one| !may(&one.id)) {
            for question in questions(base, framework, model) {
                for (gpu, sm) in GPUS {
                    let target = Target::of_sm((*gpu).to_owned(), *sm);
                    let verdict = evaluate_without_fixes(base, &target, &question, &[]);
                    if verdict.outcome.runs() || verdict.outcome == Outcome::NoObstacle {
                        wrong.push(format!("{model} {gpu} {} {:?}", framework.id, question.config));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_has_code_for_a_model_lists_or_names_it() {
    let base = base();
    for (model, llama_cpp, others) in TYPES {
        for id in others.iter().map(|one| one.0).chain(llama_cpp.iter().copied()) {
            let framework = base.framework(id).unwrap_or_else(|| panic!("{id} has a file"));
            let listed = framework.common_models.iter().any(|one| one == model);
            let named = || base.rules_of(id).any(|rule| rule.selector.names("model_type", model));
            assert!(listed || named(), "{id} {model}");
        }
    }
}

#[test]
fn every_framework_that_loads_models_says_which() {
    let silent: Vec<&str> = base()
        .frameworks()
        .iter()
        .filter(|one| one.common_models.is_empty())
        .map(|one| one.id.as_str())
        .filter(|id| !PARTS.contains(id))
        .collect();
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn of_a_part_the_answer_says_that_it_is_one() {
    let base = base();
    let mut question = Question { framework: "flashinfer".to_owned(), ..Question::default() };
    question.version = base.framework("flashinfer").and_then(|one| one.version.clone());
    question.config.set("model_type", "mamba").expect("a word");
    question.config.set("dtype", "fp16").expect("a type");
    let target = Target::of_sm("H100".to_owned(), Sm::new(9, 0));
    let verdict = evaluate_without_fixes(base, &target, &question, &[]);
    let said = "FlashInfer is one part of what runs mamba";
    assert!(
        !verdict.outcome.runs() || verdict.doubts.iter().any(|one| one == said),
        "{:?} {:?}",
        verdict.outcome,
        verdict.doubts
    );
}
