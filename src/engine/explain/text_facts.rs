//! Facts the text states by itself, and what follows from them.

use std::sync::LazyLock;

use regex_lite::Regex;
use warpscope_kernels::Sm;
use warpscope_probes::catalogue::Catalogue;

use super::fact::{Facts, Origin};
use super::matching::Hit;
use super::reader::Digest;
use super::signatures::{Owner, Signatures};

/// What a text says about itself.
pub(super) fn stated(digest: &Digest, hits: &[Hit]) -> Facts {
    let signatures = Signatures::builtin();
    let mut facts = Facts::default();
    for hit in hits {
        let Owner::Stated(at) = hit.owner else { continue };
        let value = hit.groups.iter().find(|(name, _)| name == "v");
        if let Some((_, value)) = value {
            facts.state(&signatures.base.stated[at].name, value, Origin::Text);
        }
    }
    if let Some((name, cc)) = named_gpu(digest) {
        facts.state("gpu", &name, Origin::Text);
        facts.count("cc", cc, Origin::Text);
    }
    facts
}

/// Names of GPUs as logs write them.
static GPU: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"(?i)\b(?:NVIDIA )?((?:GeForce )?(?:RTX|GTX)(?: PRO)? ?\d{3,4}(?: (?:Ti|Super|Ada|Blackwell|D)\b)*|(?:Tesla )?(?:P100|P40|P4|V100|T4|K80|M40|M60)\b|(?:A100|A800|A40|A30|A10G?|A16|A2|L4|L40S?|H100|H200|H800|H20|GH200|B200|B300|GB200|GB300|GB10)\b|RTX A\d{4}|Quadro \w+ ?\d{3,4}|Jetson[ \w]{0,20}(?:Orin|Xavier|Thor|Nano|TX2)|TITAN (?:V|RTX|Xp|X)\b)";
    Regex::new(name).expect("a valid expression")
});

/// The first GPU of the catalogue that the text names.
fn named_gpu(digest: &Digest) -> Option<(String, f64)> {
    let names = digest.lines.iter().flat_map(|line| GPU.captures_iter(&line.text));
    names.filter_map(|found| found.get(1).map(|name| name.as_str().to_owned())).take(40).find_map(
        |name| {
            let part = Catalogue::load().find(name.trim()).ok()?;
            let sm = part.sm;
            Some((
                part.name.clone(),
                f64::from(u32::from(sm.major) * 10 + u32::from(sm.minor)) / 10.0,
            ))
        },
    )
}

/// Adds what follows from the facts.
pub(super) fn derive(facts: &mut Facts) {
    look_up(facts);
    compilers(facts);
    architectures(facts);
    memory(facts);
    toolkits(facts);
    for name in ["cc", "tool_cc"] {
        if let Some(cc) = facts.number(name) {
            let origin = facts.get(name).map_or(Origin::Text, |fact| fact.origin);
            facts.state(&format!("{name}_plain"), &format!("{:.0}", cc * 10.0), origin);
        }
    }
}

fn look_up(facts: &mut Facts) {
    for lookup in &Signatures::builtin().base.lookups {
        let Some(fact) = facts.get(&lookup.from) else { continue };
        let origin = fact.origin;
        if let Some(value) = lookup.row(&fact.shown) {
            facts.state(&lookup.to, value, origin);
        }
    }
}

/// The CUDA releases that compile for the compute capability a compiler was asked for.
fn compilers(facts: &mut Facts) {
    let Some(fact) = facts.get("tool_cc") else { return };
    let origin = fact.origin;
    let sm = fact
        .shown
        .split_once('.')
        .and_then(|(major, minor)| Some(Sm::new(major.parse().ok()?, minor.parse().ok()?)));
    let Some(arch) = sm.and_then(|sm| Catalogue::load().arch(sm)) else { return };
    facts.state("first_cuda", &arch.first_toolkit, origin);
    if let Some(last) = &arch.last_toolkit {
        facts.state("last_cuda", last, origin);
    }
}

/// Compute capabilities of GPUs beside a processor, which take only code made for them.
const TEGRA: [f64; 5] = [5.3, 6.2, 7.2, 8.7, 11.0];

fn architectures(facts: &mut Facts) {
    let Some(list) = facts.get("arch_list") else { return };
    let (list, origin) = (list.list.clone(), list.origin);
    if let (Some(least), Some(most)) = (list.first(), list.last()) {
        facts.count("arch_min", *least, origin);
        facts.count("arch_max", *most, origin);
    }
    if let Some(cc) = facts.number("cc") {
        let is_same = |built: f64| (built - cc).abs() < 0.01;
        let runs = |built: &f64| {
            is_same(*built) || (!TEGRA.contains(&cc) && built.floor() == cc.floor() && *built <= cc)
        };
        facts.count("arch_runs", f64::from(u8::from(list.iter().any(runs))), origin);
    }
}

/// Majors of CUDA that a build is ahead of the driver: within one, drivers run newer minors.
fn toolkits(facts: &mut Facts) {
    let Some((wanted, driver)) = facts.number("wanted_cuda").zip(facts.number("driver_cuda"))
    else {
        return;
    };
    let ahead = (wanted.floor() - driver.floor()).max(0.0);
    let origin = facts.get("driver_cuda").map_or(Origin::Text, |fact| fact.origin);
    facts.count("cuda_majors_ahead", ahead, origin);
}

/// Shares of a GPU that an allocator keeps unused before its pieces are to blame, alone and with what is free: a little is kept always. Chosen
/// between reports with a settled cause: 3.8% kept was not to blame, 4.6% was.
const FRAGMENTED: (f64, f64) = (0.04, 0.25);

fn memory(facts: &mut Facts) {
    let number = |facts: &Facts, name: &str| facts.number(name);
    let held = ["in_use_bytes", "reserved_bytes", "allocated_bytes"];
    // PyTorch inside a container names its own process like another one; what it has reserved it states in two parts.
    let reserved = number(facts, "allocated_bytes").zip(number(facts, "unallocated_bytes"));
    let reserved = reserved.map(|(allocated, spare)| allocated + spare);
    let stated = held.iter().filter_map(|name| number(facts, name));
    let own = stated.chain(reserved).reduce(f64::max);
    let total = number(facts, "total_bytes").filter(|total| *total > 0.0);
    let free = number(facts, "free_bytes");
    if let (Some(total), Some(free)) = (total, number(facts, "start_free_bytes")) {
        facts.count("others_bytes", (total - free).max(0.0), Origin::Text);
    }
    if let (Some(total), Some(free), Some(own)) = (total, free, own) {
        let others = (total - free - own).max(0.0);
        facts.count("others_bytes", others, Origin::Text);
        facts.count("free_without_others_bytes", free + others, Origin::Text);
    }
    if let (Some(total), Some(others)) = (total, number(facts, "others_bytes")) {
        facts.count("others_pct", others / total * 100.0, Origin::Text);
    }
    spare(facts, total, free);
    if let (Some(total), Some(own)) = (total, own) {
        let used = number(facts, "allocated_bytes").unwrap_or(own);
        facts.count("own_pct", used / total * 100.0, Origin::Text);
    }
    if let (Some(total), Some(free)) = (total, free) {
        facts.count("free_pct", free / total * 100.0, Origin::Text);
    }
    if let (Some(wanted), Some(free)) = (number(facts, "wanted_bytes"), free) {
        facts.count("short_bytes", (wanted - free).max(0.0), Origin::Text);
    }
}

/// What an allocator has reserved and does not use.
fn spare(facts: &mut Facts, total: Option<f64>, free: Option<f64>) {
    let number = |facts: &Facts, name: &str| facts.number(name);
    let spare = number(facts, "unallocated_bytes")
        .or_else(|| Some(number(facts, "reserved_bytes")? - number(facts, "allocated_bytes")?));
    if let Some(spare) = spare.map(|spare| spare.max(0.0)) {
        facts.count("spare_bytes", spare, Origin::Text);
        if let Some(total) = total {
            facts.count("spare_pct", spare / total * 100.0, Origin::Text);
            pieces(facts, spare, free.unwrap_or_default(), total);
        }
        if let Some(reserved) = number(facts, "reserved_bytes").filter(|bytes| *bytes > 0.0) {
            facts.count("spare_of_reserved_pct", spare / reserved * 100.0, Origin::Text);
        }
    }
}

/// What would do if it were in one piece.
fn pieces(facts: &mut Facts, spare: f64, free: f64, total: f64) {
    match spare / total {
        share if share > FRAGMENTED.1 => facts.count("pieces_bytes", free + spare, Origin::Text),
        share if share > FRAGMENTED.0 => facts.count("pieces_bytes", spare, Origin::Text),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_hold_is_what_is_neither_free_nor_own() {
        let mut facts = Facts::default();
        for (name, value) in
            [("total_bytes", "16 GiB"), ("free_bytes", "1 GiB"), ("in_use_bytes", "5 GiB")]
        {
            facts.state(name, value, Origin::Text);
        }
        derive(&mut facts);
        assert_eq!(facts.number("others_bytes"), Some(10.0 * 2f64.powi(30)));
    }

    #[test]
    fn what_pytorch_reserved_is_its_own_whoever_is_named() {
        let mut facts = Facts::default();
        for (name, value) in [
            ("total_bytes", "79 GiB"),
            ("free_bytes", "26 GiB"),
            ("allocated_bytes", "12 GiB"),
            ("unallocated_bytes", "40 GiB"),
        ] {
            facts.state(name, value, Origin::Text);
        }
        derive(&mut facts);
        assert_eq!(facts.number("others_bytes"), Some(2f64.powi(30)));
    }

    #[test]
    fn an_image_of_the_same_major_and_an_older_minor_runs() {
        for (cc, runs) in [("8.6", 1.0), ("6.1", 0.0), ("8.7", 0.0), ("8.9", 1.0), ("12.0", 0.0)] {
            let mut facts = Facts::default();
            facts.state("arch_list", "sm_70 sm_80 sm_90", Origin::Text);
            facts.state("cc", cc, Origin::Text);
            derive(&mut facts);
            assert_eq!(facts.number("arch_runs"), Some(runs), "{cc}");
        }
    }
}
