//! What the stand-in pretends: words from a file or the environment, and the state that moves with each call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::faults::Fault;
use crate::lies::Lie;
use crate::models::{MODELS, Model};
use crate::{codes, here};

/// Words that stand for several others.
const ALIASES: &[(&str, &str)] = &[
    ("1gpu", "rtx4090"),
    ("gpus16", "h200x16"),
    ("optimus", "rtx4060m"),
    ("h100x8", "h100*8+mig:1+mig:5"),
];

/// Words that make NVML refuse to start, and answer nothing when it has.
const REFUSALS: &[(&str, u32)] = &[
    ("nodriver", codes::DRIVER_NOT_LOADED),
    ("noperm", codes::NO_PERMISSION),
    ("mismatch", codes::MISMATCH),
];

/// What is pretended: boards, and what is wrong with them.
#[derive(Clone, Default)]
pub struct Scenario {
    /// The boards, in NVML's order.
    pub boards: Vec<&'static Model>,
    /// Boards with MIG switched on.
    pub mig: Vec<usize>,
    /// Boards that are lost: no handle.
    pub lost: Vec<usize>,
    /// Boards that die after their handle was had.
    pub dying: Vec<usize>,
    /// Code every function returns.
    pub refusal: Option<u32>,
    /// Code every question about a value returns.
    pub weird: Option<u32>,
    /// Calls that hang, or take the process with them.
    pub faults: Vec<Fault>,
    /// What the library lies about.
    pub lies: Vec<Lie>,
    /// Clock-event mask, instead of the one that follows from the load.
    pub reasons: Option<u64>,
    /// Driver version.
    pub driver: String,
    /// CUDA version of the driver.
    pub cuda: i32,
    /// Compute mode of every board, by NVML's numbers.
    pub compute_mode: u32,
    /// Whether nothing happens on the boards.
    pub idle: bool,
    /// Memory that others hold, in percent, instead of what follows from the load.
    pub used_percent: Option<u64>,
    /// Whether there are processes.
    pub procs: bool,
    /// Boards from this one on keep their values; none does if not given.
    pub steady_from: Option<usize>,
    /// Whether names are full of escape sequences.
    pub escapes: bool,
    /// Xid errors, each with its board, in the order in which they happen.
    pub xids: Vec<(usize, u64)>,
}

impl Scenario {
    /// Reads words joined by `+`: `h100x8+lost:2`, `t4+v100+procs`. A word it does not know is named on stderr.
    ///
    /// | word | what it does |
    /// | --- | --- |
    /// | `t4`, `v100x4`, … | adds boards, see [`MODELS`]; eight H100 if no word does |
    /// | `1gpu`, `gpus16`, `optimus`, `h100x8` | one RTX 4090; 16 H200; a laptop's RTX 4060; 8 H100, two with MIG |
    /// | `mig:N` | MIG is on for board N |
    /// | `lost:N`, `dying:N` | board N is lost; or gives a handle, and is lost after that |
    /// | `nodriver`, `noperm`, `mismatch` | every call fails so, `nvmlInit_v2` too |
    /// | `nodevice` | no boards |
    /// | `weird:N` | every question about a value returns code N |
    /// | `hang:FUNCTION:SECONDS` | calls of a function take so long, or until the scenario no longer says so |
    /// | `hang:N@FUNCTION:SECONDS`, `hang:N@all:SECONDS` | calls of it about board N do; every call about board N does |
    /// | `crash:FUNCTION`, `abort:FUNCTION` | the function ends the process by SIGSEGV or SIGABRT; also `N@FUNCTION` |
    /// | `exit:FUNCTION` | it ends the process as if all were well; also `N@FUNCTION` |
    /// | `lies:counts`, `lies:lists`, `lies:overfull` | there are 2^32 - 1 boards, fans and MIG instances; items of a list, when asked; when written |
    /// | `lies:endless`, `lies:encoding` | texts do not end in their buffers; are no UTF-8 |
    /// | `lies:values`, `lies:memory` | every bit of every value is set; twice the memory there is is used |
    /// | `reasons:N` | clock-event mask, decimal |
    /// | `xid:N@CODE` | board N reports this Xid error once to each who listens |
    /// | `driver:X` | driver version, 570.124.06, or its CUDA version, 12080 |
    /// | `exclusive`, `prohibited` | compute mode |
    /// | `idle` | the boards have nothing to do |
    /// | `busy`, `used:N` | others hold 95 or N percent of the memory |
    /// | `still`, `steady` | no values move; only those of board 0 do |
    /// | `procs`, `escapes` | there are processes; names are full of escape sequences |
    pub fn parse(text: &str) -> Self {
        let mut scenario = Self { driver: "580.82.07".to_owned(), cuda: 13000, ..Self::default() };
        for word in text.trim().split('+') {
            let meaning =
                ALIASES.iter().find(|alias| alias.0 == word).map_or(word, |alias| alias.1);
            for word in meaning.split('+') {
                if scenario.add(word).is_none() {
                    eprintln!("stand-in NVML: no scenario word {word:?}");
                }
            }
        }
        let alone = !text.contains("nodevice") && scenario.boards.is_empty();
        if alone {
            scenario.boards = model("h100").into_iter().cycle().take(8).collect();
        }
        scenario
    }

    fn add(&mut self, word: &str) -> Option<()> {
        let (name, rest) = word.split_once(':').unwrap_or((word, ""));
        let number = || rest.parse::<usize>().ok();
        match name {
            "nodevice" => self.boards.clear(),
            "mig" => self.mig.push(number()?),
            "lost" => self.lost.push(number()?),
            "dying" => self.dying.push(number()?),
            "weird" => self.weird = Some(rest.parse().ok()?),
            "reasons" => self.reasons = Some(rest.parse().ok()?),
            "xid" => {
                let (board, xid) = rest.split_once('@')?;
                self.xids.push((board.parse().ok()?, xid.parse().ok()?));
            }
            "driver" if rest.contains('.') => rest.clone_into(&mut self.driver),
            "driver" => self.cuda = rest.parse().ok()?,
            "exclusive" => self.compute_mode = 3,
            "prohibited" => self.compute_mode = 2,
            "idle" => self.idle = true,
            "busy" => self.used_percent = Some(95),
            "used" => self.used_percent = rest.parse().ok().filter(|percent| *percent <= 100),
            "procs" => self.procs = true,
            "still" => self.steady_from = Some(0),
            "steady" => self.steady_from = Some(1),
            "escapes" => self.escapes = true,
            "lies" => self.lies.push(Lie::parse(rest)?),
            "hang" | "crash" | "abort" | "exit" => self.faults.push(Fault::parse(name, rest)?),
            _ => match REFUSALS.iter().find(|refusal| refusal.0 == name) {
                Some(refusal) => self.refusal = Some(refusal.1),
                None => self.boards.extend(boards(name)?),
            },
        }
        Some(())
    }
}

/// `t4`, `t4x4` or `t4*4`.
fn boards(word: &str) -> Option<impl Iterator<Item = &'static Model>> {
    let (name, count) = match model(word) {
        Some(_) => (word, "1"),
        None => word.rsplit_once(['x', '*'])?,
    };
    Some(std::iter::repeat_n(model(name)?, count.parse().ok()?))
}

fn model(id: &str) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.id == id)
}

/// Everything that changes while the library is loaded.
#[derive(Default)]
pub struct State {
    /// The scenario as last read.
    pub scenario: Scenario,
    /// Times initialised, less times shut down.
    pub inits: u32,
    /// Per board, how often its temperature was asked: the clock all its values move by.
    pub ticks: BTreeMap<usize, u64>,
    words: String,
    calls: BTreeMap<&'static str, u64>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// The state, with the lock held; never while a call hangs.
pub fn with<T>(use_it: impl FnOnce(&mut State) -> T) -> T {
    let mut guard: MutexGuard<'_, Option<State>> =
        STATE.lock().unwrap_or_else(PoisonError::into_inner);
    use_it(guard.get_or_insert_default())
}

impl State {
    /// Reads the scenario again, if it changed.
    pub fn reload(&mut self) {
        let words = words();
        if words != self.words {
            self.scenario = Scenario::parse(&words);
            self.words = words;
        }
    }

    /// Counts a call, and tells the code it must return.
    pub fn enter(&mut self, function: &'static str) -> Option<u32> {
        *self.calls.entry(function).or_default() += 1;
        if matches!(function, "nvmlInit_v2" | "nvmlDeviceGetCount_v2") {
            self.reload();
        }
        let refused = self.scenario.refusal.filter(|_| function != "nvmlShutdown");
        let asleep = self.inits == 0 && function != "nvmlInit_v2";
        let weird = self.scenario.weird.filter(|_| asks_a_value(function));
        refused.or(asleep.then_some(codes::UNINITIALIZED)).or(weird)
    }

    /// Appends the calls made to the statistics file, and counts anew.
    pub fn write_statistics(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        if let Some(path) = setting("stats", "FAKE_NVML_STATS") {
            let lines: String =
                calls.iter().map(|(function, n)| format!("{function} {n}\n")).collect();
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            let _ =
                file.and_then(|mut file| std::io::Write::write_all(&mut file, lines.as_bytes()));
        }
    }
}

/// Whether the function asks a value, and not what there is to ask.
pub(crate) fn asks_a_value(function: &str) -> bool {
    const IDENTITY: &[&str] = &["Count", "Handle", "UUID", "Name", "PciInfo_v3", "Index"];
    function.starts_with("nvmlDeviceGet") && !IDENTITY.iter().any(|part| function.contains(part))
}

/// The scenario in words: the file `scenario` beside the library, then `FAKE_NVML_FILE`, then `FAKE_NVML`.
fn words() -> String {
    let file =
        beside("scenario").filter(|path| path.exists()).or_else(|| environment("FAKE_NVML_FILE"));
    let from_file = file.and_then(|path| std::fs::read_to_string(path).ok());
    from_file.or_else(|| std::env::var("FAKE_NVML").ok()).unwrap_or_else(|| "t4".to_owned())
}

/// A path beside the library where a `scenario` file lies there too, else from the environment.
fn setting(name: &str, variable: &str) -> Option<PathBuf> {
    let own = beside("scenario").filter(|path| path.exists()).and(beside(name));
    own.or_else(|| environment(variable))
}

fn beside(name: &str) -> Option<PathBuf> {
    Some(Path::new(&here()?).parent()?.join(name))
}

fn environment(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_and_alias_is_a_scenario() {
        for model in MODELS {
            let scenario = Scenario::parse(model.id);
            assert_eq!(scenario.boards.len(), 1, "{}", model.id);
            assert_eq!(scenario.boards[0].name, model.name);
        }
        for (alias, _) in ALIASES {
            assert!(!Scenario::parse(alias).boards.is_empty(), "{alias}");
        }
        assert_eq!(Scenario::parse("gpus16").boards.len(), 16);
        assert_eq!(Scenario::parse("h100x8").mig, [1, 5]);
    }

    #[test]
    fn words_add_up() {
        let scenario = Scenario::parse("t4x2+v100+lost:1+procs+hang:nvmlDeviceGetName:2.5\n");
        assert_eq!(
            scenario.boards.iter().map(|it| it.id).collect::<Vec<_>>(),
            ["t4", "t4", "v100"]
        );
        assert_eq!((scenario.lost, scenario.procs), (vec![1], true));
        let hang = Fault::parse("hang", "nvmlDeviceGetName:2.5").expect("a fault");
        assert_eq!(scenario.faults, [hang]);
        assert_eq!(Scenario::parse("t4x2+steady").steady_from, Some(1));
        assert!(Scenario::parse("nodevice").boards.is_empty());
        assert_eq!(Scenario::parse("lost:0").boards.len(), 8);
    }
}
