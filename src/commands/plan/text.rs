//! A plan for people: one line, the command, then the other frameworks.

use std::fmt::Write as _;

use warpscope_probes::model::Model;

use super::Planned;
use super::candidate::Candidate;
use super::copies::Copy;
use super::request::{PlanRequest, short};
use crate::commands::answer::text::{Style, not_considered};
use crate::engine::Target;
use crate::engine::plan::{
    Alternative, Estimate, Fits, Offload, Plan, Range, gib, named, parallel, parts, room, span,
};
use crate::text::{markdown as escaped, width};

/// Every group: its best candidate, then a table.
pub(crate) fn text(request: &PlanRequest, planned: &[Planned]) -> String {
    let mut text = not_considered(&request.unheard, request.style);
    for (place, (group, planned)) in request.groups.iter().zip(planned).enumerate() {
        if place > 0 {
            text.push('\n');
        }
        group_text(&mut text, request, group, planned);
    }
    text
}

fn group_text(text: &mut String, request: &PlanRequest, group: &[Target], planned: &Planned) {
    let (style, all) = (request.style, &planned.candidates);
    let Some(best) = all.first() else {
        let name = style.clean(&short(&request.named));
        let _ = match request.demand.kv {
            Some(kv) => writeln!(text, "? none of these frameworks has {}", lacking(kv.word())),
            None if request.queries.is_empty() => {
                writeln!(text, "? no framework known here loads {name} as it is saved")
            }
            None => {
                writeln!(text, "? none of the frameworks asked for loads {name} as it is saved")
            }
        };
        return;
    };
    let _ = writeln!(text, "{}", headline(best, group, style));
    if let Some(missing) = request.model.unfinished() {
        let _ = writeln!(text, "  the model is not whole: {}", style.clean(missing));
    }
    if let Some(name) = assumed(request, best) {
        let name = style.clean(name);
        let _ = writeln!(text, "  assumes a copy named {name}; not known to be published");
    }
    let command = best.command.iter().filter(|_| !best.fails());
    for line in command.flat_map(|command| command.lines()) {
        let _ = writeln!(text, "  {}", style.clean(line));
    }
    notes(text, best, style);
    for copy in &planned.copies {
        instead(text, copy, group, style);
    }
    if request.why {
        explained(text, best, style);
    }
    if all.len() > 1 {
        text.push('\n');
        table(text, all, style);
    }
}

/// What a copy of the model would be called that is planned and not known to be published.
pub(crate) fn assumed<'c>(request: &PlanRequest, one: &'c Candidate) -> Option<&'c str> {
    let named = request.named.display().to_string();
    let is_here = request.named.exists();
    let model = one.question.model.as_deref()?;
    let is_made_up = !is_here && (request.is_usual || model != named);
    Some(model).filter(|model| is_made_up && !Model::is_published_gguf(model))
}

/// `an int8 KV cache; omit --kv-dtype`.
fn lacking(word: &str) -> String {
    let article = if word.starts_with('q') { "a" } else { "an" };
    format!("{article} {word} KV cache; omit --kv-dtype")
}

/// A quantised copy with the command that starts it.
fn instead(text: &mut String, copy: &Copy, group: &[Target], style: Style) {
    let usual = if copy.is_usual { ", not known to be published" } else { "" };
    let (name, head) = (style.clean(&copy.name), headline(&copy.way, group, style));
    let _ = writeln!(text, "  instead {name}{usual}: {head}");
    for line in copy.way.command.iter().flat_map(|command| command.lines()) {
        let _ = writeln!(text, "    {}", style.clean(line));
    }
}

/// `✔ vLLM 0.33.0 on 2×T4, tensor parallel 2, fp16: 9.0 weights + 1.0 KV (8k × 1) + 1.8 CUDA and work space = 11.8 of 15.0 GiB each; 12–17 tokens/s (predicted)`.
fn headline(one: &Candidate, group: &[Target], style: Style) -> String {
    let (mark, name) = (mark(one, style), style.clean(&name(one)));
    let gpus = style.clean(&gpus(group, one.way.gpus));
    let Some(plan) = &one.way.plan else {
        let why = "the model's dimensions or the framework's rules are not known here";
        return format!("{mark} {name} on {gpus}: memory unknown, {why}");
    };
    let speed =
        one.way.speed.filter(|_| !one.fails()).map(|speed| {
            format!("; {} tokens/s (predicted)", span(speed.decode_total, style.ascii))
        });
    let fits = match (one.verdict.outcome.is_bad(), plan.fits) {
        (true, _) => format!(", {}", one.verdict.outcome.words()),
        (_, Fits::Tight) => ", tight".to_owned(),
        (_, Fits::DoesNotFit) => ", does not fit".to_owned(),
        _ => String::new(),
    };
    let (split, memory) = (style.clean(&split(one)), memory(one, plan, style));
    format!("{mark} {name} on {gpus}{split}: {memory}{fits}{}", speed.unwrap_or_default())
}

fn memory(one: &Candidate, plan: &Plan, style: Style) -> String {
    let each = if one.way.gpus > 1 { " each" } else { "" };
    let parts = parts(plan, &one.way.demand, style.ascii);
    match plan.is_held_by_others() {
        true => format!("{parts} of {} GiB free{each}", gib(plan.usable)),
        false => format!("{parts} of {} GiB{each}", gib(plan.memory)),
    }
}

fn mark(one: &Candidate, style: Style) -> String {
    use crate::engine::Outcome;
    let outcome = match () {
        () if one.fails() && !one.verdict.outcome.is_bad() => Outcome::Fails,
        () if one.fails() => one.verdict.outcome,
        () if one.verdict.outcome == Outcome::Unknown => Outcome::Unknown,
        () if one.way.fits() == Fits::Unknown => Outcome::Unknown,
        () if one.way.fits() == Fits::Tight => {
            return style.paint(Outcome::Slow, if style.ascii { "~" } else { "≈" });
        }
        () => one.verdict.outcome,
    };
    style.symbol(outcome)
}

fn name(one: &Candidate) -> String {
    format!("{} {}", one.verdict.framework, one.verdict.version)
}

fn split(one: &Candidate) -> String {
    let split = parallel(one.way.demand.parallel).map(|words| format!(", {words}"));
    let packed = one.way.demand.packed.map_or("", |_| ", quantised while loading");
    format!("{}, {}{packed}", split.unwrap_or_default(), one.verdict.config)
}

/// `2×T4`, `T4 + RTX 3090`.
pub(crate) fn gpus(group: &[Target], used: usize) -> String {
    named(group.iter().take(used.max(1)).map(|gpu| gpu.label.as_str()))
}

/// What stands in the way, and what would help.
fn notes(text: &mut String, one: &Candidate, style: Style) {
    if one.verdict.outcome.is_bad() {
        let _ = writeln!(text, "  {}", style.clean(&one.verdict.reason));
    }
    let Some(plan) = &one.way.plan else { return };
    match (&plan.refusal, &one.way.refused) {
        (Some(refusal), _) => {
            let _ = writeln!(text, "  does not start: {}", style.clean(refusal));
        }
        (None, Some(refused)) => {
            let _ = writeln!(text, "  not every GPU shares each layer: {}", style.clean(refused));
        }
        (None, None) => {}
    }
    if let Some(offload) = plan.offload.filter(|_| plan.refusal.is_none()) {
        let Offload { layers, of, host, is_careful } = offload;
        let kept = match layers == of {
            true => "all but the experts on the GPU".to_owned(),
            false => format!("{layers} of {of} layers on the GPU"),
        };
        let more = if is_careful { "; all of them may fit" } else { "" };
        let _ = writeln!(text, "  {kept}, {} GiB in host memory{more}", gib(host));
    }
    if let (Some(link), false) = (one.way.link, one.fails()) {
        let _ = writeln!(text, "  speed is for GPUs that talk over {}", link.words());
    }
    if let Some(words) = room(plan, &one.way.demand) {
        let _ = writeln!(text, "  {words}");
    }
    if plan.fits != Fits::Fits
        && let Some(way) =
            one.cheaper.first().filter(|way| way.plan.fits < plan.fits || plan.fits == Fits::Tight)
    {
        let _ = writeln!(text, "  would help most: {}", style.clean(&cheaper(way)));
    }
}

fn cheaper(way: &Alternative) -> String {
    let flag = if way.flag.is_empty() { String::new() } else { format!(" ({})", way.flag) };
    let fits = match way.plan.fits {
        Fits::Fits => "then it fits",
        Fits::Tight => "then it is tight",
        _ => "still too large",
    };
    format!("{}{flag}: {} GiB, {fits}", way.title, gib(way.plan.total.mid))
}

/// Every part with its range and source, the three totals, and cheaper ways.
fn explained(text: &mut String, one: &Candidate, style: Style) {
    let Some(plan) = &one.way.plan else { return };
    let mut row = |name: &str, range: Range, source: &str| {
        let (low, mid, high) = (gib(range.low), gib(range.mid), gib(range.high));
        let _ = writeln!(text, "  {name:<16}{mid:>7}  {low:>6} to {high:>6}  {source}");
    };
    let parts: [(&str, Estimate); 6] = [
        ("weights", plan.weights),
        ("KV cache", plan.kv),
        ("work space", plan.activations),
        ("CUDA graphs", plan.graphs),
        ("context", plan.context),
        ("libraries", plan.libraries),
    ];
    for (name, part) in parts {
        row(name, part.bytes, part.source);
    }
    row("total", plan.total, "GiB on the tightest GPU");
    row("must have", plan.must, "for one request");
    row("takes", Range::exact(plan.takes), "by default, needed or not");
    row("recommended", Range::exact(plan.recommended), "");
    row("left for KV", plan.room, "");
    let _ = writeln!(text, "  {} bytes of KV a token on each GPU", plan.kv_per_token.round());
    let _ = writeln!(text, "  rules of memory: {}", style.clean(one.source));
    for way in &one.cheaper {
        let _ = writeln!(text, "  {}", style.clean(&cheaper(way)));
    }
}

fn cells(one: &Candidate, style: Style) -> [String; 5] {
    let plan = one.way.plan.as_ref();
    let parallel = one.way.demand.parallel;
    let split = match (parallel.tp, parallel.pp) {
        (1, 1) => one.way.gpus.to_string(),
        (tp, 1) => format!("tp {tp}"),
        (tp, pp) => format!("tp {tp} pp {pp}"),
    };
    let memory = plan.map_or("?".to_owned(), |plan| gib(plan.total.mid));
    let speed = one.way.speed.filter(|_| !one.fails());
    let speed = speed.map_or("-".to_owned(), |speed| span(speed.decode_total, style.ascii));
    let state = match (one.verdict.outcome.is_bad(), one.way.fits()) {
        (true, _) => one.verdict.outcome.words().to_owned(),
        (_, Fits::Fits) => "fits".to_owned(),
        (_, Fits::Tight) => "tight".to_owned(),
        (_, Fits::DoesNotFit) => "does not fit".to_owned(),
        (_, Fits::Unknown) => "unknown".to_owned(),
    };
    [format!("{} · {}", name(one), one.verdict.config), split, memory, speed, state]
}

const HEADS: [&str; 5] = ["Framework", "GPUs", "GiB", "tokens/s", ""];

fn table(text: &mut String, all: &[Candidate], style: Style) {
    let clean = |one| cells(one, style).map(|cell| style.clean(&cell));
    let (heads, rows) = (HEADS.map(str::to_owned), all.iter().map(clean).collect::<Vec<_>>());
    let widest = |at: usize| rows.iter().chain([&heads]).map(|row| width(&row[at])).max();
    let widths: [usize; 5] = std::array::from_fn(|at| widest(at).unwrap_or(0));
    let mut line = |mark: &str, row: &[String; 5]| {
        let cells = row.iter().zip(widths);
        let cells = cells.map(|(cell, wide)| format!("{cell}{}", " ".repeat(wide - width(cell))));
        let _ = writeln!(text, "{mark} {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    };
    line(" ", &heads);
    for (one, row) in all.iter().zip(&rows) {
        line(&mark(one, style), row);
    }
}

/// The same as a table for an issue.
pub(crate) fn markdown(request: &PlanRequest, planned: &[Planned]) -> String {
    let mut text = not_considered(&request.unheard, request.style);
    for (group, planned) in request.groups.iter().zip(planned) {
        let candidates = &planned.candidates;
        let title = format!("{} on {}", short(&request.named), gpus(group, group.len()));
        let _ = writeln!(text, "{}\n", escaped(&title));
        let _ = writeln!(text, "| Framework | GPUs | GiB | tokens/s | |\n|{}", " --- |".repeat(5));
        for one in candidates {
            let row = cells(one, request.style).map(|cell| escaped(&cell).to_string());
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        if let Some(command) =
            candidates.first().filter(|one| !one.fails()).and_then(|one| one.command.as_ref())
        {
            let _ = writeln!(text, "\n    {}", command.replace('\n', "\n    "));
        }
        if let Some(name) = candidates.first().and_then(|one| assumed(request, one)) {
            let _ = writeln!(
                text,
                "\nAssumes a copy named {}; not known to be published.",
                escaped(name)
            );
        }
    }
    text
}
