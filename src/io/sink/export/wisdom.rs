//! Winners as kernel_tuner's `store_results` writes them (`kernel_tuner/integration.py` of 1.5.0, format 1.0), for its `TuneResults` and
//! `create_device_targets`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::tuners::{plain, write};
use crate::runs::samples::Key;
use crate::tuner::{Timed, Winner};

/// Writes winners of one kernel; each with those that come near it. Times are in milliseconds.
pub fn wisdom(kernel: &str, winners: &[&Winner], out: &mut dyn Write) -> io::Result<()> {
    let best = || winners.iter().flat_map(|winner| &winner.best);
    let names: BTreeSet<&String> = best().flat_map(|one| one.parameters.0.keys()).collect();
    let data =
        winners.iter().flat_map(|winner| winner.best.iter().map(|one| row(&winner.key, one)));
    let file = json!({
        "version_number": "1.0",
        "kernel_name": kernel,
        "objective": "time",
        "objective_higher_is_better": false,
        "tunable_parameters": names,
        "data": data.collect::<Vec<_>>(),
    });
    write(&file, out)
}

fn row(key: &Key, one: &Timed) -> Value {
    let sizes: Vec<&str> = key.shape.0.values().map(String::as_str).collect();
    let parameters = one.parameters.0.iter().map(|(name, value)| (name.clone(), plain(value)));
    json!({
        "device_name": device(key.device.as_deref().unwrap_or("default")),
        "problem_size": sizes.join("x"),
        "tunable_parameters": parameters.collect::<serde_json::Map<_, _>>(),
        "time": one.median_ns / 1e6,
    })
}

/// Runs of what is neither letter nor digit become one underline, as kernel_tuner looks names up.
fn device(name: &str) -> String {
    let mut out = String::new();
    for letter in name.trim().chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => out.push(letter),
            _ if out.ends_with('_') => {}
            _ => out.push('_'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::samples::Shape;
    use crate::tuner::Parameters;

    #[test]
    fn a_winner_has_the_fields_kernel_tuner_asks_for() {
        let sizes = [("m", "16"), ("n", "4096")].map(|(name, size)| (name.into(), size.into()));
        let key = Key {
            name: "gemm".into(),
            shape: Shape(sizes.into()),
            device: Some("NVIDIA H200 (SXM)".into()),
            ..Key::default()
        };
        let best = Timed {
            parameters: Parameters([("block".to_owned(), "64".to_owned())].into()),
            median_ns: 2.5e6,
        };
        let (change, at_ms, source) = (-0.1, 0, String::new());
        let winner = Winner { key, best: vec![best], change, at_ms, source };
        let mut bytes = Vec::new();
        wisdom("gemm", &[&winner], &mut bytes).expect("writes");
        let file: Value = serde_json::from_slice(&bytes).expect("is JSON");
        assert_eq!(file["tunable_parameters"], json!(["block"]));
        assert_eq!(
            file["data"],
            json!([{
                "device_name": "NVIDIA_H200_SXM_",
                "problem_size": "16x4096",
                "tunable_parameters": {"block": 64},
                "time": 2.5,
            }])
        );
    }
}
