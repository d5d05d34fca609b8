use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::{Gpu, Presence, Vitals};
use warpscope_probes::process::Visibility;
use warpscope_probes::{Absence, Frame, Notice, Origin, Severity};

use super::facts::Facts;
use super::installed::{Here, binaries, cuda, environments};
use super::probed::probed;
use super::{Check, Finding, Outcome};
use crate::commands::cli::speaks_utf8;
use crate::config::ConfigPath;
use crate::io::machine::kernel_log;

/// Every check, in the order a person would look.
pub(crate) const CHECKS: &[Check] = &[
    Check { id: "source", title: "source", run: source },
    Check { id: "driver.state", title: "driver", run: |facts| with_frame(facts, driver) },
    Check { id: "gpu.found", title: "GPUs", run: |facts| with_frame(facts, gpus) },
    Check { id: "gpu.suspended", title: "asleep", run: |facts| with_frame(facts, suspended) },
    Check { id: "gpu.xid", title: "kernel log", run: |facts| with_frame(facts, xids) },
    Check { id: "gpu.denied", title: "permission", run: |facts| with_frame(facts, denied) },
    Check { id: "gpu.late", title: "in time", run: |facts| with_frame(facts, late) },
    Check { id: "host.container", title: "container", run: |facts| with_frame(facts, container) },
    Check { id: "host.cpu", title: "CPU", run: |facts| with_frame(facts, cpu) },
    Check { id: "notices", title: "notices", run: |facts| with_frame(facts, notices) },
    Check {
        id: "inspect.environments",
        title: "environments",
        run: |facts| with_here(facts, environments),
    },
    Check { id: "inspect.binaries", title: "binaries", run: |facts| with_here(facts, binaries) },
    Check { id: "inspect.cuda", title: "CUDA", run: |facts| with_here(facts, cuda) },
    Check { id: "probes", title: "probes", run: |facts| with_here(facts, probed) },
    Check { id: "errors", title: "would fail", run: would_fail },
    Check { id: "terminal.kind", title: "terminal", run: terminal },
    Check { id: "terminal.text", title: "text", run: locale },
    Check { id: "config.file", title: "configuration", run: config },
    Check { id: "config.layers", title: "changed", run: layers },
];

pub(crate) fn finding(
    outcome: Outcome,
    found: impl Into<String>,
    remedy: impl Into<String>,
) -> Finding {
    Finding { outcome, found: found.into(), remedy: remedy.into() }
}

pub(crate) fn warn(found: impl Into<String>, remedy: impl Into<String>) -> Finding {
    finding(Outcome::Warn, found, remedy)
}

pub(crate) fn pass(found: impl Into<String>) -> Finding {
    finding(Outcome::Pass, found, "")
}

pub(crate) fn skip(why: impl Into<String>) -> Finding {
    finding(Outcome::Skip, why, "")
}

fn with_frame(facts: &Facts, check: fn(&Frame) -> Finding) -> Finding {
    match &facts.frame {
        Ok(frame) => check(frame),
        Err(_) => skip("nothing was read; see the first check"),
    }
}

fn with_here(facts: &Facts, check: fn(&Here) -> Finding) -> Finding {
    match &facts.installed {
        Ok(here) => check(here),
        Err(why) => skip(*why),
    }
}

fn source(facts: &Facts) -> Finding {
    match &facts.frame {
        Ok(frame) => match &frame.origin {
            Origin::Local => pass("this machine"),
            Origin::Replay { file, .. } => pass(format!("the recording {file}")),
            Origin::Remote { host } => pass(host.clone()),
        },
        Err(why) => finding(Outcome::Fail, why.clone(), ""),
    }
}

fn driver(frame: &Frame) -> Finding {
    let versions = &frame.driver.versions;
    let version = |reading: &warpscope_probes::Reading<String>| {
        reading.last().cloned().unwrap_or_else(|| "unknown".to_owned())
    };
    let outcome = match frame.driver.status {
        DriverState::Ready => {
            let (driver, cuda) = (version(&versions.driver), version(&versions.cuda));
            return pass(format!("version {driver}, CUDA up to {cuda}"));
        }
        DriverState::NoDevice | DriverState::AllSuspended => Outcome::Warn,
        _ => Outcome::Fail,
    };
    let notice = frame.notices.iter().find(|notice| notice.id.starts_with("driver."));
    match notice {
        Some(notice) => finding(outcome, &notice.what, &notice.remedy),
        None => finding(outcome, format!("does not answer: {:?}", frame.driver.status), ""),
    }
}

fn real(frame: &Frame) -> impl Iterator<Item = &Gpu> {
    frame.gpus.iter().filter(|gpu| gpu.presence != Presence::WhatIf)
}

fn label(gpu: &Gpu) -> String {
    let name = gpu.identity.name.last().map_or("unnamed", String::as_str);
    let bus = gpu.identity.pci_bus_id.last().map(|bus| format!(" at {bus}")).unwrap_or_default();
    format!("{} {name}{bus}", gpu.index)
}

fn labels<'a>(gpus: impl Iterator<Item = &'a Gpu>) -> Vec<String> {
    gpus.map(label).collect()
}

fn gpus(frame: &Frame) -> Finding {
    let lost = labels(real(frame).filter(|gpu| gpu.presence == Presence::Lost));
    let all = labels(real(frame));
    if !lost.is_empty() {
        return finding(
            Outcome::Fail,
            format!("lost: {}", lost.join(", ")),
            "check the kernel log (dmesg) for Xid messages; the device needs a reset or a reboot",
        );
    }
    if all.is_empty() {
        return warn("no NVIDIA GPU was found", "show any GPU as what-if: warpscope --gpu T4");
    }
    pass(all.join("\n"))
}

fn suspended(frame: &Frame) -> Finding {
    let asleep = labels(real(frame).filter(|gpu| gpu.presence == Presence::Suspended)).join(", ");
    if asleep.is_empty() {
        return pass_of_gpus(frame, "none");
    }
    warn(format!("{asleep}; not woken"), "start anything that uses it, and its values appear")
}

/// Good news of GPUs, where there are any.
fn pass_of_gpus(frame: &Frame, found: &str) -> Finding {
    if real(frame).next().is_some() { pass(found) } else { skip("no GPU") }
}

/// Labels of the readings that are absent for this reason, over all GPUs, each once.
fn absent(frame: &Frame, why: fn(&Absence) -> bool) -> Vec<&'static str> {
    let is = |field: &&warpscope_probes::Field<Vitals>| {
        real(frame).any(|gpu| (field.text)(&gpu.vitals).is_err_and(|absence| why(&absence)))
    };
    Vitals::FIELDS.iter().filter(is).map(|field| field.label).collect()
}

fn denied(frame: &Frame) -> Finding {
    let denied = absent(frame, |absence| *absence == Absence::Denied).join(", ");
    if denied.is_empty() {
        return pass_of_gpus(frame, "every value may be read");
    }
    warn(
        format!("may not be read: {denied}"),
        "some values need root or the profiling permission (NVreg_RestrictProfilingToAdminUsers=0)",
    )
}

fn late(frame: &Frame) -> Finding {
    let late = |gpu: &&Gpu| {
        let vitals = &gpu.vitals;
        vitals.util_gpu_pct.is_late() || vitals.temperature_c.is_late() || vitals.power_w.is_late()
    };
    let late = labels(real(frame).filter(late)).join(", ");
    if late.is_empty() {
        return pass_of_gpus(frame, "the driver answers in time");
    }
    warn(
        format!("late: {late}"),
        "the driver hangs or is busy; with persistence mode off, the first response takes seconds",
    )
}

fn container(frame: &Frame) -> Finding {
    let outside = |process: &&warpscope_probes::process::Process| {
        process.visibility == Visibility::OtherNamespace
    };
    let outside = frame.processes.iter().filter(outside).count();
    let kind = frame.host.machine.container.last();
    let place =
        kind.map_or("not in a container that shows".to_owned(), |kind| format!("in {kind}"));
    if outside == 0 {
        return pass(place);
    }
    warn(
        format!("{place}; {outside} GPU processes live outside this pid namespace"),
        "share the host's pid namespace (--pid=host) to see who they are",
    )
}

fn cpu(frame: &Frame) -> Finding {
    let features = &frame.host.cpu_features;
    let here: Vec<_> =
        features.iter().filter(|one| one.present).map(|one| one.id.as_str()).collect();
    let name = frame.host.machine.cpu_name.last().map_or("unnamed", String::as_str);
    match (features.is_empty(), here.is_empty()) {
        (true, _) => skip(format!("{name}; instruction sets not known")),
        (false, true) => warn(
            format!("{name}; none of the fast instruction sets"),
            "the benchmark uses generic code on this CPU",
        ),
        (false, false) => pass(format!("{name}; {}", here.join(" "))),
    }
}

/// What was noticed besides the driver.
fn notices(frame: &Frame) -> Finding {
    let others: Vec<&Notice> =
        frame.notices.iter().filter(|notice| !notice.id.starts_with("driver.")).collect();
    let worst = others.iter().map(|notice| notice.severity).max();
    let outcome = match worst {
        None | Some(Severity::Info) => Outcome::Pass,
        Some(Severity::Warning) => Outcome::Warn,
        Some(Severity::Error) => Outcome::Fail,
    };
    let lines = |pick: fn(&Notice) -> &str| {
        let lines = others.iter().map(|notice| pick(notice)).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    };
    match worst {
        None => pass("none"),
        Some(_) => finding(outcome, lines(|notice| &notice.what), lines(|notice| &notice.remedy)),
    }
}

/// Xid errors in the kernel's log.
fn xids(frame: &Frame) -> Finding {
    if frame.origin != Origin::Local {
        return skip("not read: these GPUs come from a recording");
    }
    if real(frame).next().is_none() {
        return skip("no GPU");
    }
    let all = match kernel_log::xids() {
        Ok(all) => all,
        Err(why) => return skip(format!("not readable ({why}); see: sudo dmesg | grep -i xid")),
    };
    let newest = all.iter().rev().find(|one| one.is_hardware());
    let hardware = all.iter().filter(|one| one.is_hardware()).count();
    match newest.or(all.last()) {
        None => pass("no Xid error since it begins"),
        Some(one) if one.is_hardware() => finding(
            if one.is_recent() { Outcome::Fail } else { Outcome::Warn },
            format!("{hardware} of {} Xid errors: {}", all.len(), one.words()),
            "the GPU, its power, slot or driver fails, not a program: see docs.nvidia.com/deploy/xid-errors for the number",
        ),
        Some(one) => pass(format!(
            "{} Xid errors, all caused by programs; the newest: {}",
            all.len(),
            one.words()
        )),
    }
}

/// Errors that programs will run into here, in the words with which `explain` tells their causes.
fn would_fail(facts: &Facts) -> Finding {
    let problems = match &facts.foreseen {
        Ok(problems) => problems,
        Err(why) => return skip(*why),
    };
    if problems.is_empty() {
        let fine = |frame| pass_of_gpus(frame, "nothing that shows before a program runs");
        return facts.frame.as_ref().map_or_else(|_| skip("no GPU"), fine);
    }
    let causes: Vec<&str> = problems.iter().map(|problem| problem.cause.as_str()).collect();
    let fixes: Vec<&str> =
        problems.iter().filter_map(|problem| problem.fix.first()).map(String::as_str).collect();
    warn(causes.join("\n"), fixes.join("\n"))
}

fn terminal(facts: &Facts) -> Finding {
    let terminal = &facts.terminal;
    if !terminal.is_terminal {
        return skip("standard output is not a terminal");
    }
    let size = terminal.size.map_or("size unknown".to_owned(), |(c, l)| format!("{c}x{l}"));
    let term = terminal.term.as_deref().unwrap_or("");
    let colors = match terminal.colorterm.as_deref() {
        Some("truecolor" | "24bit") => "24-bit colour",
        _ if term.contains("256color") => "256 colours",
        _ => "16 colours",
    };
    match term {
        "" | "dumb" => warn(
            format!("TERM is {}, {size}", if term.is_empty() { "not set" } else { term }),
            "set TERM to the type of the terminal, such as xterm-256color",
        ),
        _ => pass(format!("{term}, {size}, {colors}")),
    }
}

fn locale(facts: &Facts) -> Finding {
    let locale = facts.terminal.locale.as_deref();
    match locale.unwrap_or("no locale is set") {
        locale_or_none if speaks_utf8(locale) => pass(format!("UTF-8 ({locale_or_none})")),
        other => warn(
            format!("locale is {other}, so only ASCII is drawn"),
            "lines and symbols need UTF-8: set LANG=C.UTF-8",
        ),
    }
}

fn config(facts: &Facts) -> Finding {
    let path = facts.config.path.path().map(|path| path.display().to_string()).unwrap_or_default();
    match (&facts.config.settings, &facts.config.path) {
        (Err(why), _) => finding(
            Outcome::Fail,
            why,
            "`warpscope config sample` prints every key with its default",
        ),
        (Ok(_), ConfigPath::Nowhere) => pass("none: neither XDG_CONFIG_HOME nor HOME is set"),
        (Ok(None), _) => pass(format!("none at {path}; defaults are used")),
        (Ok(Some(_)), _) => pass(path),
    }
}

fn layers(facts: &Facts) -> Finding {
    let line = |(name, value, layer): &(_, String, _)| format!("{name} = {value} ({layer})");
    let lines: Vec<_> = facts.changed.iter().map(line).collect();
    pass(if lines.is_empty() {
        "nothing: every option has its default".to_owned()
    } else {
        lines.join("\n")
    })
}

#[cfg(test)]
mod tests {
    use warpscope_probes::Reading;

    use super::super::facts::Terminal;
    use super::*;
    use crate::config::{Config, Layer};

    fn facts() -> Facts {
        let terminal = Terminal {
            is_terminal: true,
            size: Some((80, 24)),
            term: Some("xterm-256color".into()),
            colorterm: None,
            locale: Some("en_GB.UTF-8".into()),
        };
        let config = Config { path: ConfigPath::Nowhere, settings: Ok(None) };
        let installed = Err("not looked at");
        let frame = Ok(Frame::default());
        let foreseen = Ok(vec![]);
        Facts { frame, terminal, config, installed, foreseen, changed: vec![], secrets: vec![] }
    }

    fn outcome(facts: &Facts, id: &str) -> Outcome {
        let check = CHECKS.iter().find(|check| check.id == id).expect("a check");
        (check.run)(facts).outcome
    }

    fn frame(facts: &mut Facts) -> &mut Frame {
        facts.frame.as_mut().expect("a frame")
    }

    #[test]
    fn ids_stand_once_and_every_check_says_something_about_nothing() {
        for check in CHECKS {
            assert_eq!(CHECKS.iter().filter(|other| other.id == check.id).count(), 1);
            assert!(!(check.run)(&facts()).found.is_empty(), "{}", check.id);
        }
    }

    #[test]
    fn a_driver_that_does_not_answer_fails_and_one_without_devices_warns() {
        let mut facts = facts();
        for (state, want) in [
            (DriverState::Ready, Outcome::Pass),
            (DriverState::LibraryMissing, Outcome::Fail),
            (DriverState::NoPermission, Outcome::Fail),
            (DriverState::NoDevice, Outcome::Warn),
        ] {
            frame(&mut facts).driver.status = state;
            assert_eq!(outcome(&facts, "driver.state"), want);
        }
    }

    #[test]
    fn devices_are_judged_by_their_presence_and_readings() {
        let mut facts = facts();
        assert_eq!(outcome(&facts, "gpu.found"), Outcome::Warn);
        assert_eq!(outcome(&facts, "gpu.denied"), Outcome::Skip);
        frame(&mut facts).gpus = vec![Gpu { presence: Presence::WhatIf, ..Gpu::default() }];
        assert_eq!(outcome(&facts, "gpu.found"), Outcome::Warn);
        let mut gpu = Gpu { presence: Presence::Present, ..Gpu::default() };
        gpu.vitals.fan_pct = Reading::Denied;
        frame(&mut facts).gpus = vec![gpu];
        assert_eq!(outcome(&facts, "gpu.found"), Outcome::Pass);
        assert_eq!(outcome(&facts, "gpu.denied"), Outcome::Warn);
        assert_eq!(outcome(&facts, "gpu.late"), Outcome::Pass);
        frame(&mut facts).gpus[0].vitals.power_w = Reading::Late(None);
        assert_eq!(outcome(&facts, "gpu.late"), Outcome::Warn);
        frame(&mut facts).gpus[0].presence = Presence::Suspended;
        assert_eq!(outcome(&facts, "gpu.suspended"), Outcome::Warn);
        frame(&mut facts).gpus[0].presence = Presence::Lost;
        assert_eq!(outcome(&facts, "gpu.found"), Outcome::Fail);
    }

    #[test]
    fn terminal_locale_and_configuration_are_judged() {
        let mut facts = facts();
        for id in ["terminal.kind", "terminal.text", "config.file", "config.layers"] {
            assert_eq!(outcome(&facts, id), Outcome::Pass, "{id}");
        }
        facts.terminal.locale = None;
        assert_eq!(outcome(&facts, "terminal.text"), Outcome::Pass);
        facts.terminal.term = Some("dumb".into());
        facts.terminal.locale = Some("C".into());
        facts.config.settings = Err("line 3".into());
        facts.changed.push(("ascii", "on".into(), Layer::CommandLine));
        assert_eq!(outcome(&facts, "terminal.kind"), Outcome::Warn);
        assert_eq!(outcome(&facts, "terminal.text"), Outcome::Warn);
        assert_eq!(outcome(&facts, "config.file"), Outcome::Fail);
        assert_eq!(layers(&facts).found, "ascii = on (command line)");
        facts.terminal.is_terminal = false;
        assert_eq!(outcome(&facts, "terminal.kind"), Outcome::Skip);
    }
}
