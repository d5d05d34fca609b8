//! Prints what NVML tells of this machine, as JSON: `cargo run -p warpscope-probes --example gpus [LIBRARY] [POLLS]`.

use std::time::{Duration, Instant};

use warpscope_probes::nvml::{NvmlOptions, NvmlProvider};
use warpscope_probes::provider::{Context, Provider, Section};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let library = arguments.next().filter(|path| !path.is_empty()).map(Into::into);
    let polls = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(2);
    let mut provider = NvmlProvider::new(NvmlOptions { library, ..NvmlOptions::default() });
    let mut since_last = Duration::ZERO;
    for poll in 1..=polls {
        let start = Instant::now();
        let section = provider.poll(&Context { since_last, ..Context::default() });
        eprintln!("poll {poll}: {:?}", start.elapsed());
        if poll < polls {
            std::thread::sleep(Duration::from_secs(1));
            since_last = start.elapsed();
            continue;
        }
        let Section::Gpu(section) = section else { continue };
        let json = serde_json::json!({
            "driver": section.driver, "gpus": section.gpus, "notices": section.notices,
            "processes": section.processes.iter().map(|process| format!("{process:?}")).collect::<Vec<_>>(),
        });
        println!("{json:#}");
    }
}
