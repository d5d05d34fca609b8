//! What the stand-in pretends: words joined by `+`, the same for boards as the stand-in NVML's, so that
//! both describe one machine.
//!
//! The words come from the file `scenario` beside the library, which then stands alone; else from `FAKE_CUDA`, else from
//! `FAKE_NVML`, else `t4`. The other variables add words: `FAKE_CUDA_FAULT=oom@3,hang:cuInit` adds `fault:` words,
//! `FAKE_CUDA_LACKS=cuGraphLaunch` adds `lacks:` words, `FAKE_CUDA_DRIVER=12080` is `driver:12080`, `FAKE_CUDA_LEAKS=1` is `leaks`.

use std::path::PathBuf;

use crate::boards::{LAYOUT, MODELS, Model, Profile};
use crate::faults::Fault;

/// Words that stand for several others; those of the stand-in NVML, and `none`.
const ALIASES: &[(&str, &str)] = &[
    ("1gpu", "rtx4090"),
    ("gpus16", "h200x16"),
    ("optimus", "rtx4060m"),
    ("h100x8", "h100*8+mig:1+mig:5"),
    ("none", "nodevice"),
    ("nodriver", "fault:no_device"),
    ("noperm", "fault:no_device"),
    ("mismatch", "fault:driver_mismatch"),
];

/// Words of the stand-in NVML that change nothing CUDA shows.
const NOT_OURS: &[&str] = &[
    "weird", "reasons", "procs", "still", "steady", "escapes", "idle", "hang", "crash", "abort",
    "exit", "lies",
];

/// CUDA version of the default driver, the one the stand-in NVML names.
const DRIVER: u32 = 13000;

/// Compute mode of every board, by NVIDIA's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComputeMode {
    /// Any number of processes.
    #[default]
    Default = 0,
    /// No context at all.
    Prohibited = 2,
    /// One process, and another one has it.
    Exclusive = 3,
}

/// One board as CUDA enumerates it.
#[derive(Clone, Copy)]
pub struct Seat {
    /// What it is.
    pub model: &'static Model,
    /// Its number on the machine, which NVML shows too.
    pub board: usize,
    /// The MIG instance, where it is one.
    pub instance: Option<&'static Profile>,
}

impl Seat {
    /// UUID as NVML prints it.
    pub fn uuid(&self) -> String {
        self.model.uuid(self.board, self.instance)
    }
}

/// What is pretended.
#[derive(Clone, Default)]
pub struct Scenario {
    /// The boards of the machine.
    pub boards: Vec<&'static Model>,
    /// Boards with MIG switched on: CUDA shows their instances, and only to who asks for one by UUID.
    pub mig: Vec<usize>,
    /// Boards that are lost, and not enumerated.
    pub lost: Vec<usize>,
    /// Boards that die at the first launch.
    pub dying: Vec<usize>,
    /// CUDA version the driver supports: 12080 for 12.8.
    pub driver: u32,
    /// Memory other processes hold on each board, in percent.
    pub others_percent: u64,
    /// Compute mode.
    pub mode: ComputeMode,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// Functions that an older driver lacks.
    pub lacks: Vec<String>,
    /// Whether memory not given back is named when its context ends.
    pub leaks: bool,
    /// Instructions of warps after which a launch has taken too long.
    pub limit: Option<u64>,
}

impl Scenario {
    /// Reads words joined by `+`: `h200:8`, `v100+busy`. A word it does not know is named on stderr.
    ///
    /// | word | what it does |
    /// | --- | --- |
    /// | `t4`, `v100x4`, `h200:8`, … | adds boards, see [`MODELS`]; eight H100 if no word does |
    /// | `none`, `nodevice` | no boards: `cuInit` returns 100 |
    /// | `mig:N`, `lost:N`, `dying:N` | board N has MIG instances; is not there; is lost at the first launch |
    /// | `driver:12080` | CUDA version of the driver |
    /// | `busy`, `used:N` | others hold 95 or N percent of the memory |
    /// | `exclusive`, `prohibited` | compute mode; exclusive means that another process has the board |
    /// | `fault:NAME`, `fault:NAME@N` | what goes wrong, see [`crate::faults`] |
    /// | `lacks:FUNCTION` | a driver from before the function |
    /// | `limit:N` | a launch times out after so many instructions of its warps |
    /// | `leaks` | memory not given back is named on stderr |
    pub fn parse(text: &str) -> Self {
        let mut scenario = Self { driver: DRIVER, others_percent: 10, ..Self::default() };
        for word in text.trim().split('+').filter(|word| !word.is_empty()) {
            let meaning = ALIASES.iter().find(|alias| alias.0 == word).map_or(word, |it| it.1);
            for word in meaning.split('+') {
                if scenario.add(word).is_none() {
                    eprintln!("stand-in CUDA: no scenario word {word:?}");
                }
            }
        }
        let alone = !text.contains("nodevice") && !text.contains("none");
        if alone && scenario.boards.is_empty() {
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
            // A driver's own version, 580.82.07, is NVML's matter.
            "driver" if rest.contains('.') => {}
            "driver" => self.driver = rest.parse().ok()?,
            "busy" => self.others_percent = 95,
            "used" => self.others_percent = rest.parse().ok().filter(|percent| *percent <= 100)?,
            "exclusive" => self.mode = ComputeMode::Exclusive,
            "prohibited" => self.mode = ComputeMode::Prohibited,
            "fault" => self.faults.push(Fault::parse(rest)?),
            "lacks" => self.lacks.push(rest.to_owned()),
            "limit" => self.limit = Some(rest.parse().ok()?),
            "leaks" => self.leaks = true,
            _ if NOT_OURS.contains(&name) => {}
            _ => self.boards.extend(boards(word)?),
        }
        Some(())
    }

    /// The boards as CUDA numbers them, with `CUDA_VISIBLE_DEVICES` heeded as the programming guide says:
    /// indices or beginnings of UUIDs, up to the first that is none.
    pub fn seats(&self, visible: Option<&str>) -> Vec<Seat> {
        let all: Vec<Seat> = self
            .boards
            .iter()
            .enumerate()
            .filter(|(board, _)| !self.lost.contains(board))
            .map(|(board, model)| Seat { model, board, instance: None })
            .collect();
        let whole = || all.iter().copied().filter(|seat| !self.mig.contains(&seat.board));
        let Some(visible) = visible else { return whole().collect() };
        let by_index: Vec<Seat> = whole().collect();
        let instances = all.iter().filter(|seat| self.mig.contains(&seat.board)).flat_map(|seat| {
            LAYOUT.iter().map(|instance| Seat { instance: Some(instance), ..*seat })
        });
        let named: Vec<Seat> = by_index.iter().copied().chain(instances).collect();
        let find = |word: &str| match word.parse::<i64>() {
            Ok(index) => usize::try_from(index).ok().and_then(|at| by_index.get(at)).copied(),
            Err(_) => named.iter().find(|seat| seat.uuid().starts_with(word)).copied(),
        };
        let words = visible.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map_while(find).collect()
    }
}

/// `t4`, `t4x4`, `t4*4` or `t4:4`.
fn boards(word: &str) -> Option<impl Iterator<Item = &'static Model>> {
    let (name, count) = match model(word) {
        Some(_) => (word, "1"),
        None => word.rsplit_once(['x', '*', ':'])?,
    };
    Some(std::iter::repeat_n(model(name)?, count.parse().ok()?))
}

fn model(id: &str) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.id == id)
}

/// The scenario in words: from the file beside the library, else from the environment.
pub(crate) fn words(library: Option<PathBuf>) -> String {
    let file =
        library.and_then(|path| std::fs::read_to_string(path.parent()?.join("scenario")).ok());
    if let Some(words) = file {
        return words;
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let boards = variable("FAKE_CUDA").or_else(|| variable("FAKE_NVML"));
    let mut words = vec![boards.unwrap_or_else(|| "t4".to_owned())];
    for (name, prefix) in
        [("FAKE_CUDA_DRIVER", "driver"), ("FAKE_CUDA_FAULT", "fault"), ("FAKE_CUDA_LACKS", "lacks")]
    {
        let listed = variable(name).unwrap_or_default();
        let listed = listed.split(',').filter(|word| !word.is_empty());
        words.extend(listed.map(|word| format!("{prefix}:{word}")));
    }
    words.extend(variable("FAKE_CUDA_LEAKS").map(|_| "leaks".to_owned()));
    words.join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_said_as_to_the_stand_in_nvml() {
        for model in MODELS {
            assert_eq!(Scenario::parse(model.id).boards[0].name, model.name);
            for many in ["x2", "*2", ":2"] {
                let words = format!("{}{many}", model.id);
                assert_eq!(Scenario::parse(&words).boards.len(), 2, "{words}");
            }
        }
        assert_eq!(Scenario::parse("gpus16").boards.len(), 16);
        assert!(Scenario::parse("none").boards.is_empty());
        assert_eq!(Scenario::parse("lost:0+procs+hang:3@all:3+crash:nvmlInit_v2").boards.len(), 8);
    }

    #[test]
    fn words_add_up() {
        let scenario =
            Scenario::parse("v100x2+t4+busy+driver:12080+fault:oom@3+lacks:cuGraphLaunch+leaks");
        let ids: Vec<_> = scenario.boards.iter().map(|it| it.id).collect();
        assert_eq!(ids, ["v100", "v100", "t4"]);
        assert_eq!((scenario.driver, scenario.others_percent, scenario.leaks), (12080, 95, true));
        assert_eq!((scenario.faults.len(), scenario.lacks.len()), (1, 1));
        assert_eq!(Scenario::parse("t4+driver:535.54.03").driver, DRIVER);
    }

    #[test]
    fn visible_devices_are_indices_or_uuids_up_to_the_first_unknown() {
        let scenario = Scenario::parse("h100x8");
        let boards = |visible| -> Vec<usize> {
            scenario.seats(visible).iter().map(|seat| seat.board).collect()
        };
        assert_eq!(boards(None), [0, 2, 3, 4, 6, 7]);
        assert_eq!(boards(Some("1,0")), [2, 0]);
        assert_eq!(boards(Some("1,-1,0")), [2]);
        assert_eq!(boards(Some("")), [0; 0]);
        let uuid = MODELS.iter().find(|it| it.id == "h100").expect("a board").uuid(4, None);
        assert_eq!(boards(Some(&uuid)), [4]);
        let mig =
            MODELS.iter().find(|it| it.id == "h100").expect("a board").uuid(5, Some(&LAYOUT[1]));
        let seats = scenario.seats(Some(&mig));
        assert_eq!(seats[0].instance.map(|it| it.name), Some("MIG 1g.10gb"));
    }
}
