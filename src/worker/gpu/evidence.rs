//! What a wrong case leaves behind in a folder, for somebody who has no such device: `gemm.bf16-3.json` with launches and mismatches, and the bytes of
//! its buffers beside it. While a case runs, `gemm.bf16-running.json` says which; of a kernel that hangs it stays.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use warpscope_kernels::gpu::forensics::{Finding, examine};
use warpscope_kernels::gpu::{Case, CaseOutcome, Content, Judge, Launch, MachineError};

/// Most bytes of a buffer that are kept.
const BYTES_MAX: usize = 2 << 20;
/// Wrong cases of a kernel whose bytes are kept; of the others only what was found.
const CASES_MAX: usize = 3;
/// Wrong cases of a kernel that are reported at all.
const REPORTS_MAX: usize = 16;

/// What a case was doing.
#[derive(Serialize)]
struct Running<'a> {
    kernel: &'a str,
    case: &'a str,
    launches: Vec<Launch>,
}

/// What was found of a wrong case.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    running: Running<'a>,
    wrong: &'a str,
    error: Option<f64>,
    findings: Vec<Finding>,
    /// What came of running it again: `same bytes`, `other bytes`, `right`.
    again: Vec<&'static str>,
    /// Names of files, and bytes that were left out of each.
    files: Vec<(String, usize)>,
}

/// Keeps evidence of the cases of one kernel.
pub(super) struct Evidence<'a> {
    folder: &'a Path,
    kernel: &'a str,
    wrong: usize,
}

impl<'a> Evidence<'a> {
    /// For a kernel, below a folder.
    pub(super) fn new(folder: &'a Path, kernel: &'a str) -> Self {
        Self { folder, kernel, wrong: 0 }
    }

    /// Whether no more wrong cases are kept.
    pub(super) fn is_full(&self) -> bool {
        self.wrong >= REPORTS_MAX
    }

    /// A case begins.
    pub(super) fn begin(&self, case: &Case) -> io::Result<()> {
        self.json("running", &self.running(case))
    }

    /// All cases have ended by themselves.
    pub(super) fn end(&self) -> io::Result<()> {
        let path = self.folder.join(format!("{}-running.json", self.kernel));
        std::fs::remove_file(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })
    }

    /// A case was wrong, this is what its buffers held, and that is what came of running it again.
    pub(super) fn keep(
        &mut self,
        case: &Case,
        outcome: &CaseOutcome,
        bodies: &[Vec<u8>],
        again: Vec<&'static str>,
    ) -> io::Result<()> {
        self.wrong += 1;
        let files = if self.wrong <= CASES_MAX { self.buffers(case, bodies)? } else { Vec::new() };
        let report = Report {
            running: self.running(case),
            wrong: outcome.wrong.as_deref().unwrap_or_default(),
            error: outcome.error,
            findings: examine(case, bodies),
            again,
            files,
        };
        self.json(&self.wrong.to_string(), &report)
    }

    fn running<'b>(&'b self, case: &'b Case) -> Running<'b> {
        Running { kernel: self.kernel, case: &case.name, launches: case.launches() }
    }

    fn buffers(&self, case: &Case, bodies: &[Vec<u8>]) -> io::Result<Vec<(String, usize)>> {
        let mut files = Vec::new();
        for (index, content) in case.buffers.iter().enumerate() {
            if let Content::Bytes(bytes) = content {
                files.push(self.bytes(&format!("in{index}"), bytes)?);
            }
        }
        for expect in &case.expect {
            let want = match &expect.judge {
                Judge::Bits(bytes) => bytes.clone(),
                Judge::Near { reference, .. } => {
                    reference.iter().flat_map(|value| value.to_le_bytes()).collect()
                }
            };
            files.push(self.bytes(&format!("want{}", expect.buffer), &want)?);
            let got = bodies.get(expect.buffer).map(Vec::as_slice).unwrap_or_default();
            files.push(self.bytes(&format!("got{}", expect.buffer), got)?);
        }
        Ok(files)
    }

    fn bytes(&self, what: &str, bytes: &[u8]) -> io::Result<(String, usize)> {
        let name = format!("{}-{}.{what}.bin", self.kernel, self.wrong);
        let kept = &bytes[..bytes.len().min(BYTES_MAX)];
        self.write(&name, kept)?;
        Ok((name, bytes.len() - kept.len()))
    }

    fn json(&self, what: &str, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec(value).map_err(io::Error::other)?;
        self.write(&format!("{}-{what}.json", self.kernel), &text)
    }

    /// On the disk before the next launch, which may take the machine down.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        std::fs::create_dir_all(self.folder)?;
        let mut file = File::create(self.folder.join(name))?;
        file.write_all(bytes)?;
        file.sync_data()
    }
}

/// What came of running a wrong case again, in a word.
pub(super) fn compared(
    again: &Result<CaseOutcome, MachineError>,
    same: Option<bool>,
) -> &'static str {
    match (again, same) {
        (Err(_), _) => "failed",
        (Ok(_), None) => "right",
        (Ok(_), Some(true)) => "same bytes",
        (Ok(_), Some(false)) => "other bytes",
    }
}
