use crate::host::CpuFeature;

/// Instruction sets that decide which kernel runs, as `/proc/cpuinfo` names them: on x86 under
/// `flags`, on ARM under `Features`. The kernel lists only what it has switched on.
pub(super) const FEATURES: &[(&str, &[&str])] = &[
    (
        "flags",
        &[
            "f16c",
            "fma",
            "avx2",
            "avx_vnni",
            "avx512f",
            "avx512bw",
            "avx512vl",
            "avx512_vnni",
            "avx512_bf16",
            "avx512_fp16",
            "amx_tile",
            "amx_int8",
            "amx_bf16",
        ],
    ),
    ("Features", &["asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2"]),
];

/// The row of `/proc/cpuinfo` with that key, of the first CPU that has one.
fn row<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// Every instruction set that matters on this kind of CPU, present or not.
pub(super) fn features(cpuinfo: &str) -> Vec<CpuFeature> {
    let known = FEATURES.iter().find_map(|(key, ids)| row(cpuinfo, key).map(|row| (row, *ids)));
    let Some((flags, ids)) = known else { return Vec::new() };
    let has = |id: &str| flags.split_ascii_whitespace().any(|flag| flag == id);
    ids.iter().map(|id| CpuFeature { id: (*id).to_owned(), present: has(id) }).collect()
}
