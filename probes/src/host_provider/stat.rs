/// What `/proc/<pid>/stat` tells and is needed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// Short name as the process chose it: any bytes, brackets and line breaks included.
    pub(super) name: String,
    pub(super) parent: u32,
    /// User and system time, in clock ticks.
    pub(super) cpu_ticks: u64,
    /// Start, in clock ticks after boot; with the pid, the identity of a process.
    pub(super) started_ticks: u64,
    pub(super) resident_pages: u64,
}

impl Stat {
    /// Reads the file; `None` for anything cut short or damaged.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let open = bytes.iter().position(|byte| *byte == b'(')?;
        // The name may contain brackets, so it ends at the last one; numbers only come after it.
        let close = bytes.iter().rposition(|byte| *byte == b')').filter(|close| *close > open)?;
        let name = String::from_utf8_lossy(&bytes[open + 1..close]).into_owned();
        let fields = std::str::from_utf8(&bytes[close + 1..]).ok()?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        // proc_pid_stat(5) counts from 1 and the state, after the name, is field 3.
        let field = |number: usize| fields.get(number - 3).copied();
        let cpu_ticks = number(field(14)?)?.saturating_add(number(field(15)?)?);
        Some(Self {
            name,
            parent: field(4)?.parse().ok()?,
            cpu_ticks,
            started_ticks: number(field(22)?)?,
            resident_pages: number(field(24)?)?,
        })
    }
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}
