use ratatui::text::{Line, Span};
use warpscope_probes::catalogue::Catalogue;
use warpscope_probes::gpu::{Identity, Vitals};
use warpscope_probes::text::printable;
use warpscope_probes::units::Bytes;
use warpscope_probes::{Absence, Field, Gpu};

use crate::features::Shared;
use crate::widgets::Look;
use crate::widgets::format::{self, Units};
use crate::widgets::theme::Role;
use crate::widgets::{Titled, section};

/// Everything about one GPU, straight from the field tables.
pub(crate) fn page(shared: &Shared, look: Look<'_>, key: &str, width: usize) -> Titled {
    let Some(gpu) = shared.frame.gpus.iter().find(|gpu| gpu.key == key) else {
        let lines = vec![Line::styled("This GPU is gone.", look.style(Role::Warn))];
        return ("GPU".into(), lines);
    };
    let mut lines = Vec::new();
    lines.extend(rows(look, Identity::FIELDS, &gpu.identity));
    lines.push(head(look, "Number formats"));
    lines.extend(dtypes(look, gpu, width));
    lines.push(head(look, "Now"));
    lines.extend(rows(look, Vitals::FIELDS, &gpu.vitals));
    lines.extend(parts(shared.display.units, look, gpu, width));
    let name = gpu.identity.name.last().map_or("GPU", String::as_str);
    (format!("{} {name}", gpu.index), lines)
}

fn head(look: Look<'_>, text: &'static str) -> Line<'static> {
    Line::styled(text, look.style(Role::Header))
}

/// Fields whose number is written as PCI tools write it.
const HEXADECIMAL: &[&str] = &["pci_device_id", "pci_subsystem_id"];

fn hexadecimal(number: &str) -> String {
    number.parse::<u32>().map_or(number.to_owned(), |number| format!("{number:04x}"))
}

/// Rows with a value, then one line naming the fields this device does not have.
fn rows<S>(look: Look<'_>, fields: &[Field<S>], of: &S) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for field in fields {
        let (text, role) = match (field.text)(of) {
            Ok(text) if HEXADECIMAL.contains(&field.key) => (hexadecimal(&text), Role::Text),
            Ok(text) => (format::with_unit(&text, field.unit), Role::Text),
            Err(Absence::Unsupported) => continue,
            Err(Absence::Failed(why)) => (why, Role::Bad),
            Err(absence) => (absence.word().to_owned(), Role::Absent),
        };
        lines.push(Line::from(vec![
            Span::styled(format!("{:<28}", field.label), look.style(Role::Muted)),
            Span::styled(printable(&text), look.style(role)),
        ]));
    }
    lines
}

fn dtypes(look: Look<'_>, gpu: &Gpu, width: usize) -> Vec<Line<'static>> {
    let Some(sm) = gpu.identity.sm.last() else { return Vec::new() };
    let support = Catalogue::load().dtype_support(*sm, gpu.identity.pci_device_id.last().copied());
    let line =
        |(dtype, support): &(warpscope_kernels::Dtype, warpscope_probes::catalogue::Support)| {
            let text =
                format!("{} {}", support.how.symbol(!look.glyphs.is_unicode), support.detail);
            section(look, dtype.label(), &text, Role::Text, width)
        };
    support.iter().flat_map(line).collect()
}

fn parts(units: Units, look: Look<'_>, gpu: &Gpu, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for share in gpu.throttle.seen.iter().filter(|share| share.active_s > 0.0) {
        let text = format!("{:.0} s of {:.0} s watched", share.active_s, share.watched_s);
        lines.extend(section(look, share.reason.words(), &text, Role::Text, width));
    }
    for violation in &gpu.throttle.violations {
        let text =
            format!("{:.1} s below full clocks since the driver was loaded", violation.seconds.0);
        lines.extend(section(look, &violation.policy, &text, Role::Text, width));
    }
    for link in &gpu.nvlinks {
        let text = format!(
            "{}{}{}",
            if link.active { "up" } else { "down" },
            link.version.map(|version| format!(", version {version}")).unwrap_or_default(),
            link.remote.as_ref().map(|remote| format!(", to {remote}")).unwrap_or_default(),
        );
        lines.extend(section(look, &format!("NVLink {}", link.link), &text, Role::Text, width));
    }
    for mig in &gpu.mig {
        let used = size(units, mig.memory_used_bytes);
        let total = size(units, mig.memory_total_bytes);
        lines.extend(section(
            look,
            &format!("MIG {}", mig.index),
            &format!("{} {used} / {total}", mig.name),
            Role::Text,
            width,
        ));
    }
    lines
}

fn size(units: Units, bytes: Option<Bytes>) -> format::Short {
    format::or_absent(bytes, |bytes| units.bytes(bytes.0 as f64))
}
