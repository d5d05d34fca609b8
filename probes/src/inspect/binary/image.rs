//! One image of device code, and what stands for it in lists: its target.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use warpscope_kernels::{Sm, Suffix};

use warpscope_kernels::image::Isa;

/// What an image holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageKind {
    /// Machine code, an ELF file of its own.
    Cubin,
    /// PTX text, compiled by the driver when it is loaded.
    Ptx,
    /// Intermediate code for link-time optimisation; needs a linker before anything can load it.
    Lto,
    /// A kind this program does not know.
    Other(u16),
}

/// How an image is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// As it is.
    None,
    /// NVIDIA's own, before CUDA 11.
    Old,
    /// LZ4.
    Lz4,
    /// Zstandard, from CUDA 12.8 on.
    Zstd,
}

/// One image of device code, as its header describes it. Nothing is decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Image {
    /// What it holds.
    pub kind: ImageKind,
    /// What it was built for.
    pub target: Sm,
    /// The version its PTX is written in; only PTX has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isa: Option<Isa>,
    /// How it is stored.
    pub compression: Compression,
    /// Machine code without a kernel: what compiler and linker leave where there is nothing to compile. No launch ever needs it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
}

impl Image {
    /// What it counts as.
    pub fn target(&self) -> Target {
        let form = match self.kind {
            ImageKind::Cubin => Form::Sm,
            ImageKind::Ptx => Form::Compute,
            ImageKind::Lto => Form::Lto,
            ImageKind::Other(_) => Form::Other,
        };
        Target { form, sm: self.target }
    }
}

/// The prefix NVIDIA writes before a compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// `sm_`: machine code.
    Sm,
    /// `compute_`: PTX.
    Compute,
    /// `lto_`: link-time intermediate code.
    Lto,
    /// `other_`: a kind this program does not know.
    Other,
}

/// Every form with its prefix.
const FORMS: [(Form, &str); 4] =
    [(Form::Sm, "sm_"), (Form::Compute, "compute_"), (Form::Lto, "lto_"), (Form::Other, "other_")];

/// What code was built for, as NVIDIA writes it: `sm_90a`, `compute_80`, `lto_90`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Machine code, PTX or intermediate code.
    pub form: Form,
    /// For which compute capability.
    pub sm: Sm,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix =
            FORMS.iter().find(|(form, _)| *form == self.form).map_or("", |(_, text)| *text);
        let sm = self.sm.to_string();
        f.pad(&format!("{prefix}{}", sm.trim_start_matches("sm_")))
    }
}

impl FromStr for Target {
    type Err = warpscope_kernels::ParseSmError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form =
            FORMS.iter().find_map(|(form, prefix)| Some((*form, text.strip_prefix(prefix)?)));
        let (form, rest) = form.ok_or_else(|| warpscope_kernels::ParseSmError(text.to_owned()))?;
        Ok(Self { form, sm: format!("sm_{rest}").parse()? })
    }
}

warpscope_kernels::text_serde!(Target);

/// Compute capabilities of integrated GPUs (Jetson, DRIVE). Machine code for them and for desktop GPUs is not interchangeable.
const TEGRA: [(u8, u8); 7] = [(3, 2), (5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)];

/// Whether a compute capability belongs to an integrated GPU.
pub fn is_tegra(sm: Sm) -> bool {
    TEGRA.contains(&(sm.major, sm.minor))
}

/// Whether machine code of this many bytes is too little for a kernel. Measured with ptxas 11.8, 12.9 and 13.5: without a kernel 664 to
/// 1,592 bytes, 1,976 to 2,228 from 10.0 on; with a kernel that only returns 1,864 to 3,176, and 4,840 from 10.0 on.
pub(super) fn is_too_small(target: Sm, bytes: u64) -> bool {
    bytes < if target.major >= 10 { 3072 } else { 1728 }
}

/// The compute capability NVIDIA writes as one number: 103 is 10.3. Nothing that could be one is below 10.
pub(super) fn sm_from(number: u32, suffix: Suffix) -> Option<Sm> {
    let plausible = (10..1000).contains(&number);
    let major = u8::try_from(number / 10).ok().filter(|_| plausible)?;
    Some(Sm { major, minor: (number % 10) as u8, suffix })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Segment;

    #[test]
    fn targets_read_as_nvidia_writes_them() {
        for text in ["sm_75", "sm_90a", "sm_100f", "compute_90", "compute_120a", "lto_90"] {
            assert_eq!(text.parse::<Target>().map(|t| t.to_string()), Ok(text.to_owned()));
        }
        for text in ["90", "sm_", "computer_90", "lto_sm_90", "sm_compute_90"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    #[test]
    fn targets_sort_by_form_then_number() {
        let mut targets: Vec<Target> =
            ["compute_80", "sm_120", "sm_90a", "sm_90", "sm_75"].map(|t| t.parse().unwrap()).into();
        targets.sort();
        let texts: Vec<String> = targets.iter().map(Target::to_string).collect();
        assert_eq!(texts, ["sm_75", "sm_90", "sm_90a", "sm_120", "compute_80"]);
    }

    #[test]
    fn integrated_gpus_are_the_systems_on_a_chip_of_the_catalogue() {
        let parts = crate::catalogue::Catalogue::load().parts().iter();
        let soc: Vec<_> = parts.filter(|part| part.segment == Segment::Soc).collect();
        assert!(soc.len() > 5);
        for part in soc {
            // GB10 is one too, and runs machine code for the desktop's 12.0.
            let desktop = part.sm == Sm::new(12, 1);
            assert_eq!(is_tegra(part.sm), !desktop, "{} {}", part.name, part.sm);
        }
    }
}
