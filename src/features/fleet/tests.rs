use std::collections::BTreeSet;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use warpscope_probes::Timestamp;
use warpscope_probes::fleet::{Fleet as Machines, Machine, Member, State};
use warpscope_probes::rules::RuleBase;

use super::runs::{Run, Runs};
use super::*;
use crate::features::{Effect, Feature, Settings, Shared, what_if::WhatIf};
use crate::widgets::glyphs::Glyphs;
use crate::widgets::theme::Theme;
use crate::widgets::{Hits, Look, Surface, svg};

/// Machines of two GPUs; values are by machine, an absent one is not told.
fn machines(names: &[&str], columns: &[(&'static str, &[Option<f64>])]) -> Machines {
    let mut fleet = Machines { at: Timestamp(100_000), ..Machines::default() };
    fleet.models = vec!["Tesla T4".to_owned(), "NVIDIA H100 80GB HBM3".to_owned()];
    fleet.owners = vec!["ml/train".to_owned()];
    for (at, name) in names.iter().enumerate() {
        let gpus = 2 * at..2 * at + 2;
        let seen = Timestamp(99_000);
        fleet.machines.push(Machine { name: (*name).to_owned(), gpus, seen, ..Machine::default() });
        for index in 0..2 {
            let key = format!("GPU-{at}-{index}");
            let owner = (at == 0).then_some(0);
            let model = usize::from(at > 0);
            fleet.gpus.push(Member {
                machine: at,
                index: Some(index),
                key,
                uuid: None,
                model,
                owner,
                seen,
            });
        }
    }
    let both = |value: &Option<f64>| [*value, *value];
    fleet.columns = columns
        .iter()
        .map(|(field, values)| (*field, values.iter().flat_map(both).collect()))
        .collect();
    fleet
}

fn tab(machines: Machines) -> Fleet {
    let mut tab = Fleet::default();
    tab.update(Msg::Fleet(Arc::new(machines)));
    tab
}

fn shown(tab: &Fleet) -> Vec<&str> {
    let machines = &tab.machines.as_ref().expect("are there").machines;
    tab.summary.order.iter().map(|at| machines[*at].name.as_str()).collect()
}

fn filtered(tab: &mut Fleet, text: &str) -> Vec<String> {
    tab.edit_filter(&|filter| filter.text = text.to_owned());
    shown(tab).into_iter().map(str::to_owned).collect()
}

fn shared() -> Shared {
    let settings = Settings {
        interval: std::time::Duration::from_secs(1),
        readonly: false,
        inspect: false,
        theme: "dark".into(),
    };
    Shared::new(settings, WhatIf::default())
}

fn drawn(tab: &Fleet, size: (u16, u16)) -> String {
    drawn_with(&shared(), tab, size)
}

fn drawn_with(shared: &Shared, tab: &Fleet, (width, height): (u16, u16)) -> String {
    let theme = Theme::default();
    let area = Rect::new(0, 0, width, height);
    let (mut buffer, mut hits) = (Buffer::empty(area), Hits::default());
    let look = Look::new(&theme, Glyphs::ascii());
    tab.draw(shared, Surface { look, area, buffer: &mut buffer, hits: &mut hits });
    svg::text(&buffer)
}

#[test]
fn the_filter_takes_words_and_comparisons() {
    let util: &[Option<f64>] = &[Some(0.0), Some(90.0), None];
    let used: &[Option<f64>] = &[Some(50.0), Some(50.0), Some(50.0)];
    let total: &[Option<f64>] = &[Some(100.0); 3];
    let mut tab = tab(machines(
        &["a1", "b2", "b3"],
        &[("util_gpu_pct", util), ("memory_used_bytes", used), ("memory_total_bytes", total)],
    ));
    for (text, want) in [
        ("", &["a1", "b2", "b3"][..]),
        ("b", &["b2", "b3"]),
        ("H100 b3", &["b3"]),
        ("train", &["a1"]),
        ("util<5", &["a1"]),
        ("util>=90 mem>40", &["b2"]),
        ("idle", &["a1"]),
        ("util<", &[]),
    ] {
        assert_eq!(filtered(&mut tab, text), want, "{text}");
    }
}

#[test]
fn what_is_worse_comes_first_and_power_limits_are_no_trouble() {
    let xid: &[Option<f64>] = &[None, Some(79.0), Some(0.0), Some(0.0)];
    let reasons: &[Option<f64>] = &[Some(4.0), Some(0.0), Some(64.0), Some(0.0)];
    let mut machines =
        machines(&["capped", "broken", "hot", "gone"], &[("xid", xid), ("clock_reasons", reasons)]);
    machines.machines[3].state = State::Lost;
    let mut tab = tab(machines);
    tab.change(|tab| tab.order = Order::Worst);
    assert_eq!(shown(&tab), ["gone", "broken", "hot", "capped"]);
    let words: Vec<&str> = tab.summary.worst.iter().map(|one| one.1.word).collect();
    assert_eq!(words, ["lost", "lost", "xid", "xid", "throttled", "throttled"]);
}

#[test]
fn what_is_not_told_is_not_zero() {
    let util: &[Option<f64>] = &[Some(80.0), None];
    let tab = tab(machines(&["told", "silent"], &[("util_gpu_pct", util)]));
    assert_eq!(tab.summary.busy_pct, Some(80.0));
    assert_eq!(tab.summary.memory, None);
    let text = drawn(&tab, (120, 30));
    let line = |word: &str| text.lines().find(|line| line.contains(word)).expect("is drawn");
    assert!(line("silent").contains("silent ??"), "{text}");
    assert!(!line("told").contains("told   ??"), "{text}");
}

#[test]
fn it_can_be_drawn_at_every_size() {
    let names: Vec<String> = (0..300).map(|at| format!("host{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut tab = tab(machines(&names, &[("util_gpu_pct", &[Some(50.0); 300])]));
    tab.cursor.at = 299;
    for width in (1..130).step_by(7) {
        for height in 1..40 {
            drawn(&tab, (width, height));
        }
    }
    assert!(drawn(&tab, (120, 36)).contains("host299"), "the cursor is in view");
    let empty = drawn(&Fleet::default(), (150, 36));
    assert!(empty.contains("--prometheus") && empty.contains("--host"), "{empty}");
    assert!(!Fleet::default().offers("map_value", &shared()), "there is nothing to show");
}

#[test]
fn a_machine_that_is_opened_comes_into_view_and_the_cursor_stays_on_it() {
    let mut tab = tab(machines(&["a", "b", "c"], &[]));
    tab.step_aside(2, &shared());
    tab.open(&shared());
    let effects = tab.follow(&shared(), true);
    let frames = effects.iter().filter_map(|effect| match effect {
        Effect::ShowFrame(frame) => Some(frame.host.machine.hostname.last().cloned()),
        _ => None,
    });
    assert_eq!(frames.collect::<Vec<_>>(), [Some("c".to_owned())]);
    tab.update(Msg::Fleet(Arc::new(machines(&["aa", "ab", "b", "c"], &[]))));
    assert_eq!(tab.cursor.at, 3);
    tab.update(Msg::Trouble("no answer".to_owned()));
    let text = drawn(&tab, (80, 24));
    assert!(text.contains("no answer") && text.contains("4 machines"), "{text}");
}

#[test]
fn every_gpu_is_counted_once_for_every_configuration() {
    let machines = machines(&["a", "b", "c"], &[]);
    let fits = [true, true, true, false, true, true];
    let runs = Runs::of(&machines, &fits, RuleBase::builtin());
    assert_eq!(runs.gpus, 5);
    assert!(runs.all.len() > 50);
    assert!(runs.all.iter().all(|run| run.counts.values().sum::<usize>() == 5));
    let fp8 = |run: &&Run| run.name.starts_with("vLLM ") && run.name.contains(" FP8");
    assert!(runs.all.iter().find(fp8).is_some_and(|run| run.counts.len() > 1), "a T4 is no H100");
    let names: BTreeSet<_> = runs.all.iter().map(|run| &run.name).collect();
    assert_eq!(names.len(), runs.all.len(), "no name stands for two");
}

#[test]
fn who_holds_a_machine_is_told_once_and_memory_where_it_is_known() {
    let used: &[Option<f64>] = &[Some(1e9), None];
    let total: &[Option<f64>] = &[Some(4e9); 2];
    let columns = [("memory_used_bytes", used), ("memory_total_bytes", total)];
    let mut machines = machines(&["a", "b"], &columns);
    machines.machines[0].gpus = 0..4;
    machines.owners = vec!["ada".to_owned(), "grace".to_owned()];
    for (gpu, owner) in machines.gpus.iter_mut().zip([0, 1, 0, 1]) {
        gpu.owner = Some(owner);
    }
    let mut shared = shared();
    shared.display.units.decimal = true;
    let text = drawn_with(&shared, &tab(machines), (120, 30));
    assert!(text.contains("held by ada, grace") && !text.contains("grace, ada"), "{text}");
    assert!(text.contains("2.0 / 8.0 GB") && !text.contains("iB"), "{text}");
}

#[test]
fn what_has_no_room_among_owners_is_told_in_sum() {
    let mut machines = machines(&["a", "b", "c", "d"], &[]);
    machines.owners = ["ada", "bob", "eve", "zoe"].map(str::to_owned).into();
    for (at, gpu) in machines.gpus.iter_mut().enumerate() {
        gpu.owner = Some(at / 2);
    }
    let tab = tab(machines);
    let text = drawn(&tab, (80, 22));
    let line = text.lines().find(|line| line.contains(" others "));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[1..4], ["2", "others", "4"], "{text}");
}

#[test]
fn a_fact_of_a_machine_is_not_broken_at_the_end_of_a_line() {
    let power: &[Option<f64>] = &[Some(403.0)];
    let hot: &[Option<f64>] = &[Some(63.0)];
    let columns = [("power_w", power), ("temperature_c", hot)];
    for width in 30..100 {
        let text = drawn(&tab(machines(&["a"], &columns)), (width, 30));
        let lines = text.lines().filter(|line| line.contains("806"));
        assert!(lines.clone().all(|line| line.contains("806 W")), "{text}");
        assert!(!text.contains("| | "), "{text}");
    }
}

#[test]
fn a_filter_counts_what_it_lets_through_of_the_machines_in_view() {
    let mut machines = machines(&["a", "b"], &[("util_gpu_pct", &[Some(1.0), Some(90.0)])]);
    machines.columns[0].1[1] = Some(80.0);
    let mut tab = tab(machines);
    assert!(drawn(&tab, (120, 30)).contains("2 machines, 4 GPUs"));
    tab.change(|tab| tab.filter.text = "util<5".to_owned());
    let text = drawn(&tab, (120, 30));
    assert!(text.contains("1 machine, 1 of 2 GPUs"), "{text}");
}
