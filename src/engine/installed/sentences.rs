//! What the binaries of a package come to on a GPU, in one sentence.

use warpscope_kernels::Sm;
use warpscope_kernels::image::{Isa, cuda_text};
use warpscope_probes::inspect::binary::{Coverage, Form, Scan};

use super::judged::{Builds, Judged};

/// Targets named before the rest is counted.
const NAMED_TARGETS: usize = 12;
/// Libraries named before the rest is left out.
const NAMED_LIBRARIES: usize = 4;

/// `1 unit of code`, `all 12 units of code`.
fn units(count: u32) -> String {
    match count {
        1 => "the one unit of code".to_owned(),
        _ => format!("all {count} units of code"),
    }
}

/// `sm_80, sm_86, sm_90a and no PTX`.
fn carries(scan: &Scan) -> String {
    let summary = scan.summary();
    let list = |form: Form, from: Vec<String>| {
        let more = from.len().saturating_sub(NAMED_TARGETS);
        let named = from.into_iter().take(NAMED_TARGETS).collect::<Vec<_>>().join(", ");
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        match (named.is_empty(), form) {
            (false, _) => format!("{named}{rest}"),
            (true, Form::Compute) => "no PTX".to_owned(),
            (true, _) => "no machine code".to_owned(),
        }
    };
    let code = list(Form::Sm, summary.cubin.keys().map(ToString::to_string).collect());
    let text = list(Form::Compute, summary.ptx.keys().map(ToString::to_string).collect());
    format!("{code} and {text}")
}

/// Why nothing of a library loads, or next to nothing.
pub(super) fn fails(package: &str, one: &Judged<'_>, device: Sm) -> String {
    match (&one.builds, one.newer) {
        (Builds::NoneFits(all), _) => {
            format!(
                "{package} has no build for the CUDA of its environment: it has builds for {all}"
            )
        }
        (Builds::Depends { serve, all }, _) => format!(
            "{package} has builds for CUDA {all}, and only with {serve} code that runs on {device}; which one is loaded depends on the CUDA of its environment"
        ),
        (Builds::Fits, Some(isa)) if one.loads() == 0 => {
            format!("{} has only PTX for {device}, {}", one.of(package), too_new(isa))
        }
        (Builds::Fits, _) if one.loads() > 0 => {
            format!("{}{}", share(package, one, device), best(one))
        }
        (Builds::Fits, _) if one.alternatives > 1 => format!(
            "none of the {} builds of {} contains code that runs on {device}: it has {}",
            one.alternatives,
            one.of(package),
            carries(one.scan)
        ),
        (Builds::Fits, _) => format!(
            "{} contains no code that runs on {device}: it has {}",
            one.of(package),
            carries(one.scan)
        ),
    }
}

/// Why it is not known how a package does without kernels of its own.
pub(super) fn without(package: &str, one: &Judged<'_>, device: Sm) -> String {
    format!("{}; it computes with torch's operators there", fails(package, one, device))
}

/// `which needs …`, of PTX that the driver does not compile.
fn too_new(isa: Isa) -> String {
    let needs = needed_driver(isa).unwrap_or_else(|| "a newer driver".to_owned());
    format!("of version {isa}, which this driver does not compile: it needs {needs}")
}

/// The driver that compiles PTX of a version.
fn needed_driver(isa: Isa) -> Option<String> {
    Some(format!("a driver of CUDA {} or newer", cuda_text(isa.first_release()?.cuda)))
}

/// `71 of 75 units of code in libphi.so of paddle 2.6 load on sm_86`.
fn share(package: &str, one: &Judged<'_>, device: Sm) -> String {
    let (loads, total) = (one.loads(), one.units.coverage.total());
    let jit = match one.units.coverage.jit {
        0 => String::new(),
        jit => format!(", {jit} of them only once the driver has compiled them"),
    };
    format!("{loads} of {total} units of code in {} load on {device}{jit}", one.of(package))
}

/// `; on sm_80, which it serves best, 4 more do`.
fn best(one: &Judged<'_>) -> String {
    match one.best.filter(|(_, more)| *more > 0) {
        Some((best, more)) => format!("; on {best}, which it serves best, {more} more do"),
        None => String::new(),
    }
}

pub(super) fn partial(
    package: &str,
    main: &Judged<'_>,
    gaps: &[&Judged<'_>],
    device: Sm,
) -> String {
    let (bare, rest): (Vec<&Judged<'_>>, Vec<&Judged<'_>>) =
        gaps.iter().copied().partition(|one| one.loads() == 0);
    let bare: Vec<&str> = bare.iter().map(|one| one.name.as_str()).take(NAMED_LIBRARIES).collect();
    let none = match bare.as_slice() {
        [] => String::new(),
        names => format!("; nothing in {} does", names.join(", ")),
    };
    let others = rest.iter().filter(|one| one.name != main.name).take(NAMED_LIBRARIES);
    let others = others.map(|one| {
        format!("; of {} in {} {} do", one.units.coverage.total(), one.name, one.loads())
    });
    let newer = gaps.iter().filter_map(|one| one.newer).max();
    let newer = newer.map_or_else(String::new, |isa| format!("; there is PTX {}", too_new(isa)));
    let (share, others) = (share(package, main, device), others.collect::<String>());
    format!("{share}{}{none}{others}{newer}", best(main))
}

pub(super) fn works(
    package: &str,
    (coverage, others): (Coverage, u32),
    main: &Judged<'_>,
    (device, driver): (Sm, Option<Isa>),
) -> String {
    let loads = coverage.cubin + coverage.jit;
    let units = match coverage.none {
        0 => format!("{} of {package}", units(loads)),
        _ => format!("{loads} of {} units of code of {package}", coverage.total()),
    };
    let others = match others {
        0 => String::new(),
        count => format!("; {count} more are for other architectures only"),
    };
    let (has, load) = if loads == 1 { ("has", "loads") } else { ("have", "load") };
    if coverage.jit == 0 {
        return format!("{units} {has} machine code for {device}{others}");
    }
    let jit = match coverage.jit {
        1 if loads == 1 => "but only once the driver has compiled it".to_owned(),
        all if all == loads => "but only once the driver has compiled them".to_owned(),
        1 => "one of them only once the driver has compiled it".to_owned(),
        some => format!("{some} of them only once the driver has compiled them"),
    };
    let needs = main
        .scan
        .newest_jit(device, driver)
        .and_then(|isa| Some(format!(" (PTX {isa}: {})", needed_driver(isa)?)));
    format!(
        "{units} {load} on {device}, {jit}, which makes the first launch slow{}{others}",
        needs.unwrap_or_default()
    )
}
