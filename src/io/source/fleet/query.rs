//! What is asked: one expression for each metric, whatever the number of GPUs.

use warpscope_probes::fleet::{Exporter, Metric};

/// Which series count.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// Matchers the user gave: `cluster="a",namespace=~"b.*"`.
    pub(super) matchers: String,
    /// The machine, by the label that names it.
    pub(super) machine: Option<(String, String)>,
}

impl Selection {
    /// The selector of a metric.
    fn of(&self, metric: &str) -> String {
        let machine = self.machine.as_ref().map(|(label, name)| {
            // Where machines go by the address of their exporter, its port is not in the name.
            match label.ends_with("instance") {
                true => format!("{label}=~{}", quoted(&format!("{}(:[0-9]+)?", literal(name)))),
                false => format!("{label}={}", quoted(name)),
            }
        });
        let all = [self.matchers.clone(), machine.unwrap_or_default()];
        let all: Vec<String> = all.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{metric}{{{}}}", all.join(","))
    }

    /// Every GPU of an exporter, by a metric that each has, with all its labels; the value is the time of its newest sample.
    pub(super) fn members(&self, exporter: &Exporter, anchor: &str) -> String {
        format!("max by ({}) (timestamp({}))", exporter.labels().join(","), self.of(anchor))
    }

    /// What labels say of GPUs.
    pub(super) fn info(&self, exporter: &Exporter, name: &str) -> String {
        format!("max by ({}) ({})", exporter.labels().join(","), self.of(name))
    }

    /// The values of a metric.
    pub(super) fn values(&self, exporter: &Exporter, host: &str, metric: &Metric) -> String {
        let name = self.of(&metric.name);
        let by = format!("{host},{}", exporter.key);
        match &metric.reasons {
            Some(label) => format!("max by ({by},{label}) ({name})"),
            None if metric.sum => format!("sum by ({by}) (max by ({by},GPU_I_ID) ({name}))"),
            None => format!("max by ({by}) ({name})"),
        }
    }
}

/// A text as PromQL writes it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// A text as the regular expression that fits it alone.
fn literal(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            ["\\".to_owned(), c.to_string()]
                .into_iter()
                .skip(usize::from(c.is_alphanumeric() || !c.is_ascii()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use warpscope_probes::fleet::exporters;

    use super::*;

    #[test]
    fn a_name_cannot_leave_its_quotes() {
        let of = |label: &str, name: &str| {
            let machine = Some((label.to_owned(), name.to_owned()));
            Selection { matchers: "job=\"gpu\"".to_owned(), machine }.of("m")
        };
        assert_eq!(of("Hostname", "a\"} or up{\\"), r#"m{job="gpu",Hostname="a\"} or up{\\"}"#);
        assert_eq!(of("instance", "a.b"), r#"m{job="gpu",instance=~"a\\.b(:[0-9]+)?"}"#);
        assert_eq!(Selection::default().of("m"), "m{}");
    }

    #[test]
    fn parts_of_a_gpu_add_up_and_doubles_do_not() {
        let dcgm = exporters().iter().find(|it| it.name == "dcgm-exporter").expect("is there");
        let used = dcgm.metric.iter().find(|it| it.sum).expect("is there");
        assert_eq!(
            Selection::default().values(dcgm, "Hostname", used),
            "sum by (Hostname,gpu) (max by (Hostname,gpu,GPU_I_ID) (DCGM_FI_DEV_FB_USED{}))"
        );
    }
}
