//! What probes found before: one file per device in the user's cache, answers with the driver and the code they were found with.
//!
//! An answer counts as long as the driver is the same and what ran is still what would run. The file is anybody's who can write to the
//! folder, so nothing of it is believed that can be looked up: its length, its schema, the device, and of each answer the rules it
//! settles, which are the table's. Results of a fake driver are never kept.

use std::path::{Path, PathBuf};
use std::{env, io};

use serde::{Deserialize, Serialize};
use warpscope_kernels::image::images;

use super::table::probe;
use super::{ProbeReport, short};
use crate::bounded::{self, Accept};
use crate::private;

/// Number of the file's format.
const SCHEMA: u32 = 1;
/// Longest file that is read: a hundred times what all probes write.
const LONGEST: u64 = 4 << 20;
/// Longest text of a report that is shown.
const LONGEST_TEXT: usize = 4096;
/// Most answers of one file that count: more than there are probes.
const MOST: usize = 1000;

/// Everything of one device.
#[derive(Debug, Serialize, Deserialize)]
struct File {
    schema: u32,
    uuid: String,
    reports: Vec<ProbeReport>,
}

/// Where answers are kept.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The user's: `$XDG_CACHE_HOME/warpscope/probes`, or `~/.cache/warpscope/probes`. `None` where there is neither.
    pub fn of_user() -> Option<Self> {
        let named =
            env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = named.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))?;
        Some(Self::at(&cache.join("warpscope/probes")))
    }

    /// In a folder, which is made when something is kept.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// What was found on a device with this driver and still counts. A file that cannot be read is as good as none.
    pub fn read(&self, uuid: &str, driver: Option<&str>) -> Vec<ProbeReport> {
        let Some(file) = self.path(uuid).and_then(|path| file_at(&path)) else { return Vec::new() };
        if file.schema != SCHEMA || file.uuid != uuid {
            return Vec::new();
        }
        let reports = file.reports.into_iter().take(MOST);
        let counts = |report: &ProbeReport| {
            report.uuid == uuid && report.driver.as_deref() == driver && driver.is_some()
        };
        reports.filter(counts).filter_map(believed).collect()
    }

    /// Keeps what was found, in the place of what was found before by the same probes.
    pub fn keep(&self, uuid: &str, driver: Option<&str>, found: &[ProbeReport]) -> io::Result<()> {
        let real = |report: &&ProbeReport| !report.simulated && report.uuid == uuid;
        let found: Vec<ProbeReport> = found.iter().filter(real).cloned().collect();
        let Some(path) = self.path(uuid).filter(|_| !found.is_empty()) else { return Ok(()) };
        let is_new = |old: &ProbeReport| found.iter().any(|new| new.id == old.id);
        let mut reports = self.read(uuid, driver);
        reports.retain(|old| !is_new(old));
        reports.extend(found);
        let file = File { schema: SCHEMA, uuid: uuid.to_owned(), reports };
        let mut text = serde_json::to_vec(&file)?;
        text.push(b'\n');
        private::cache(&path, &text)
    }

    /// The file of a device; `None` where its name is no name of one.
    fn path(&self, uuid: &str) -> Option<PathBuf> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_name = !uuid.is_empty() && uuid.len() <= 64 && uuid.chars().all(plain);
        is_name.then(|| self.folder.join(format!("{uuid}.json")))
    }
}

fn file_at(path: &Path) -> Option<File> {
    let text = bounded::read(path, Accept::Files, LONGEST).ok()?;
    serde_json::from_slice(&text).ok()
}

/// A report as far as it can be looked up; nothing of one that is of another build or makes no sense.
fn believed(report: ProbeReport) -> Option<ProbeReport> {
    let known = probe(&report.id)?;
    let texts = [&report.detail, &report.ran, &report.measured];
    let facts = report.facts.iter().flat_map(|(name, value)| [name, value]);
    let short_enough = |text: &String| text.len() <= LONGEST_TEXT;
    let sane = texts.into_iter().chain(facts).all(short_enough) && report.took_ms.is_finite();
    if report.simulated || !sane || !is_current(&report.ran) {
        return None;
    }
    let clean = |text: &str| -> String { text.chars().filter(|c| !c.is_control()).collect() };
    Some(ProbeReport {
        detail: clean(&report.detail),
        ran: clean(&report.ran),
        measured: clean(&report.measured),
        facts: report.facts.iter().map(|(name, value)| (clean(name), clean(value))).collect(),
        settles: known.settles.iter().map(|id| (*id).to_owned()).collect(),
        ..report
    })
}

/// Whether what ran would run again: the image is one of this build, the library is where it was.
fn is_current(ran: &str) -> bool {
    if let Some(library) = ran.strip_prefix("cuBLAS ") {
        let path = library.split_once(' ').map(|(_, path)| Path::new(path));
        return path.is_some_and(Path::exists);
    }
    let digest = ran.split(|c: char| !c.is_ascii_hexdigit()).find(|word| word.len() == SHORT);
    digest.is_none_or(|digest| images().iter().any(|image| short(image.sha256) == digest))
}

/// Digits of a digest that are told.
const SHORT: usize = 12;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::Answer;
    use super::*;

    const UUID: &str = "GPU-00112233-4455-6677-8899-aabbccddeeff";
    const DRIVER: Option<&str> = Some("570.124.06");

    fn report(id: &str, answer: Answer) -> ProbeReport {
        ProbeReport {
            id: id.to_owned(),
            answer,
            detail: "it ran".to_owned(),
            facts: vec![("status".to_owned(), "0".to_owned())],
            settles: super::super::probe(id).map_or_else(Vec::new, |probe| {
                probe.settles.iter().map(|id| (*id).to_owned()).collect()
            }),
            uuid: UUID.to_owned(),
            driver: DRIVER.map(str::to_owned),
            ran: "gate cubin sm_75".to_owned(),
            measured: "2026-11-21".to_owned(),
            took_ms: 2.5,
            simulated: false,
        }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::at(&folder.path().join("probes"));
        (folder, store)
    }

    #[test]
    fn what_is_kept_is_read_again_until_it_is_found_anew() {
        let (_folder, store) = store();
        assert_eq!(store.read(UUID, DRIVER), []);
        let (one, two) = (report("gate.dp4a", Answer::Works), report("gate.tma", Answer::Fails));
        store.keep(UUID, DRIVER, &[one.clone(), two.clone()]).expect("is kept");
        assert_eq!(store.read(UUID, DRIVER), [one, two.clone()]);
        let anew = report("gate.dp4a", Answer::WrongOutput);
        store.keep(UUID, DRIVER, std::slice::from_ref(&anew)).expect("is kept");
        assert_eq!(store.read(UUID, DRIVER), [two, anew]);
        assert_eq!(store.read(UUID, Some("580.65.06")), [], "another driver, another answer");
        assert_eq!(store.read("GPU-1", DRIVER), []);
        assert_eq!(store.read(UUID, None), []);
    }

    #[test]
    fn a_stand_in_leaves_nothing() {
        let (folder, store) = store();
        let simulated = ProbeReport { simulated: true, ..report("gate.dp4a", Answer::Works) };
        store.keep(UUID, DRIVER, &[simulated]).expect("nothing to keep");
        assert!(!folder.path().join("probes").exists());
    }

    #[test]
    fn what_a_file_says_is_looked_up() {
        let (folder, store) = store();
        let path = folder.path().join("probes").join(format!("{UUID}.json"));
        store.keep(UUID, DRIVER, &[report("gate.dp4a", Answer::Works)]).expect("is kept");
        let good = fs::read_to_string(&path).expect("is there");
        let read = |text: &str| {
            fs::write(&path, text).expect("writes");
            store.read(UUID, DRIVER)
        };
        assert_eq!(read(&good).len(), 1);
        let other = good.replace("hardware.dp4a.native", "vllm.everything");
        assert_eq!(read(&other)[0].settles, ["hardware.dp4a", "hardware.dp4a.native"]);
        let escape = good.replace("it ran", "it \\u001b[2Jran");
        assert_eq!(read(&escape)[0].detail, "it [2Jran");
        for bad in [
            good.replace("\"schema\":1", "\"schema\":2"),
            good.replace("\"simulated\":false", "\"simulated\":true"),
            good.replace("gate.dp4a", "gate.nobody_knows"),
            good.replace("gate cubin sm_75", "gate cubin sm_75 0123456789ab"),
            good.replace("gate cubin sm_75", "cuBLAS 12.4.5 /no/such/libcublas.so.12"),
            good.replace(UUID, "GPU-2"),
            good.replace("it ran", &"x".repeat(LONGEST_TEXT + 1)),
            good[..good.len() / 2].to_owned(),
            " ".repeat(LONGEST as usize + 1) + &good,
            String::new(),
        ] {
            assert_eq!(read(&bad), [], "{}", &bad[..bad.len().min(300)]);
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_no_devices() {
        let (_folder, store) = store();
        for uuid in ["", "../../etc/passwd", "GPU/1", "a.b", &"a".repeat(65)] {
            assert_eq!(store.path(uuid), None, "{uuid}");
        }
    }
}
