//! Runs probes on a device, each with its report.

use std::path::{Path, PathBuf};
use std::time::Instant;

use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::cuda::blas::Blas;
use warpscope_kernels::gpu::Machine;

use super::found::Found;
use super::product::{self, Grid};
use super::table::{Probe, Subject};
use super::{ProbeReport, gate, load, mechanics, rate, shared};
use crate::trust::as_named;

/// Where probes run. Driver and day are for the parent to say, which knows them.
#[derive(Clone, Debug)]
pub struct Setting {
    /// UUID of the device.
    pub uuid: String,
    /// Copies of `libcublas` to ask, best first.
    pub cublas: Vec<PathBuf>,
}

/// A device on which probes run one after the other.
pub struct Bench<'m> {
    machine: &'m mut CudaMachine,
    setting: Setting,
    /// The first copy of cuBLAS that starts, or why none does; `None` before anybody asked.
    blas: Option<Result<Blas, String>>,
}

impl<'m> Bench<'m> {
    /// A device that nothing was asked yet.
    pub fn new(machine: &'m mut CudaMachine, setting: Setting) -> Self {
        Self { machine, setting, blas: None }
    }

    /// Runs one probe. What holds the device afterwards is what held it before, unless the context has ended.
    pub fn run(&mut self, probe: &Probe) -> ProbeReport {
        let began = Instant::now();
        let found = self.find(probe);
        let took_ms = began.elapsed().as_secs_f64() * 1e3;
        report(probe, &self.setting, found, (took_ms, self.machine.facts().simulated))
    }

    /// Whether the context has ended, so that nothing more can be found here.
    pub fn has_ended(&self) -> bool {
        self.machine.ended().is_some()
    }

    fn find(&mut self, probe: &Probe) -> Found {
        let machine = &mut *self.machine;
        match &probe.subject {
            Subject::Instruction(of) => gate::find(machine, probe.title, of),
            Subject::Rate(of) => rate::find(machine, probe.title, of),
            Subject::Load(of) => load::find(machine, *of),
            Subject::Shared(kib) => shared::find(machine, *kib),
            Subject::Product(grid) => self.multiply(probe, grid),
            Subject::Overflow => mechanics::overflow(machine),
            Subject::Allocate => mechanics::allocate(machine),
        }
    }

    fn multiply(&mut self, probe: &Probe, grid: &Grid) -> Found {
        let Self { machine, setting, blas } = self;
        let blas = blas.get_or_insert_with(|| {
            first(&setting.cublas, |path| {
                let path = as_named(path).map_err(|why| why.to_string())?;
                Blas::open(&path, machine).map_err(|error| error.to_string())
            })
        });
        match blas {
            Ok(blas) => product::find(machine, blas, grid),
            Err(why) => Found::unknown(format!("{}: {why}", probe.title)),
        }
    }
}

/// The first that opens, or why none does.
fn first<T>(
    paths: &[PathBuf],
    mut open: impl FnMut(&Path) -> Result<T, String>,
) -> Result<T, String> {
    let mut why = Vec::new();
    for path in paths {
        match open(path) {
            Ok(opened) => return Ok(opened),
            Err(error) => why.push(error),
        }
    }
    if why.is_empty() {
        return Err("no cuBLAS was found that may be loaded: name one".to_owned());
    }
    Err(why.join("; "))
}

fn report(
    probe: &Probe,
    setting: &Setting,
    found: Found,
    (took_ms, simulated): (f64, bool),
) -> ProbeReport {
    ProbeReport {
        id: probe.id.to_owned(),
        answer: found.answer,
        detail: found.detail,
        facts: found.facts,
        settles: probe.settles.iter().map(|id| (*id).to_owned()).collect(),
        uuid: setting.uuid.clone(),
        driver: None,
        ran: found.ran,
        measured: String::new(),
        took_ms,
        simulated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_library_that_opens_is_asked() {
        let paths = ["/a", "/b", "/c"].map(PathBuf::from);
        let open = |works: &'static str| {
            move |path: &Path| {
                if path == Path::new(works) {
                    Ok(works)
                } else {
                    Err(format!("{}: no", path.display()))
                }
            }
        };
        assert_eq!(first(&paths, open("/b")), Ok("/b"));
        assert_eq!(first(&paths, open("/d")), Err("/a: no; /b: no; /c: no".to_owned()));
        assert!(first(&[], open("/a")).is_err_and(|why| why.contains("no cuBLAS was found")));
    }
}
