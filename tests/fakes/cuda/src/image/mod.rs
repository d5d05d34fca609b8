//! What a program hands over to be loaded, and whether this board and driver can load it.
//!
//! The rules are NVIDIA's documented ones. A cubin runs on its major compute capability from its minor on (programming
//! guide, "Binary Compatibility"); one for `sm_90a` on exactly that; one for `sm_100f` on its family. PTX runs on its target and
//! above, if the driver knows its ISA version. PTX for a newer target is an invalid PTX, as users of real drivers
//! report (github.com/Rust-GPU/rust-cuda/issues/410), not a missing binary.

mod elf;
mod fatbin;
mod features;
mod header;
mod raw;

use warpscope_kernels::{Sm, Suffix};

pub(crate) use elf::Cubin;
#[cfg(test)]
pub(crate) use elf::Kernel;
pub(crate) use raw::take;

use crate::codes::{INVALID_IMAGE, INVALID_PTX, NO_BINARY_FOR_GPU, UNSUPPORTED_PTX_VERSION};

/// A board and its driver, as far as loading goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loader {
    /// Compute capability of the board.
    pub(crate) device: Sm,
    /// CUDA version of the driver.
    pub(crate) driver: u32,
}

/// What will run.
#[derive(Debug, PartialEq)]
pub(crate) enum Chosen {
    /// A binary, and its bytes.
    Cubin(Cubin, Vec<u8>),
    /// PTX that the driver compiles.
    Ptx { text: String, target: Sm },
}

/// Why nothing does.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal {
    /// `CUresult`.
    pub(crate) code: u32,
    /// What the log says.
    pub(crate) why: String,
}

impl Refusal {
    pub(crate) fn new(code: u32, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

/// PTX ISA a driver knows, by its CUDA version. PTX ISA manual, "Release Notes".
#[rustfmt::skip]
const ISAS: &[(u32, (u8, u8))] = &[
    (9000, (6, 0)), (9010, (6, 1)), (9020, (6, 2)), (10000, (6, 3)), (10010, (6, 4)), (10020, (6, 5)), (11000, (7, 0)), (11010, (7, 1)),
    (11020, (7, 2)), (11030, (7, 3)), (11040, (7, 4)), (11050, (7, 5)), (11060, (7, 6)), (11070, (7, 7)), (11080, (7, 8)), (12000, (8, 0)),
    (12010, (8, 1)), (12020, (8, 2)), (12030, (8, 3)), (12040, (8, 4)), (12050, (8, 5)), (12080, (8, 7)), (12090, (8, 8)), (13000, (9, 0)),
    (13010, (9, 1)), (13020, (9, 2)), (13030, (9, 3)), (13040, (9, 4)), (13050, (9, 5)),
];

/// The image of `bytes` that runs here.
pub(crate) fn choose(bytes: &[u8], loader: Loader) -> Result<Chosen, Refusal> {
    if bytes.starts_with(elf::MAGIC) {
        choose_cubin(bytes, loader)
    } else if bytes.starts_with(&fatbin::MAGIC.to_le_bytes()) {
        choose_in_fatbin(bytes, loader)
    } else {
        let text = std::str::from_utf8(bytes);
        let text = text.map_err(|_| Refusal::new(INVALID_IMAGE, "neither ELF, fatbin nor text"))?;
        loader.ptx(text)
    }
}

fn choose_cubin(bytes: &[u8], loader: Loader) -> Result<Chosen, Refusal> {
    let cubin = elf::read(bytes)
        .ok_or_else(|| Refusal::new(INVALID_IMAGE, "an ELF file that is no cubin"))?;
    if loader.runs_binary(cubin.target) {
        return Ok(Chosen::Cubin(cubin, bytes.to_vec()));
    }
    let why = format!("a cubin for {} does not run on {}", cubin.target, loader.device);
    Err(Refusal::new(NO_BINARY_FOR_GPU, why))
}

/// The best binary, else the newest PTX.
fn choose_in_fatbin(bytes: &[u8], loader: Loader) -> Result<Chosen, Refusal> {
    let broken = || Refusal::new(INVALID_IMAGE, "a broken fatbin");
    let entries = fatbin::entries(bytes).ok_or_else(broken)?;
    let binaries = entries.iter().filter(|it| !it.is_ptx && loader.runs_binary(it.target));
    if let Some(best) = binaries.max_by_key(|it| (it.target.suffix, it.target.minor)) {
        return choose_cubin(best.payload.ok_or_else(compressed)?, loader);
    }
    let sources = entries.iter().filter(|it| it.is_ptx && loader.compiles(it.target));
    if let Some(best) = sources.max_by_key(|it| (it.target.major, it.target.minor)) {
        let payload = best.payload.ok_or_else(compressed)?;
        let end = payload.iter().position(|byte| *byte == 0).unwrap_or(payload.len());
        return loader.ptx(std::str::from_utf8(&payload[..end]).map_err(|_| broken())?);
    }
    let has: Vec<String> = entries.iter().map(|it| it.target.to_string()).collect();
    let why = format!("a fatbin for {} has nothing for {}", has.join(", "), loader.device);
    Err(Refusal::new(NO_BINARY_FOR_GPU, why))
}

fn compressed() -> Refusal {
    Refusal::new(crate::codes::NOT_SUPPORTED, "the stand-in does not unpack compressed fatbins")
}

impl Loader {
    fn isa(self) -> (u8, u8) {
        let known = ISAS.iter().rev().find(|entry| entry.0 <= self.driver);
        known.map_or((0, 0), |entry| entry.1)
    }

    fn runs_binary(self, target: Sm) -> bool {
        let (device, same) = (self.device, target.major == self.device.major);
        match target.suffix {
            Suffix::Arch => same && target.minor == device.minor,
            Suffix::None | Suffix::Family => same && target.minor <= device.minor,
        }
    }

    fn compiles(self, target: Sm) -> bool {
        let reach = (target.major, target.minor) <= (self.device.major, self.device.minor);
        match target.suffix {
            Suffix::None => reach,
            Suffix::Arch | Suffix::Family => self.runs_binary(target),
        }
    }

    fn ptx(self, text: &str) -> Result<Chosen, Refusal> {
        let header = header::read(text)
            .ok_or_else(|| Refusal::new(INVALID_PTX, "no .version and .target at its beginning"))?;
        let isa = self.isa();
        if header.version > isa {
            let ((major, minor), (ours, our_minor)) = (header.version, isa);
            let why = format!(
                "ptxas fatal   : Unsupported .version {major}.{minor}; current version is '{ours}.{our_minor}'"
            );
            return Err(Refusal::new(UNSUPPORTED_PTX_VERSION, why));
        }
        if !self.compiles(header.target) {
            let why = "ptxas fatal   : SM version specified by .target is higher than default SM version assumed";
            return Err(Refusal::new(INVALID_PTX, why));
        }
        if let Some(why) = features::refused(text, header.target) {
            return Err(Refusal::new(INVALID_PTX, why));
        }
        Ok(Chosen::Ptx { text: text.to_owned(), target: header.target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loader(device: &str, driver: u32) -> Loader {
        Loader { device: device.parse().expect("an sm"), driver }
    }

    fn code(bytes: &[u8], device: &str, driver: u32) -> u32 {
        choose(bytes, loader(device, driver)).err().map_or(0, |refusal| refusal.code)
    }

    /// e_flags and ABI bytes as ptxas 12.9 and 13.5 wrote them.
    #[test]
    fn a_cubin_runs_on_its_major_from_its_minor_on() {
        for (abi, flags, device, want) in [
            ((0x33, 7), 0x004b_054b_u32, "sm_75", 0),
            ((0x33, 7), 0x0046_0546, "sm_75", 0),
            ((0x33, 7), 0x0050_0550, "sm_75", NO_BINARY_FOR_GPU),
            ((0x33, 7), 0x0056_0556, "sm_80", NO_BINARY_FOR_GPU),
            ((0x33, 7), 0x0050_0550, "sm_89", 0),
            ((0x33, 7), 0x005a_055a, "sm_90", 0),
            ((0x33, 7), 0x005a_0d5a, "sm_90", 0),
            ((0x33, 7), 0x005a_0d5a, "sm_100", NO_BINARY_FOR_GPU),
            ((0x41, 8), 0x0600_7802, "sm_120", 0),
            ((0x41, 8), 0x0600_4b04, "sm_75", 0),
            ((0x41, 8), 0x0600_640a, "sm_100", 0),
            ((0x41, 8), 0x0600_640a, "sm_103", NO_BINARY_FOR_GPU),
            ((0x41, 8), 0x0600_6402, "sm_103", 0),
        ] {
            let cubin = elf::tests::cubin(abi, flags);
            assert_eq!(code(&cubin, device, 13000), want, "{flags:#x} on {device}");
        }
    }

    #[test]
    fn ptx_runs_on_its_target_and_above_if_the_driver_knows_its_version() {
        for (version, target, device, driver, want) in [
            ("7.0", "sm_80", "sm_90", 13000, 0),
            ("7.0", "sm_80", "sm_75", 13000, INVALID_PTX),
            ("8.8", "sm_70", "sm_75", 12090, 0),
            ("8.8", "sm_70", "sm_75", 12080, UNSUPPORTED_PTX_VERSION),
            ("8.0", "sm_90a", "sm_90", 12080, 0),
            ("8.0", "sm_90a", "sm_100", 12080, INVALID_PTX),
            ("8.8", "sm_100f", "sm_103", 12090, 0),
            ("8.8", "sm_100f", "sm_120", 12090, INVALID_PTX),
            ("6.0", "sm_60", "sm_60", 8000, UNSUPPORTED_PTX_VERSION),
        ] {
            let text =
                format!("//\n// made\n.version {version}\n.target {target}\n.address_size 64\n");
            assert_eq!(code(text.as_bytes(), device, driver), want, "{version} {target} {device}");
        }
        assert_eq!(code(b"hello", "sm_75", 13000), INVALID_PTX);
        assert_eq!(code(&[0xff, 0xfe, 1], "sm_75", 13000), INVALID_IMAGE);
        assert_eq!(code(b"\x7fELF", "sm_75", 13000), INVALID_IMAGE);
    }

    #[test]
    fn a_fatbin_gives_its_best_binary_else_its_newest_ptx() {
        let sm = |number, minor| Sm::new(number, minor);
        let ptx = |target: &str| format!(".version 7.0\n.target {target}\n\0").into_bytes();
        let fat = fatbin::tests::fatbin(&[
            (false, sm(8, 0), elf::tests::cubin((0x33, 7), 0x0050_0550)),
            (false, sm(8, 6), elf::tests::cubin((0x33, 7), 0x0056_0556)),
            (true, sm(7, 0), ptx("sm_70")),
            (true, sm(8, 0), ptx("sm_80")),
        ]);
        let chosen = |device| match choose(&fat, loader(device, 13000)) {
            Ok(Chosen::Cubin(cubin, _)) => format!("cubin {}", cubin.target),
            Ok(Chosen::Ptx { target, .. }) => format!("ptx {target}"),
            Err(refusal) => refusal.code.to_string(),
        };
        for (device, want) in [
            ("sm_80", "cubin sm_80"),
            ("sm_89", "cubin sm_86"),
            ("sm_75", "ptx sm_70"),
            ("sm_120", "ptx sm_80"),
            ("sm_61", "209"),
        ] {
            assert_eq!(chosen(device), want, "{device}");
        }
    }
}
