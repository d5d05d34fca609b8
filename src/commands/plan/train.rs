//! Training on a group.

use std::io::Write;

use serde::Serialize;

use super::request::PlanRequest;
use super::text::gpus;
use crate::commands::cli::{CliError, Exit, Form, Options, Result};
use crate::commands::output;
use crate::config::args::{self, Train};
use crate::engine::Outcome;
use crate::engine::plan::{Device, Fits, Method, Range, Training, TrainingPlan, gib, training};
use crate::io::sink::jsonl;

/// Bytes of Adam's two moments, in 32 and in 8 bits.
const ADAM: f64 = 8.0;
const ADAM_8BIT: f64 = 2.0;

/// How it is trained.
pub(crate) struct Trained {
    how: Training,
    name: &'static str,
}

impl Trained {
    pub(crate) fn new(options: &Options, method: Train, request: &PlanRequest) -> Result<Self> {
        let zero = u8::try_from(options.get(&args::ZERO)).ok().filter(|stage| *stage <= 3);
        let zero = zero.ok_or_else(|| CliError::usage("--zero is a stage from 0 to 3"))?;
        let (method, name) = match method {
            Train::Lora => (Method::Lora, "LoRA"),
            Train::Qlora => (Method::Qlora, "QLoRA"),
            Train::Full => (Method::Full, "full"),
        };
        let how = Training {
            method,
            sequence: request.demand.context,
            batch: request.demand.concurrency,
            checkpointing: !options.get(&args::NO_CHECKPOINTING),
            zero,
            optimizer: if options.get(&args::ADAM8) { ADAM_8BIT } else { ADAM },
        };
        Ok(Self { how, name })
    }
}

#[derive(Serialize)]
struct Entry {
    gpus: String,
    fits: Fits,
    weights_bytes: Range,
    states_bytes: Range,
    activations_bytes: Range,
    total_bytes: Range,
}

/// One line a group.
pub(crate) fn answer(
    request: &PlanRequest,
    trained: &Trained,
    out: &mut dyn Write,
) -> Result<Exit> {
    let Some(shape) = &request.model.shape else {
        return Err(CliError::failed("the model's dimensions are not known"));
    };
    let mut entries = Vec::new();
    let mut worst = Fits::Fits;
    for group in &request.groups {
        let devices: Option<Vec<Device>> = group.iter().map(Device::new).collect();
        let devices = devices.unwrap_or_default();
        let Some(plan) = training(shape, &devices, &trained.how) else {
            return Err(CliError::failed("the memory of a GPU is not known"));
        };
        worst = worst.max(plan.fits);
        let name = gpus(group, group.len());
        if request.form == Form::Json {
            entries.push(entry(name, &plan));
        } else {
            let memory = devices.iter().map(|device| device.total).fold(f64::INFINITY, f64::min);
            writeln!(out, "{}", line(request, trained, &name, &plan, memory))?;
        }
    }
    if request.form == Form::Json {
        let document = serde_json::json!({ "schema": 1, "training": entries });
        out.write_all(&jsonl::pretty(&document).map_err(output::not_json)?)?;
    }
    Ok(match worst {
        Fits::Fits => Exit::Fine,
        Fits::DoesNotFit => Exit::CheckFailed,
        Fits::Tight | Fits::Unknown => Exit::Unknown,
    })
}

fn entry(gpus: String, plan: &TrainingPlan) -> Entry {
    Entry {
        gpus,
        fits: plan.fits,
        weights_bytes: plan.weights.bytes,
        states_bytes: plan.states.bytes,
        activations_bytes: plan.activations.bytes,
        total_bytes: plan.total,
    }
}

fn line(
    request: &PlanRequest,
    trained: &Trained,
    gpus: &str,
    plan: &TrainingPlan,
    memory: f64,
) -> String {
    let style = request.style;
    let (outcome, word) = match plan.fits {
        Fits::Fits => (Outcome::Works, "fits"),
        Fits::Tight => (Outcome::Slow, "tight"),
        Fits::DoesNotFit => (Outcome::Fails, "does not fit"),
        Fits::Unknown => (Outcome::Unknown, "unknown"),
    };
    format!(
        "{} {} training on {}: {} weights + {} optimiser + {} activations = {} ({} to {}) of {} GiB each, {word}",
        style.symbol(outcome),
        trained.name,
        style.clean(gpus),
        gib(plan.weights.bytes.mid),
        gib(plan.states.bytes.mid),
        gib(plan.activations.bytes.mid),
        gib(plan.total.mid),
        gib(plan.total.low),
        gib(plan.total.high),
        gib(memory)
    )
}
