//! More about the selected line of a GPU: the text a path writes, how a kernel ran, what headroom means.

use warpscope_kernels::gpu::Route;

use super::{decoded, lines};
use crate::features::bench::Bench;
use crate::features::bench::device::{Device, Line};
use crate::features::bench::results::{Dated, Results};
use crate::widgets::theme::Role;
use crate::widgets::{Card, Look, Surface, format};
use crate::worker::precision::{Precision, label};
use crate::worker::{KernelReport, RangeReport};

/// A line of text: what, and about it.
type Said = (&'static str, String);

/// Draws more about the selected line.
pub(crate) fn render(state: &Bench, bench: &Device, on: Surface<'_>) {
    match bench.lines().get(state.cursor.at) {
        Some(Line::Path(profile, way)) => path(&bench.results, (profile, way), on),
        Some(Line::Kernel(report)) => {
            let title = lines::title(&report.value.kernel).unwrap_or_default();
            let said = kernel(&bench.results, report, on.look);
            list((&report.value.kernel, title), &said, on);
        }
        Some(Line::Range(report)) => {
            let title = "how far it reaches before it leaves the finite numbers";
            list((&report.value.path, title), &headroom(&report.value), on);
        }
        None => {}
    }
}

/// The tape of the path, and that under another profile where both have room.
fn path(results: &Results, (profile, way): (&'static str, Precision), on: Surface<'_>) {
    let both = on.area.height >= 6;
    let pair =
        if decoded::PROFILES.contains(&profile) { decoded::PROFILES } else { ["clean", profile] };
    let wanted = pair.iter().filter(|one| both || **one == profile);
    let shown: Vec<_> = wanted.filter_map(|one| results.numeric(one, way)).collect();
    if shown.is_empty() {
        let waits = match results.absent(way) {
            Some(why) => format!("It is not run: {why}."),
            None => "The text it writes appears here once it has been measured.".to_owned(),
        };
        return list((label(way), way.title), &[("", waits)], on);
    }
    decoded::render(&shown, on);
}

fn list((name, title): (&str, &str), said: &[Said], mut on: Surface<'_>) {
    let look = on.look;
    let gap = if title.is_empty() { "" } else { "  " };
    let head = format!("{name}{gap}");
    let left = [look.piece(&head, Role::Title), look.piece(title, Role::Muted)];
    on.frame(Card::new(look).left(&left));
    for (row, (what, text)) in on.area.rows().zip(said) {
        let pieces = [look.piece(what, Role::Muted), look.piece(text, Role::Text)];
        on.at(row).pen().pieces(&pieces);
    }
}

fn kernel(results: &Results, report: &Dated<KernelReport>, look: Look<'_>) -> Vec<Said> {
    let one = &report.value;
    let route = match &one.route {
        Route::Native { by } => by.clone(),
        Route::Emulated { by } => format!("emulated by {by}; no rate of the format"),
        Route::Absent { why } => format!("not on this GPU: {why}"),
    };
    // The figure and what speaks against it come first: small screens have two rows.
    let mut said = Vec::new();
    if let Some(figure) = results.figure(report) {
        let share =
            figure.share.map(|share| format!(", {} of its measured ceiling", format::share(share)));
        let clock = one.sm_mhz.map(|mhz| format!(", at {}", format::megahertz(mhz)));
        said.push((
            "reached  ",
            format!(
                "{}, spread {:.1}% of {} samples at {}{}{}",
                lines::rate(&one.kernel, &figure, one.l2_resident),
                figure.spread * 100.0,
                one.samples_ns.len(),
                lines::size(one.shape, look.glyphs.times),
                share.unwrap_or_default(),
                clock.unwrap_or_default(),
            ),
        ));
        said.extend(one.clocks.words().map(|words| ("clock    ", words)));
    }
    said.push(("runs by  ", route));
    said.extend(one.variant.iter().map(|name| ("variant  ", name.clone())));
    if let Some(checks) = results.checks.get(&one.kernel) {
        let wrong = checks.value.first_wrong.as_ref();
        let wrong = wrong.map_or(String::new(), |(case, why)| format!("; {case}: {why}"));
        let cases = format!("{} right, {} wrong{wrong}", checks.value.right, checks.value.wrong);
        said.push(("cases    ", cases));
    }
    said.extend(image(results, one).map(|image| ("image    ", image)));
    said.extend(one.output_hash.iter().map(|hash| ("outputs  ", format!("hash {hash}"))));
    said
}

/// Which image ran, and its hash.
fn image(results: &Results, one: &KernelReport) -> Option<String> {
    let mut images = results.holding.iter().flat_map(|holding| &holding.images);
    let how = images.find(|image| one.family.as_ref() == Some(&image.0));
    let hash: String = one.image.chars().take(12).collect();
    let hash = (!hash.is_empty()).then(|| format!("sha256 {hash}"));
    let said: Vec<String> = how.map(|image| image.1.clone()).into_iter().chain(hash).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

fn headroom(report: &RangeReport) -> Vec<Said> {
    let mut said = vec![("amplitude  ", lines::headroom(report).0)];
    if report.first_bad_log2.is_some_and(|bad| bad <= 16) {
        let text = "activations of GLM-4 reach 68 706, which is more than 2^16 (llama.cpp #13607)";
        said.push(("so         ", text.to_owned()));
    }
    let sums = match report.survives_cancelling {
        Some(true) => "sums that pass 65 504 on the way to a small result come out right",
        Some(false) => {
            "sums that pass 65 504 on the way to a small result come out wrong: fp16 accumulation"
        }
        None => "sums that cancel were not tried",
    };
    said.push(("cancelling ", sums.to_owned()));
    said
}

#[cfg(test)]
mod tests {
    use crate::worker::WorkerEvent;

    use super::*;

    fn event(line: &str) -> WorkerEvent {
        serde_json::from_str(line).expect("well-formed")
    }

    /// Kernels of one name may lie in several images: `w4.f16` in `w4`, `w4.gemm.f16` in `w4_gemm`, and `norm.f32` in `elementwise`.
    #[test]
    fn the_image_is_that_of_the_family_which_ran() {
        let WorkerEvent::Holding(holding) = event(
            r#"{"event":"holding","device":{"name":"synthetic","sm":"9.0","sms":132,"shared_per_block":1,
            "shared_per_block_optin":1,"l2_bytes":1,"memory_bytes":1,"driver_cuda":12080,"simulated":false},
            "uuid":"GPU-1","context_bytes":null,"arena_bytes":0,"arena_cap_bytes":0,
            "images":[["w4","cubin sm_80"],["w4_gemm","cubin sm_90a"]]}"#,
        ) else {
            panic!("another event")
        };
        let results = Results { holding: Some(holding), ..Results::default() };
        let told = |kernel: &str, family: &str, image: &str| {
            let line = format!(
                r#"{{"event":"kernel","kernel":"{kernel}","route":{{"route":"native","by":"mma"}},"shape":{{"m":1,"n":8,"k":8}},
                "samples_ns":[],"bytes":1.0,"flops":1.0,"limiter":"memory","l2_resident":false,"output_hash":null,
                "family":{family},"image":"{image}","sm_mhz":null}}"#
            );
            let WorkerEvent::Kernel(report) = event(&line) else { panic!("another event") };
            super::image(&results, &report)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            told("w4.f16", r#""w4""#, "0123456789abcdef"),
            some("cubin sm_80, sha256 0123456789ab")
        );
        assert_eq!(told("w4.gemm.f16", r#""w4_gemm""#, "f0"), some("cubin sm_90a, sha256 f0"));
        assert_eq!(told("norm.f32", r#""elementwise""#, "e1"), some("sha256 e1"));
        assert_eq!(told("w4.f16", "null", ""), None, "nothing ran");
    }
}
