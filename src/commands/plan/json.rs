//! Plans for programs; the schema is in docs/plan-json.md.

use std::io::{self, Write};

use serde::Serialize;

use super::Planned;
use super::candidate::Candidate;
use super::request::PlanRequest;
use super::text::{assumed, gpus};
use crate::engine::plan::{Estimate, Fits, Link, Offload, Parallel, Plan, Range};
use crate::io::sink::jsonl;

/// Number of the JSON form.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    model: String,
    context: u64,
    concurrency: u64,
    not_considered: &'a [String],
    candidates: Vec<Entry<'a>>,
    copies: Vec<CopyEntry<'a>>,
}

#[derive(Serialize)]
struct CopyEntry<'a> {
    model: &'a str,
    published: bool,
    #[serde(flatten)]
    way: Entry<'a>,
}

#[derive(Serialize)]
struct Entry<'a> {
    framework: &'a str,
    version: &'a str,
    config: &'a str,
    gpus: String,
    gpu_count: usize,
    parallel: Parallel,
    link: Option<Link>,
    fits: Fits,
    verdict: &'static str,
    reason: &'a str,
    refused: Option<&'a str>,
    memory_bytes: Option<Memory>,
    gpu_memory_bytes: Option<u64>,
    gpu_free_bytes: Option<u64>,
    must_have_bytes: Option<Bytes>,
    takes_bytes: Option<u64>,
    recommended_bytes: Option<u64>,
    kv_bytes_per_token: Option<u64>,
    max_context: Option<u64>,
    max_concurrency: Option<u64>,
    offload: Option<Offload>,
    tokens_per_s: Option<Span>,
    tokens_per_s_per_request: Option<Span>,
    prefill_tokens_per_s: Option<Span>,
    first_token_s: Option<Span>,
    command: Option<&'a str>,
    assumed_model: Option<&'a str>,
    sources: Vec<String>,
}

/// Bytes on the tightest GPU.
#[derive(Serialize)]
struct Memory {
    weights: Bytes,
    kv: Bytes,
    activations: Bytes,
    graphs: Bytes,
    context: Bytes,
    other: Bytes,
    total: Bytes,
}

#[derive(Serialize)]
struct Bytes {
    low: u64,
    mid: u64,
    high: u64,
}

#[derive(Serialize)]
struct Span {
    low: f64,
    high: f64,
}

fn whole(value: f64) -> u64 {
    value.round().max(0.0) as u64
}

impl From<Range> for Bytes {
    fn from(range: Range) -> Self {
        Self { low: whole(range.low), mid: whole(range.mid), high: whole(range.high) }
    }
}

impl From<Range> for Span {
    fn from(range: Range) -> Self {
        let round = |value: f64| (value * 1000.0).round() / 1000.0;
        Self { low: round(range.low), high: round(range.high) }
    }
}

impl From<&Plan> for Memory {
    fn from(plan: &Plan) -> Self {
        let beside = [plan.activations, plan.graphs, plan.context, plan.libraries];
        let other: Range = beside.into_iter().map(|part: Estimate| part.bytes).sum();
        Self {
            weights: plan.weights.bytes.into(),
            kv: plan.kv.bytes.into(),
            activations: plan.activations.bytes.into(),
            graphs: plan.graphs.bytes.into(),
            context: (plan.context.bytes + plan.libraries.bytes).into(),
            other: other.into(),
            total: plan.total.into(),
        }
    }
}

pub(crate) fn write(
    request: &PlanRequest,
    planned: &[Planned],
    out: &mut dyn Write,
) -> io::Result<()> {
    let groups = || request.groups.iter().zip(planned);
    let copies = groups().flat_map(|(group, planned)| {
        planned.copies.iter().map(|copy| CopyEntry {
            model: &copy.name,
            published: !copy.is_usual,
            way: entry(&copy.way, gpus(group, copy.way.way.gpus)),
        })
    });
    let entries = groups().flat_map(|(group, planned)| {
        planned.candidates.iter().map(|one| Entry {
            assumed_model: assumed(request, one),
            ..entry(one, gpus(group, one.way.gpus))
        })
    });
    let document = Document {
        schema: SCHEMA,
        model: request.named.display().to_string(),
        context: request.demand.context,
        concurrency: request.demand.concurrency,
        not_considered: &request.unheard,
        candidates: entries.collect(),
        copies: copies.collect(),
    };
    out.write_all(&jsonl::pretty(&document)?)
}

fn entry(one: &Candidate, gpus: String) -> Entry<'_> {
    let plan = one.way.plan.as_ref();
    let parts = plan.map(|plan| {
        [("weights", plan.weights), ("kv", plan.kv), ("activations", plan.activations)]
            .map(|(name, part)| format!("{name}: {}", part.source))
    });
    let sources = parts.into_iter().flatten().chain([one.source.to_owned()]);
    Entry {
        framework: &one.question.framework,
        version: &one.verdict.version,
        config: &one.verdict.config,
        gpus,
        gpu_count: one.way.gpus,
        parallel: one.way.demand.parallel,
        link: one.way.link,
        fits: one.way.fits(),
        verdict: one.verdict.outcome.id(),
        reason: &one.verdict.reason,
        refused: plan.and_then(|plan| plan.refusal.as_deref()).or(one.way.refused.as_deref()),
        memory_bytes: plan.map(Memory::from),
        gpu_memory_bytes: plan.map(|plan| whole(plan.memory)),
        gpu_free_bytes: plan.map(|plan| whole(plan.usable)),
        must_have_bytes: plan.map(|plan| plan.must.into()),
        takes_bytes: plan.map(|plan| whole(plan.takes)),
        recommended_bytes: plan.map(|plan| whole(plan.recommended)),
        kv_bytes_per_token: plan.map(|plan| whole(plan.kv_per_token)),
        max_context: plan.and_then(|plan| plan.max_context),
        max_concurrency: plan.map(|plan| plan.max_concurrency),
        offload: plan.and_then(|plan| plan.offload),
        tokens_per_s: one.way.speed.map(|speed| speed.decode_total.into()),
        tokens_per_s_per_request: one.way.speed.map(|speed| speed.decode.into()),
        prefill_tokens_per_s: one.way.speed.map(|speed| speed.prefill.into()),
        first_token_s: one.way.speed.map(|speed| speed.first_token.into()),
        command: one.command.as_deref(),
        assumed_model: None,
        sources: sources.filter(|source| !source.is_empty()).collect(),
    }
}
