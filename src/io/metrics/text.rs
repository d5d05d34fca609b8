//! The two text forms of Prometheus.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::family::{Family, Kind, Sample};

/// Names and values.
pub(super) type Labels = Vec<(&'static str, String)>;

/// Which text form a server asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `text/plain; version=0.0.4`: what every server reads.
    Plain,
    /// `application/openmetrics-text; version=1.0.0`.
    OpenMetrics,
}

impl Form {
    /// The form for an `Accept` header: the plain one unless the other is named.
    pub fn accepted(header: &str) -> Self {
        let named = |part: &str| part.trim_start().starts_with("application/openmetrics-text");
        if header.split(',').any(named) { Self::OpenMetrics } else { Self::Plain }
    }

    /// The type of the text, as a header says it.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Every family with samples; labels are those of the machine, and of each GPU.
pub(super) fn write(
    families: &[Family<'_>],
    (machine, gpus): (&Labels, &[Labels]),
    form: Form,
) -> String {
    let machine = joined(machine);
    let gpus: Vec<String> = gpus.iter().map(|labels| joined(labels)).collect();
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        head(&mut text, family, form);
        let name = sampled(family);
        for sample in &family.samples {
            let labels = sample.gpu.map_or(&machine, |gpu| &gpus[gpu]);
            line(&mut text, &name, labels, sample);
        }
    }
    if form == Form::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn joined<T: AsRef<str>>(labels: &[(&'static str, T)]) -> String {
    let mut text = String::new();
    for (name, value) in labels {
        let separator = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{separator}{name}=\"{}\"", escaped(value.as_ref()));
    }
    text
}

/// The name of a family's samples.
fn sampled(family: &Family<'_>) -> String {
    match family.kind {
        Kind::Gauge => family.name.clone(),
        Kind::Counter => format!("{}_total", family.name),
        Kind::Info => format!("{}_info", family.name),
    }
}

fn head(text: &mut String, family: &Family<'_>, form: Form) {
    let kind = match (family.kind, form) {
        (Kind::Gauge, _) | (Kind::Info, Form::Plain) => "gauge",
        (Kind::Counter, _) => "counter",
        (Kind::Info, Form::OpenMetrics) => "info",
    };
    // Only OpenMetrics names a family without what its samples end in.
    let name = if form == Form::Plain { sampled(family) } else { family.name.clone() };
    let _ = writeln!(text, "# HELP {name} {}", escaped(family.help));
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if form == Form::OpenMetrics && !family.unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {}", family.unit);
    }
}

fn line(text: &mut String, name: &str, labels: &str, sample: &Sample<'_>) {
    text.push_str(name);
    text.push('{');
    text.push_str(labels);
    if !sample.more.is_empty() {
        text.push(',');
        text.push_str(&joined(&sample.more));
    }
    let _ = writeln!(text, "}} {}", sample.value);
}

/// A text within quotes, or to the end of a line.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\\', '"', '\n']) {
        return text.into();
    }
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").into()
}
