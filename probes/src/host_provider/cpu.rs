use crate::host::CpuFeature;
use crate::units::Percent;

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

/// Model name of the first CPU.
pub(super) fn model(cpuinfo: &str) -> Option<&str> {
    let keys = ["model name", "Model", "Hardware", "cpu model"];
    keys.iter().find_map(|key| row(cpuinfo, key)).filter(|name| !name.is_empty())
}

/// Every instruction set that matters on this kind of CPU, present or not.
pub(super) fn features(cpuinfo: &str) -> Vec<CpuFeature> {
    let known = FEATURES.iter().find_map(|(key, ids)| row(cpuinfo, key).map(|row| (row, *ids)));
    let Some((flags, ids)) = known else { return Vec::new() };
    let has = |id: &str| flags.split_ascii_whitespace().any(|flag| flag == id);
    ids.iter().map(|id| CpuFeature { id: (*id).to_owned(), present: has(id) }).collect()
}

/// How many CPUs a list such as `0-3,8` names.
pub(super) fn count(list: &str) -> Option<u32> {
    let mut all = 0u32;
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        all = all.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(all)
}

/// Time one CPU, or all together, has counted since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    total: u64,
}

/// The `cpu` rows of `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Times(Vec<(String, Ticks)>);

impl Times {
    /// Reads the `cpu` rows; the rest, and a row cut short, is left out.
    pub(super) fn parse(stat: &str) -> Self {
        let rows = stat.lines().take_while(|line| line.starts_with("cpu"));
        Self(rows.filter_map(ticks).collect())
    }

    /// Use of all CPUs together and of each since `before`. `None` where the clock stood still or
    /// the rows do not match, as after a CPU was taken away.
    pub(super) fn since(&self, before: &Self) -> Option<(Percent, Vec<Percent>)> {
        let same = self.0.iter().map(|row| &row.0).eq(before.0.iter().map(|row| &row.0));
        let pairs = same.then(|| self.0.iter().zip(&before.0))?;
        let shares: Option<Vec<_>> = pairs.map(|(now, then)| share(now.1, then.1)).collect();
        let mut shares = shares?.into_iter();
        Some((shares.next()?, shares.collect()))
    }
}

fn ticks(line: &str) -> Option<(String, Ticks)> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next()?.to_owned();
    // Guest time is counted in user time already, so only the first eight columns add up.
    let columns: Result<Vec<u64>, _> = words.take(8).map(str::parse).collect();
    let columns = columns.ok().filter(|columns| columns.len() >= 4)?;
    let total = columns.iter().fold(0u64, |sum, ticks| sum.saturating_add(*ticks));
    let idle = columns[3].saturating_add(columns.get(4).copied().unwrap_or(0));
    Some((name, Ticks { busy: total.saturating_sub(idle), total }))
}

fn share(now: Ticks, then: Ticks) -> Option<Percent> {
    let total = now.total.checked_sub(then.total).filter(|total| *total > 0)?;
    // Idle time may step back by a tick, so busy time may exceed the total.
    let busy = now.busy.saturating_sub(then.busy).min(total);
    Some(Percent((busy as f64 / total as f64 * 100.0) as f32))
}
