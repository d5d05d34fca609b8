//! Every key of the dashboard: those of the shell, and those the features bring along.

use std::sync::LazyLock;

use super::tabs::{TABS, Tab};
use crate::features::{Action, KeySpec};

/// Where a key means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    Global,
    /// Only on one tab.
    On(Tab),
    /// On every tab but one, which gives the key another meaning.
    Off(Tab),
    /// Only while a recording plays.
    Replay,
    /// Only while the footer asks whether GPUs may be measured.
    Question,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The same on every tab.
    Shell(Action),
    /// A key of the tab's own, by its place in the tab's table.
    Tab(usize),
}

/// One row of the key table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// How it is listed.
    pub spec: KeySpec,
    /// What it asks for.
    pub act: Act,
    /// Where it means something.
    pub scope: Scope,
}

macro_rules! keys {
    ($($action:expr, $id:literal, $scope:expr, [$($key:literal),*], $hint:literal, $help:literal;)*) => {
        &[$(Row {
            spec: KeySpec { id: $id, keys: &[$($key),*], hint: $hint, help: $help },
            act: Act::Shell($action),
            scope: $scope,
        },)*]
    };
}

use Action as A;
use Scope::{Global, Question, Replay};

const ANSWERING: &[Row] = keys! {
    A::AnswerBench(true), "allow_bench", Question, ["Y"], "yes", "Benchmark idle GPUs while warpscope is open; the configuration keeps the answer.";
    A::AnswerBench(false), "refuse_bench", Question, ["N"], "only on request", "Benchmark GPUs only on request; the configuration keeps the answer.";
};

const LEAVING: &[Row] = keys! {
    A::Quit, "quit", Global, ["q", "ctrl-c", "f10"], "quit", "Leave warpscope.";
    A::Help, "help", Global, ["?", "f1"], "help", "Show or hide this help.";
};

const MOVING: &[Row] = keys! {
    A::NextTab, "next_tab", Global, ["tab"], "", "Next tab.";
    A::PreviousTab, "previous_tab", Global, ["shift-tab"], "", "Previous tab.";
    A::Open, "open", Global, ["enter"], "details", "Details of what is selected.";
    A::Close, "close", Global, ["esc"], "", "Close what is open; clears a filter. Never leaves.";
    A::Up, "up", Global, ["up", "k"], "", "Up.";
    A::Down, "down", Global, ["down", "j"], "", "Down.";
    A::Left, "left", Global, ["left", "h"], "", "Left; on Overview the value of the graphs further back, on Bench the device before, in a recording ten seconds back.";
    A::Right, "right", Global, ["right", "l"], "", "Right; on Overview towards now, on Bench the next device, in a recording ten seconds forward.";
    A::PageUp, "page_up", Global, ["pgup", "ctrl-u"], "", "A page up.";
    A::PageDown, "page_down", Global, ["pgdn", "ctrl-d"], "", "A page down.";
    A::First, "first", Global, ["home", "g"], "", "To the first.";
    A::Last, "last", Global, ["end", "G"], "", "To the last.";
};

const DOING: &[Row] = keys! {
    A::WhatIf, "what_if", Global, ["w"], "what-if", "Add a GPU from the catalogue.";
    A::RemoveWhatIf, "remove_what_if", Global, ["x", "delete"], "remove", "Remove the selected what-if GPU.";
    A::Copy, "copy", Global, ["y"], "copy", "Copy the fix, or the selected line, also over SSH (OSC 52).";
    A::Bench, "toggle_bench", Global, ["b"], "bench", "Start, pause or continue the benchmark.";
    A::Freeze, "freeze", Scope::Off(Tab::Compat), ["space"], "freeze", "Freeze the values on screen; pauses a recording.";
    A::Faster, "faster", Global, ["+", "="], "", "Shorter interval; faster replay.";
    A::Slower, "slower", Global, ["-"], "", "Longer interval; slower replay.";
    A::SeekBack, "seek_back", Replay, ["["], "back", "Ten seconds back in the recording.";
    A::SeekForth, "seek_forth", Replay, ["]"], "forward", "Ten seconds forward in the recording.";
    A::Notices, "notices", Global, ["n"], "notices", "Problems found, and what to do about them.";
    A::Record, "record", Global, ["R"], "", "Record what is shown into a file; again to stop.";
    A::Options, "options", Global, ["o", "f2"], "options", "Options: theme, graphs, panels, units, interval; w there writes them to the configuration.";
    A::Palette, "palette", Global, [":", "ctrl-p"], "", "Find a GPU, tab, framework, configuration, option or action by name.";
    A::Explain, "explain", Global, ["e"], "explain", "Explain an error whose text is pasted here; pasting it anywhere does the same.";
    A::Hosts, "hosts", Global, ["H"], "", "The machines read by --host, to show another one.";
    A::Layout, "layout", Global, ["L"], "", "Next layout of the configuration: its panels, graphs, their span and columns.";
    A::Theme, "theme", Global, ["T"], "", "Next theme.";
    A::Repaint, "repaint", Global, ["ctrl-l"], "", "Draw everything again.";
    A::Suspend, "suspend", Global, ["ctrl-z"], "", "Put warpscope into the background; fg brings it back.";
};

/// The key of each tab, by its place.
const NUMBERS: &[&[&str]] =
    &[&["1"], &["2"], &["3"], &["4"], &["5"], &["6"], &["7"], &["8"], &["9"]];

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let going = TABS.iter().zip(NUMBERS).enumerate().map(|(at, ((tab, id, _), keys))| Row {
        spec: KeySpec { id, keys, hint: "", help: tab.help() },
        act: Act::Shell(Action::Go(at)),
        scope: Global,
    });
    let of_tabs = TABS.iter().flat_map(|row| {
        let keys = row.0.keys().into_iter().enumerate();
        keys.map(|(at, spec)| Row { spec, act: Act::Tab(at), scope: Scope::On(row.0) })
    });
    let moving = MOVING.iter().copied();
    ANSWERING
        .iter()
        .chain(LEAVING)
        .copied()
        .chain(going)
        .chain(moving)
        .chain(of_tabs)
        .chain(DOING.iter().copied())
        .collect()
});

/// Every key. The order is the order in the help; hints appear in this order in the footer.
pub fn rows() -> &'static [Row] {
    &ROWS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_every_key_explains_itself() {
        for Row { spec, .. } in rows() {
            let same = rows().iter().filter(|other| other.spec.id == spec.id).count();
            assert_eq!(same, 1, "{}", spec.id);
            assert!(spec.help.ends_with('.') && !spec.keys.is_empty(), "{}", spec.id);
            assert!(spec.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{}", spec.id);
        }
    }
}
