//! The table of exporters whose metrics are understood.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::nvml::plausible;

/// An exporter of GPU metrics.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exporter {
    /// Its name.
    pub name: String,
    /// Where its metrics are described, and when that was read.
    pub source: String,
    /// Metrics that every GPU has; the first that is there counts.
    pub anchors: Vec<String>,
    /// The metric whose labels say what a GPU is, where those of the others do not.
    pub info: Option<String>,
    /// Labels that name the machine; the first that is there counts.
    pub host: Vec<String>,
    /// The label that tells the GPUs of a machine apart.
    pub key: String,
    /// The label with the UUID.
    pub uuid: String,
    /// The label with the number within the machine.
    pub index: String,
    /// The label with the product's name.
    pub model: String,
    /// The label with the driver's version.
    pub driver: Option<String>,
    /// The label with the version of CUDA the driver has.
    pub cuda: Option<String>,
    /// Labels that together say who holds the GPU; the first that are there count.
    #[serde(default)]
    pub owners: Vec<Vec<String>>,
    /// What is understood.
    pub metric: Vec<Metric>,
}

/// A metric that is a reading.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// The reading, as frames call it, or `up`, `xid` or `clock_reasons`.
    pub field: String,
    /// What turns its unit into that of the reading.
    #[serde(default = "one")]
    pub factor: f64,
    /// Whether it is asked for all GPUs; otherwise for one machine.
    #[serde(default)]
    pub fleet: bool,
    /// Whether its past is asked for.
    #[serde(default)]
    pub graph: bool,
    /// Whether the parts of a GPU add up.
    #[serde(default)]
    pub sum: bool,
    /// The label with the words for a clock reason.
    pub reasons: Option<String>,
}

impl Metric {
    /// A value of it as the reading; none where no device can have it.
    pub fn reading(&self, value: f64) -> Option<f64> {
        plausible::told(&self.field, value * self.factor)
    }
}

fn one() -> f64 {
    1.0
}

#[derive(Deserialize)]
struct Table {
    exporter: Vec<Exporter>,
}

/// Every exporter, those that tell more first.
pub fn exporters() -> &'static [Exporter] {
    static ALL: LazyLock<Vec<Exporter>> = LazyLock::new(|| {
        let table: Table = toml::from_str(include_str!("exporters.toml")).expect("is tested");
        table.exporter
    });
    &ALL
}

impl Exporter {
    /// Every label that says what a GPU is.
    pub fn labels(&self) -> Vec<&str> {
        let named = [&self.key, &self.uuid, &self.index, &self.model];
        let versions = self.driver.iter().chain(&self.cuda);
        let all = self.host.iter().chain(named).chain(versions);
        let mut labels: Vec<&str> =
            all.chain(self.owners.iter().flatten()).map(String::as_str).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }
}

#[cfg(test)]
mod tests {
    use crate::gpu::Vitals;

    use super::*;

    #[test]
    fn every_row_names_a_reading_and_its_source() {
        for exporter in exporters() {
            assert!(exporter.source.contains("read 20") || exporter.name == "warpscope");
            assert!(!exporter.host.is_empty() && !exporter.anchors.is_empty());
            for metric in &exporter.metric {
                let known = Vitals::FIELDS.iter().any(|field| field.key == metric.field)
                    || ["up", "xid", "clock_reasons"].contains(&metric.field.as_str());
                assert!(known, "{}: {}", metric.name, metric.field);
                assert!(metric.factor > 0.0, "{}", metric.name);
            }
        }
    }
}
