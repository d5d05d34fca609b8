//! The pinned tools: where they lie, that they are the versions they should be, and what they say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpscope_kernels::Sm;
use warpscope_kernels::image::Isa;

use warpscope_kernels::cuda::nvrtc::{Nvrtc, Output, Unit};

/// Compiler and assembler of everything committed.
pub(crate) const CUDA: &str = "12.9.86";
/// The newest disassembler there is as a package of its own.
const DISASSEMBLER: &str = "13.5.37";
/// An assembler of the time when Pascal to Hopper were all that was.
pub(crate) const OLD: &str = "11.8.89";
/// The newest PTX the old assembler reads.
pub(crate) const OLD_ISA: Isa = Isa::new(7, 8);

/// What the old assembler assembles for, of what is built here.
const OLD_TARGETS: [(u8, u8); 8] = [(6, 0), (6, 1), (7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0)];
/// The disassembler refuses machine code below 7.5.
const DISASSEMBLED_FROM: (u8, u8) = (7, 5);

/// The tools of a folder that `.ci/toolchain` fills.
pub(crate) struct Toolchain {
    nvrtc: Nvrtc,
    ptxas: PathBuf,
    old_ptxas: PathBuf,
    nvdisasm: PathBuf,
}

impl Toolchain {
    /// Finds the tools and their versions.
    pub(crate) fn open(folder: &Path) -> Result<Self, String> {
        let at = |path: &str| {
            let path = folder.join(path);
            let missing = || format!("{} is missing: run .ci/toolchain", path.display());
            path.exists().then_some(path.clone()).ok_or_else(missing)
        };
        let tools = Self {
            nvrtc: Nvrtc::load(&at("cu12/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")?)?,
            ptxas: at("cu12/nvidia/cuda_nvcc/bin/ptxas")?,
            old_ptxas: at("cu11/nvidia/cuda_nvcc/bin/ptxas")?,
            nvdisasm: at("cu12/nvidia/cu13/bin/nvdisasm")?,
        };
        for (tool, version) in
            [(&tools.ptxas, CUDA), (&tools.old_ptxas, OLD), (&tools.nvdisasm, DISASSEMBLER)]
        {
            let said = run(Command::new(tool).arg("--version"))?;
            if !said.split_whitespace().any(|word| word == format!("V{version}")) {
                return Err(format!(
                    "{} is not version {version}: run .ci/toolchain",
                    tool.display()
                ));
            }
        }
        Ok(tools)
    }

    /// The PTX of a source, as the compiler writes it.
    pub(crate) fn compile(&self, unit: &Unit, class: Sm) -> Result<String, String> {
        let architecture = format!("--gpu-architecture={}", compute(class));
        let options = [architecture.as_str(), "--std=c++17", "-default-device"];
        let ptx = self.nvrtc.compile(unit, &options, Output::Ptx)?;
        let ptx = String::from_utf8(ptx).map_err(|error| error.to_string())?;
        if ptx.contains(&format!("V{CUDA}\n")) {
            return Ok(ptx);
        }
        Err(format!("the compiler is not NVRTC {CUDA}: run .ci/toolchain"))
    }

    /// Assembles; what the assembler says of registers and memory.
    pub(crate) fn assemble(&self, ptx: &Path, target: Sm, cubin: &Path) -> Result<String, String> {
        assembled_by(&self.ptxas, ptx, target, cubin)
    }

    /// Assembles with the old assembler, where it knows target and version; whether it does. What it writes is thrown away.
    pub(crate) fn assemble_old(&self, ptx: &Path, isa: Isa, target: Sm) -> Result<bool, String> {
        let known = isa <= OLD_ISA && OLD_TARGETS.map(|(a, b)| Sm::new(a, b)).contains(&target);
        if known {
            let scratch = ptx.with_extension("scratch");
            assembled_by(&self.old_ptxas, ptx, target, &scratch)?;
            fs::remove_file(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
        }
        Ok(known)
    }

    /// The instructions of a cubin as text; `None` below what the disassembler reads.
    pub(crate) fn disassemble(&self, target: Sm, cubin: &Path) -> Result<Option<String>, String> {
        if (target.major, target.minor) < DISASSEMBLED_FROM {
            return Ok(None);
        }
        run(Command::new(&self.nvdisasm).arg("-c").arg(cubin)).map(Some)
    }
}

/// `compute_80` of sm_80.
pub(crate) fn compute(class: Sm) -> String {
    class.to_string().replace("sm_", "compute_")
}

fn assembled_by(ptxas: &Path, ptx: &Path, target: Sm, cubin: &Path) -> Result<String, String> {
    let arch = format!("-arch={target}");
    run(Command::new(ptxas).args(["-v", &arch]).arg(ptx).arg("-o").arg(cubin))
}

/// Everything a command says, where it succeeds, and where it does not, as the error.
fn run(command: &mut Command) -> Result<String, String> {
    let program = Path::new(command.get_program()).display().to_string();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(text.into_owned()) } else { Err(format!("{program}:\n{text}")) }
}

/// A text of a file, or which file it is that cannot be read.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
