//! The two text forms of Prometheus.

use std::fmt::Write as _;

use super::family::{Family, Kind, Sample};

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

pub(super) fn write(families: &[Family], form: Form) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        head(&mut text, family, form);
        for sample in &family.samples {
            line(&mut text, &sampled(family), sample);
        }
    }
    if form == Form::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

/// The name of a family's samples.
fn sampled(family: &Family) -> String {
    match family.kind {
        Kind::Gauge => family.name.clone(),
        Kind::Counter => format!("{}_total", family.name),
        Kind::Info => format!("{}_info", family.name),
    }
}

fn head(text: &mut String, family: &Family, form: Form) {
    let kind = match (family.kind, form) {
        (Kind::Gauge, _) | (Kind::Info, Form::Plain) => "gauge",
        (Kind::Counter, _) => "counter",
        (Kind::Info, Form::OpenMetrics) => "info",
    };
    // Only OpenMetrics names a family without what its samples end in.
    let name = if form == Form::Plain { sampled(family) } else { family.name.clone() };
    let _ = writeln!(text, "# HELP {name} {}", escaped(&family.help));
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if form == Form::OpenMetrics && !family.unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {}", family.unit);
    }
}

fn line(text: &mut String, name: &str, sample: &Sample) {
    text.push_str(name);
    let mut before = '{';
    for (label, value) in &sample.labels {
        let _ = write!(text, "{before}{label}=\"{}\"", escaped(value));
        before = ',';
    }
    if before == ',' {
        text.push('}');
    }
    let _ = writeln!(text, " {}", sample.value);
}

/// A text within quotes, or to the end of a line.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
