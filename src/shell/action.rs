//! Everything a key or a click can ask for: the table behind keymap, footer and help.

use super::view::Tab;

/// Everything a key or a click can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Leave.
    Quit,
    /// Open or close the help.
    Help,
    /// Show a tab.
    Go(Tab),
    /// Next tab.
    NextTab,
    /// Previous tab.
    PreviousTab,
    /// One up.
    Up,
    /// One down.
    Down,
    /// One left.
    Left,
    /// One right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first.
    First,
    /// To the last.
    Last,
    /// Details of the selected thing.
    Open,
    /// Close what is open; never leaves the program.
    Close,
    /// Type a filter.
    Filter,
    /// Next sort column.
    Sort,
    /// Turn the sort order around.
    Reverse,
    /// Stop taking new frames, or pause a recording.
    Freeze,
    /// Shorter interval, or faster replay.
    Faster,
    /// Longer interval, or slower replay.
    Slower,
    /// Next theme.
    Theme,
    /// Start, pause or continue the benchmark.
    Bench,
    /// Measure the selected GPU as soon as it is idle, without waiting for the end of a rest.
    MeasureNow,
    /// Go on measuring GPUs without the rest between sessions, or no longer.
    PinBench,
    /// Every path and profile of the decoder, or only the usual ones.
    AllPaths,
    /// Add a what-if GPU.
    WhatIf,
    /// Remove the selected what-if GPU.
    RemoveWhatIf,
    /// Copy the fix, or the selected line.
    Copy,
    /// Only what does not work.
    OnlyFailures,
    /// Fold the rows of a framework away, or unfold them.
    Fold,
    /// Fold or unfold every framework.
    FoldAll,
    /// Ask about an older version.
    OlderVersion,
    /// Ask about a newer version.
    NewerVersion,
    /// Take the choice of a version back.
    ResetVersion,
    /// Ask about a model.
    Model,
    /// Look at what is installed.
    Inspect,
    /// Run the live probes on the selected GPU.
    Probe,
    /// Processes as a tree.
    Tree,
    /// Send a signal to the selected process.
    Signal,
    /// Record frames, or stop.
    Record,
    /// Mark a recorded run.
    MarkRun,
    /// Compare the two marked runs.
    CompareRuns,
    /// Show weak changes of a history too.
    WeakChanges,
    /// What was not found, and what to do.
    Notices,
    /// Back in a recording.
    SeekBack,
    /// Forth in a recording.
    SeekForth,
    /// Draw everything again.
    Repaint,
    /// Put the program into the background.
    Suspend,
}

/// Where a key means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    Global,
    /// Only on one tab.
    On(Tab),
    /// Only while a recording plays.
    Replay,
}

/// One row of the key table: footer, help and `[keys]` of the configuration come from it.
pub struct ActionSpec {
    /// What it does.
    pub action: Action,
    /// Stable name in the configuration.
    pub id: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Words in the footer; empty: not shown there.
    pub hint: &'static str,
    /// Default keys.
    pub keys: &'static [&'static str],
    /// Where it means something.
    pub scope: Scope,
}

macro_rules! actions {
    ($($action:expr, $id:literal, $scope:expr, [$($key:literal),*], $hint:literal, $help:literal;)*) => {
        &[$(ActionSpec { action: $action, id: $id, help: $help, hint: $hint, keys: &[$($key),*], scope: $scope },)*]
    };
}

use Action as A;
use Scope::{Global, On, Replay};

/// Every action. The order is the order in the help; hints appear in this order in the footer.
pub const ACTIONS: &[ActionSpec] = actions! {
    A::Quit, "quit", Global, ["q", "ctrl-c", "f10"], "quit", "Leave warpscope.";
    A::Help, "help", Global, ["?", "f1"], "help", "Show or hide this help.";
    A::Go(Tab::Overview), "overview", Global, ["1"], "", "Overview: every GPU.";
    A::Go(Tab::Compat), "compat", Global, ["2"], "", "Compat: what runs where, and why not.";
    A::Go(Tab::Bench), "bench", Global, ["3"], "", "Bench: the micro decoder at work.";
    A::Go(Tab::Processes), "processes", Global, ["4"], "", "Processes on the GPUs.";
    A::Go(Tab::History), "history", Global, ["5"], "", "History: kernels over recorded runs.";
    A::NextTab, "next_tab", Global, ["tab"], "", "Next tab.";
    A::PreviousTab, "previous_tab", Global, ["shift-tab"], "", "Previous tab.";
    A::Open, "open", Global, ["enter"], "details", "Details of what is selected.";
    A::Close, "close", Global, ["esc"], "", "Close what is open; clears a filter. Never leaves.";
    A::Up, "up", Global, ["up", "k"], "", "Up.";
    A::Down, "down", Global, ["down", "j"], "", "Down.";
    A::Left, "left", Global, ["left", "h"], "", "Left.";
    A::Right, "right", Global, ["right", "l"], "", "Right.";
    A::PageUp, "page_up", Global, ["pgup", "ctrl-u"], "", "A page up.";
    A::PageDown, "page_down", Global, ["pgdn", "ctrl-d"], "", "A page down.";
    A::First, "first", Global, ["home", "g"], "", "To the first.";
    A::Last, "last", Global, ["end", "G"], "", "To the last.";
    A::Filter, "filter", On(Tab::Compat), ["/"], "filter", "Show only rows that contain the typed words.";
    A::OnlyFailures, "only_failures", On(Tab::Compat), ["f"], "problems", "Show only rows that fail somewhere.";
    A::Filter, "filter_history", On(Tab::History), ["/"], "filter", "Show only kernels that contain the typed words.";
    A::MarkRun, "mark_run", On(Tab::History), ["m"], "mark", "Mark the run under the cursor, or take its mark away.";
    A::CompareRuns, "compare_runs", On(Tab::History), ["c"], "compare", "Compare the two marked runs.";
    A::Sort, "sort_history", On(Tab::History), ["s", "f6"], "sort", "By name, latest change first, or largest change first.";
    A::WeakChanges, "weak_changes", On(Tab::History), ["W"], "", "Show changes too that are small or may be chance.";
    A::WhatIf, "what_if", Global, ["w"], "what-if", "Add a GPU from the catalogue.";
    A::RemoveWhatIf, "remove_what_if", Global, ["x", "delete"], "remove", "Remove the selected what-if GPU.";
    A::OlderVersion, "older_version", On(Tab::Compat), ["<", ","], "older", "Ask about an older version of the framework.";
    A::NewerVersion, "newer_version", On(Tab::Compat), [">", "."], "newer", "Ask about a newer version of the framework.";
    A::ResetVersion, "reset_version", On(Tab::Compat), ["v"], "", "Take the choice of a version back.";
    A::Model, "model", On(Tab::Compat), ["m"], "model", "Name a model folder or file; every row then asks about it.";
    A::Inspect, "inspect", On(Tab::Compat), ["i"], "", "Look again at what is installed here.";
    A::Probe, "probe", On(Tab::Compat), ["p"], "", "Run instructions and library calls on the selected GPU, to prove the rules.";
    A::Fold, "fold", On(Tab::Compat), ["z"], "fold", "Fold the rows of the framework away, or unfold them.";
    A::FoldAll, "fold_all", On(Tab::Compat), ["Z"], "", "Fold or unfold every framework.";
    A::Sort, "sort_compat", On(Tab::Compat), ["s", "f6"], "sort", "Usual order, by name, or what fails on most GPUs first.";
    A::Copy, "copy", Global, ["y"], "copy", "Copy the fix, or the selected line, also over SSH (OSC 52).";
    A::Filter, "filter_processes", On(Tab::Processes), ["/"], "filter", "Show only processes that contain the typed words.";
    A::Sort, "sort", On(Tab::Processes), ["s", "f6"], "sort", "Sort by the next column.";
    A::Reverse, "reverse", On(Tab::Processes), ["r"], "", "Turn the sort order around.";
    A::Tree, "tree", On(Tab::Processes), ["t", "f5"], "tree", "Parents above their children.";
    A::Signal, "signal", On(Tab::Processes), ["K", "f9"], "signal", "Send a signal to the selected process, after asking.";
    A::Bench, "toggle_bench", Global, ["b"], "bench", "Start, pause or continue the benchmark.";
    A::MeasureNow, "measure_now", On(Tab::Bench), ["m"], "", "Measure the selected GPU once it is idle, without waiting for the end of its rest.";
    A::PinBench, "pin_bench", On(Tab::Bench), ["p"], "", "Go on measuring while this tab is open, without the rest between sessions.";
    A::Freeze, "freeze", Global, ["space"], "freeze", "Stop taking new values; pauses a recording.";
    A::AllPaths, "all_paths", On(Tab::Bench), ["a"], "all paths", "Measure and list every path and weight profile of the micro decoder, or only the usual ones.";
    A::Faster, "faster", Global, ["+", "="], "", "Shorter interval; faster replay.";
    A::Slower, "slower", Global, ["-"], "", "Longer interval; slower replay.";
    A::SeekBack, "seek_back", Replay, ["["], "back", "Ten seconds back in the recording.";
    A::SeekForth, "seek_forth", Replay, ["]"], "forth", "Ten seconds forth in the recording.";
    A::Notices, "notices", Global, ["n"], "notices", "What was not found, and what to do about it.";
    A::Record, "record", Global, ["R"], "", "Record what is shown into a file; again to stop.";
    A::Theme, "theme", Global, ["T"], "", "Next theme.";
    A::Repaint, "repaint", Global, ["ctrl-l"], "", "Draw everything again.";
    A::Suspend, "suspend", Global, ["ctrl-z"], "", "Put warpscope into the background; fg brings it back.";
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_every_action_explains_itself() {
        for spec in ACTIONS {
            assert_eq!(
                ACTIONS.iter().filter(|other| other.id == spec.id).count(),
                1,
                "{}",
                spec.id
            );
            assert!(spec.help.ends_with('.') && !spec.keys.is_empty(), "{}", spec.id);
            assert!(spec.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{}", spec.id);
        }
    }
}
