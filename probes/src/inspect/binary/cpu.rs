//! The CPU that a library is for, as its header says.
//!
//! Sources: the ELF gABI's `e_machine`, the PE format's "Machine Types".

use serde::{Deserialize, Serialize};

use super::contents::Format;
use super::source::{Source, u16_in, u32_in};

/// A kind of CPU that GPUs stand beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cpu {
    /// AMD's and Intel's of 64 bits.
    X86_64,
    /// Arm's of 64 bits.
    Aarch64,
    /// IBM's POWER, little-endian.
    Ppc64le,
}

/// `e_machine` of an ELF file, `Machine` of a PE file, and the CPU; none where no such file is.
const MACHINES: &[(u16, Option<u16>, Cpu)] =
    &[(62, Some(0x8664), Cpu::X86_64), (183, Some(0xAA64), Cpu::Aarch64), (21, None, Cpu::Ppc64le)];

impl Cpu {
    /// As `uname -m` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Ppc64le => "ppc64le",
        }
    }

    /// The CPU that loads a library or program.
    pub(super) fn of(format: Format, source: &dyn Source) -> Option<Self> {
        let short = |at: u64| {
            let mut bytes = [0; 4];
            let filled = source.read_at(at, &mut bytes).ok()?;
            (filled == bytes.len()).then_some(bytes)
        };
        match format {
            Format::Elf => {
                let machine = u16_in(&short(18)?, 0);
                MACHINES.iter().find(|row| row.0 == machine).map(|row| row.2)
            }
            Format::Pe => {
                let header = u64::from(u32_in(&short(0x3C)?, 0));
                let machine = Some(u16_in(&short(header + 4)?, 0));
                MACHINES.iter().find(|row| row.1 == machine).map(|row| row.2)
            }
            _ => None,
        }
    }
}
