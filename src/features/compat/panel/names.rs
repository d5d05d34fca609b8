//! Names of GPUs in as many columns as there are.

use warpscope_probes::Gpu;

use crate::features::Shared;
use crate::features::compat::columns::Column;
use crate::widgets::glyphs::Glyphs;
use crate::widgets::text_width;

/// Words left out of a name until it fits, the emptiest first.
const EMPTY_WORDS: &[&[&str]] = &[
    &["NVIDIA", "GeForce", "Tesla", "Quadro"],
    &[
        "HBM2",
        "HBM2e",
        "HBM3",
        "HBM3e",
        "Generation",
        "Edition",
        "Laptop",
        "GPU",
        "Workstation",
        "Server",
    ],
    &["PCIe", "PCIE", "SXM", "SXM2", "SXM3", "SXM4", "SXM5", "SXM6", "NVL", "Blackwell"],
    &["RTX", "GTX"],
];

/// The name of a GPU without words that tell nothing, as far as needed to fit; the caller cuts what is still too long.
pub(crate) fn fitting(gpu: &Gpu, columns: u16) -> String {
    let name = gpu.identity.name.last().map_or("GPU", String::as_str);
    let name = name.replace('-', " ");
    let mut words: Vec<&str> = name.split_whitespace().collect();
    for (level, empty) in EMPTY_WORDS.iter().enumerate() {
        if level > 0 && text_width(&words.join(" ")) <= columns {
            break;
        }
        let kept: Vec<&str> = words
            .iter()
            .copied()
            .filter(|word| !(empty.contains(word) || (level == 2 && is_size(word))))
            .collect();
        if !kept.is_empty() {
            words = kept;
        }
    }
    words.join(" ")
}

/// The index of a column's only GPU, or how many there are.
pub(crate) fn lead(column: &Column, glyphs: &Glyphs) -> String {
    match column.gpus.as_slice() {
        [one] if !column.is_group => one.to_string(),
        all => format!("{}{}", all.len(), glyphs.times),
    }
}

/// What the GPUs of a column are.
pub(crate) fn named(column: &Column, shared: &Shared, columns: u16) -> String {
    let gpu = |at: &usize| shared.frame.gpus.get(*at).map(|gpu| fitting(gpu, columns));
    let mut names: Vec<String> = column.gpus.iter().filter_map(gpu).collect();
    names.dedup();
    names.join("+")
}

/// `0 T4`, `4×H100`.
pub(crate) fn whole_name(
    column: &Column,
    shared: &Shared,
    glyphs: &Glyphs,
    columns: u16,
) -> String {
    let lead = lead(column, glyphs);
    let gap = if lead.ends_with(glyphs.times) { "" } else { " " };
    let room = columns.saturating_sub(text_width(&lead) + gap.len() as u16);
    format!("{lead}{gap}{}", named(column, shared, room))
}

/// Whether a word is a memory size: `80GB`.
fn is_size(word: &str) -> bool {
    let digits = word.strip_suffix("GB").or_else(|| word.strip_suffix("GiB"));
    digits.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_what_tells_it_apart() {
        for (name, columns, want) in [
            ("Tesla T4", 18, "T4"),
            ("NVIDIA H100 80GB HBM3", 18, "H100 80GB HBM3"),
            ("NVIDIA H100 80GB HBM3", 12, "H100 80GB"),
            ("NVIDIA H100 80GB HBM3", 4, "H100"),
            ("NVIDIA A100-SXM4-40GB", 4, "A100"),
            ("NVIDIA GeForce RTX 2080 Ti", 12, "RTX 2080 Ti"),
            ("NVIDIA GeForce RTX 2080 Ti", 7, "2080 Ti"),
            ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 12, "RTX PRO 6000"),
            ("NVIDIA GB10", 3, "GB10"),
            ("NVIDIA", 3, "NVIDIA"),
        ] {
            let mut gpu = Gpu::default();
            gpu.identity.name = name.to_owned().into();
            assert_eq!(fitting(&gpu, columns), want, "{name} in {columns}");
        }
    }
}
