use std::borrow::Cow;

use ratatui::text::{Line, Span};
use warpscope_kernels::Dtype;
use warpscope_probes::catalogue::{Catalogue, Support};
use warpscope_probes::gpu::{Identity, Presence, Vitals};
use warpscope_probes::nvml::read_at;
use warpscope_probes::process::Process;
use warpscope_probes::text::printable;
use warpscope_probes::units::Bytes;
use warpscope_probes::xid::{self, Blame};
use warpscope_probes::{Absence, Field, Gpu, Timestamp};

use super::Details;
use super::users::sorted;
use crate::features::process_cells::{command, size};
use crate::features::{Input, Shared};
use crate::widgets::format::{self, Units, percent};
use crate::widgets::theme::Role;
use crate::widgets::{Look, Titled, wrap};

/// What fields are about, by how their keys begin; the first that fits.
const GROUPS: &[(&str, &[&str])] = &[
    ("Board", &["name", "uuid", "pci_", "brand", "vbios", "board_"]),
    ("Compute", &["architecture", "sm", "cuda_", "compute_mode"]),
    ("Modes", &["persistence", "mig_mode", "vgpu_mode", "ecc_mode"]),
    ("Utilization", &["util_"]),
    ("Memory", &["memory_", "bar1_"]),
    ("Temperature", &["temperature_", "tlimit_"]),
    ("Power", &["power_", "energy_"]),
    ("Clocks", &["clock_", "pstate"]),
    ("Fans", &["fan_"]),
    ("PCIe", &["pcie_"]),
    ("NVLink", &["nvlink_"]),
    ("Errors", &["ecc_", "retired_", "rows_"]),
    ("Pipes of the SMs", &["gpm_"]),
];
/// Seconds beyond the time between two frames from which on a value counts as old.
const OLD: f64 = 2.0;
/// Columns of `59 s ago` and the gap behind it.
const AGE: usize = 10;
/// Longest value that leaves room for a sentence beside it, and the least room for one.
const SHORT_VALUE: usize = 26;
const SENTENCE: usize = 24;

fn group(key: &str) -> usize {
    let fits = |(_, starts): &(&str, &[&str])| starts.iter().any(|start| key.starts_with(start));
    GROUPS.iter().position(fits).unwrap_or(GROUPS.len() - 1)
}

/// Everything about one GPU, straight from the field tables, by what it is about.
pub(crate) fn page(shared: &Shared, look: Look<'_>, of: &Details, width: usize) -> Titled {
    let Some(gpu) = shared.frame.gpus.iter().find(|gpu| gpu.key == of.key) else {
        let lines = vec![Line::styled("This GPU is gone.", look.style(Role::Warn))];
        return ("GPU".into(), lines);
    };
    let page = Rows { look, shared, gpu, filter: &of.page.filter, width };
    let mut lines = page.listed("Processes", processes(&page, gpu));
    for (at, (title, _)) in GROUPS.iter().enumerate() {
        let mut rows = page.fields((at, title), Identity::FIELDS, &gpu.identity);
        rows.extend(page.fields((at, title), Vitals::FIELDS, &gpu.vitals));
        lines.extend(under(look, title, page.aligned(&rows)));
        if *title == "Compute" {
            lines.extend(page.listed("Number formats", dtypes(look, gpu)));
        }
    }
    lines.extend(page.listed("Parts and limits", parts(&page, gpu)));
    if lines.is_empty() {
        lines.push(Line::styled(
            "Nothing has these words; Esc clears them.",
            look.style(Role::Muted),
        ));
    }
    let name = gpu.identity.name.last().map_or("GPU", String::as_str);
    let search = of.page.search(look.glyphs.cursor);
    (format!("{} {name}{search}", gpu.index), lines)
}

/// Lines under their heading, and a blank behind them; no heading without lines.
fn under(look: Look<'_>, title: &'static str, lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    if lines.is_empty() {
        return lines;
    }
    let head = Line::styled(title, look.style(Role::Header));
    std::iter::once(head).chain(lines).chain([Line::default()]).collect()
}

/// A field with its value.
struct Row {
    label: Cow<'static, str>,
    text: String,
    role: Role,
    doc: &'static str,
    /// How long ago it was read; empty unless that is long.
    age: String,
}

impl Row {
    fn new(label: impl Into<Cow<'static, str>>, text: String, role: Role) -> Self {
        Self { label: label.into(), text: printable(&text), role, doc: "", age: String::new() }
    }
}

/// How rows are written, and which.
struct Rows<'a> {
    look: Look<'a>,
    shared: &'a Shared,
    gpu: &'a Gpu,
    filter: &'a Input,
    width: usize,
}

impl Rows<'_> {
    /// Fields of a group that have a value and the words that are searched.
    fn fields<S>(&self, (at, title): (usize, &str), fields: &[Field<S>], of: &S) -> Vec<Row> {
        let row = |field: &Field<S>| {
            let (text, role) = self.value(field, of)?;
            let text = printable(&text);
            let all = format!("{title} {} {text} {}", field.label, field.doc);
            let found = self.filter.matches(&all);
            let age = self.age(read_at(field.key, self.gpu));
            found.then_some(Row { label: field.label.into(), text, role, doc: field.doc, age })
        };
        fields.iter().filter(|field| group(field.key) == at).filter_map(row).collect()
    }

    fn value<S>(&self, field: &Field<S>, of: &S) -> Option<(String, Role)> {
        Some(match (field.text)(of) {
            Ok(text) => (self.written(field, &text), Role::Text),
            Err(Absence::Unsupported) => return None,
            Err(Absence::Failed(why)) => (why, Role::Bad),
            Err(absence) => (absence.word().to_owned(), Role::Absent),
        })
    }

    /// How long ago a value was read, if that is longer than the frame is old.
    fn age(&self, read: Option<Timestamp>) -> String {
        let age = read.map_or(0.0, |read| self.shared.frame.at.seconds_since(read));
        let is_old = age > self.shared.settings.interval.as_secs_f64() + OLD;
        if is_old { format!("{age:.0} s ago") } else { String::new() }
    }

    fn written<S>(&self, field: &Field<S>, text: &str) -> String {
        match field.key {
            key if HEXADECIMAL.contains(&key) => hexadecimal(text),
            key if WORDS.contains(&key) => text.replace('_', " "),
            _ => self.shared.display.units.text(text, field.unit, self.look.glyphs),
        }
    }

    /// Labels, values and sentences, each in a column of its own.
    fn aligned(&self, rows: &[Row]) -> Vec<Line<'static>> {
        let lengths = rows.iter().map(|row| row.text.chars().count());
        let value = lengths.filter(|length| *length <= SHORT_VALUE).max().unwrap_or(0) + 2;
        let label = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0) + 4;
        let age = if rows.iter().any(|row| !row.age.is_empty()) { AGE } else { 0 };
        rows.iter().flat_map(|row| self.row(row, (label, value, age))).collect()
    }

    fn row(&self, row: &Row, (label, value, age): (usize, usize, usize)) -> Vec<Line<'static>> {
        let styled = |text: String, role| Span::styled(text, self.look.style(role));
        let head = styled(format!("  {:<1$}", row.label, label - 2), Role::Muted);
        let room = self.width.saturating_sub(label + value + age);
        if room < SENTENCE || row.text.chars().count() > SHORT_VALUE || row.doc.is_empty() {
            return self.long(row, head, label);
        }
        let text = styled(row.text.clone(), row.role);
        let gap = Span::raw(" ".repeat(value.saturating_sub(row.text.chars().count())));
        let read = styled(format!("{:<age$}", row.age), Role::Absent);
        let mut rest = wrap(row.doc, room).into_iter();
        let first = styled(rest.next().unwrap_or_default(), Role::Muted);
        let indent = " ".repeat(label + value + age);
        let more = rest.map(|more| Line::from(styled(format!("{indent}{more}"), Role::Muted)));
        std::iter::once(Line::from(vec![head, text, gap, read, first])).chain(more).collect()
    }

    /// A value that has its lines to itself.
    fn long(&self, row: &Row, head: Span<'static>, label: usize) -> Vec<Line<'static>> {
        let indent = Span::raw(" ".repeat(label));
        let mut texts = wrap(&row.text, self.width.saturating_sub(label));
        if texts.is_empty() {
            texts.push(String::new());
        }
        let value = |text| Span::styled(text, self.look.style(row.role));
        let heads = std::iter::once(head).chain(std::iter::repeat(indent));
        let mut lines: Vec<_> =
            heads.zip(texts).map(|(head, text)| Line::from(vec![head, value(text)])).collect();
        if let Some(last) = lines.last_mut().filter(|_| !row.age.is_empty()) {
            last.push_span(Span::styled(format!("  {}", row.age), self.look.style(Role::Absent)));
        }
        lines
    }

    /// Rows that have the words that are searched, under their heading.
    fn listed(&self, title: &'static str, rows: Vec<Row>) -> Vec<Line<'static>> {
        let is_found =
            |row: &Row| self.filter.matches(&format!("{title} {} {}", row.label, row.text));
        let found: Vec<Row> = rows.into_iter().filter(is_found).collect();
        under(self.look, title, self.aligned(&found))
    }
}

/// Fields whose number is written as PCI tools write it.
const HEXADECIMAL: &[&str] = &["pci_device_id", "pci_subsystem_id"];
/// Fields whose value is a word of the driver's.
const WORDS: &[&str] = &["compute_mode", "vgpu_mode"];

/// A number with its vendor in the low half is written as `lspci` writes both: `10de:1234`.
fn hexadecimal(number: &str) -> String {
    number.parse::<u32>().map_or(number.to_owned(), |number| match number >> 16 {
        0 => format!("{number:04x}"),
        device => format!("{:04x}:{device:04x}", number & 0xffff),
    })
}

/// Who uses it, by the memory held: PID, then memory, SM time, owner and command.
fn processes(page: &Rows<'_>, gpu: &Gpu) -> Vec<Row> {
    let shared = page.shared;
    let on_it = |process: &&Process| process.gpu == gpu.key;
    let rows = sorted(&shared.frame.processes, Some(&gpu.key)).into_iter().take_while(on_it);
    let row = |process: &Process| {
        let sm = process.usage.sm_pct.last().map(|pct| format!(", {} SM", percent(pct.0.into())));
        let user = process.host.user.last().map(|user| format!(", {user}"));
        let mig = process.mig.map(|mig| format!("MIG {mig}: ")).unwrap_or_default();
        let held = size(shared, &process.usage.gpu_memory_bytes).0;
        let (command, role) = command(process);
        let [sm, user] = [sm, user].map(Option::unwrap_or_default);
        Row::new(process.pid.to_string(), format!("{mig}{held}{sm}{user}: {command}"), role)
    };
    let rows: Vec<_> = rows.map(row).collect();
    match (&gpu.processes_failed, rows.is_empty()) {
        (Some(why), _) => vec![Row::new("unknown", why.clone(), Role::Bad)],
        (None, true) if gpu.presence == Presence::Present && !shared.frame.without_processes => {
            vec![Row::new("none", "no process uses it".to_owned(), Role::Muted)]
        }
        (None, _) => rows,
    }
}

fn dtypes(look: Look<'_>, gpu: &Gpu) -> Vec<Row> {
    let Some(sm) = gpu.identity.sm.last() else { return Vec::new() };
    let support = Catalogue::load().dtype_support(*sm, gpu.identity.pci_device_id.last().copied());
    let row = |(dtype, support): &(Dtype, Support)| {
        let text = format!("{} {}", support.how.symbol(!look.glyphs.is_unicode), support.detail);
        Row::new(dtype.label(), text, Role::Text)
    };
    support.iter().map(row).collect()
}

fn parts(page: &Rows<'_>, gpu: &Gpu) -> Vec<Row> {
    let mut rows = held_clocks(page, gpu);
    rows.extend(gpu.xids.iter().rev().map(|one| {
        let meaning = xid::meaning(one.xid).unwrap_or("no meaning known");
        let role = match xid::blame(one.xid) {
            Blame::Program => Role::Text,
            Blame::Hardware => Role::Bad,
        };
        Row::new(format!("Xid {}", one.xid), format!("{meaning}, {}\u{d7}", one.count), role)
    }));
    rows.extend(gpu.nvlinks.iter().map(|link| {
        let text = format!(
            "{}{}{}",
            if link.active { "up" } else { "down" },
            link.version.map(|version| format!(", version {version}")).unwrap_or_default(),
            link.remote.as_ref().map(|remote| format!(", to {remote}")).unwrap_or_default(),
        );
        Row::new(format!("NVLink {}", link.link), text, Role::Text)
    }));
    rows.extend(gpu.mig.iter().map(|mig| {
        let units = page.shared.display.units;
        let [used, total] = [mig.memory_used_bytes, mig.memory_total_bytes]
            .map(|bytes| instance_size(units, bytes));
        let text = format!("{} {used} / {total}", mig.name);
        Row::new(format!("MIG {}", mig.index), text, Role::Text)
    }));
    rows
}

/// How long clocks were held, and for what.
fn held_clocks(page: &Rows<'_>, gpu: &Gpu) -> Vec<Row> {
    let mut rows = Vec::new();
    let age = page.age(gpu.read_at.long_turn);
    let has_slow = !gpu.throttle.violations.is_empty() || !gpu.nvlinks.is_empty();
    if has_slow && !age.is_empty() {
        rows.push(Row::new(
            "read",
            format!("{age}: the times below full clocks, and NVLinks"),
            Role::Absent,
        ));
    }
    for share in gpu.throttle.seen.iter().filter(|share| share.active_s > 0.0) {
        let text = format!("{:.0} s of {:.0} s watched", share.active_s, share.watched_s);
        rows.push(Row::new(share.reason.words(), text, Role::Text));
    }
    for violation in &gpu.throttle.violations {
        let text = format!(
            "held the clocks down for {:.1} s since the driver was loaded",
            violation.seconds.0
        );
        rows.push(Row::new(violation.policy.replace('_', " "), text, Role::Text));
    }
    rows
}

fn instance_size(units: Units, bytes: Option<Bytes>) -> format::Short {
    format::or_absent(bytes, |bytes| units.bytes(bytes.0 as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_pci_read_as_lspci_writes_them() {
        for (number, text) in [(0x2330_u32, "2330"), (0x1234_10de, "10de:1234"), (0x10, "0010")] {
            assert_eq!(hexadecimal(&number.to_string()), text);
        }
    }

    #[test]
    fn every_field_belongs_to_a_group_of_its_own_words() {
        let keys = Identity::FIELDS.iter().map(|field| field.key);
        for key in keys.chain(Vitals::FIELDS.iter().map(|field| field.key)) {
            let starts = GROUPS[group(key)].1;
            assert!(starts.iter().any(|start| key.starts_with(start)), "{key} has no group");
        }
    }
}
