//! `warpscope gpus`: the GPUs of the catalogue.

use serde::Serialize;
use warpscope_probes::catalogue::{Catalogue, Part};

use crate::commands::cli::{CONFIG_FILE, CommandSpec, Exit, Options, Result, STYLE};
use crate::commands::rows;
use crate::config::args;
use crate::io::sink::table::Column;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "gpus",
    about: "List the GPUs of the catalogue, which --gpu may name",
    args: &[&[&args::FILTER, &args::JSON], STYLE, CONFIG_FILE],
    examples: &[
        ("gpus 3090", "all variants of the RTX 3090"),
        ("gpus sm_89 --json", "one compute capability, for a script"),
    ],
    run,
    ..CommandSpec::BASE
};

#[derive(Serialize)]
struct Gpu<'a> {
    name: &'a str,
    /// As NVML prints it; variants may share it.
    nvml_name: &'a str,
    aliases: Vec<&'a str>,
    sm: String,
    chip: &'a str,
    memory_gb: u32,
    memory_type: &'a str,
    bandwidth_gbs: f64,
    tdp_w: f64,
    pci: Vec<String>,
    source: &'a str,
    retrieved: &'a str,
}

impl<'a> Gpu<'a> {
    fn new(part: &'a Part) -> Self {
        let names = part.aliases.iter().chain(&part.default_for);
        Self {
            name: &part.market_name,
            nvml_name: &part.name,
            aliases: names.map(String::as_str).collect(),
            sm: part.sm.to_string(),
            chip: &part.chip,
            memory_gb: part.memory_gb,
            memory_type: &part.memory_type,
            bandwidth_gbs: part.bandwidth_gbs,
            tdp_w: part.tdp_w,
            pci: part.pci_ids.iter().map(|id| format!("10de:{id}")).collect(),
            source: &part.source,
            retrieved: &part.retrieved,
        }
    }
}

const GPU_COLUMNS: &[Column<Gpu<'_>>] = &[
    Column::left("GPU", 0, |gpu, _| gpu.name.to_owned()),
    Column::left("SM", 0, |gpu, _| gpu.sm.clone()),
    Column::left("CHIP", 2, |gpu, _| gpu.chip.to_owned()),
    Column::right("MEMORY", 0, |gpu, _| format!("{} GB {}", gpu.memory_gb, gpu.memory_type)),
    Column::right("BANDWIDTH", 0, |gpu, _| format!("{} GB/s", gpu.bandwidth_gbs)),
    Column::right("POWER", 3, |gpu, _| format!("{} W", gpu.tdp_w)),
    Column::left("PCI ID", 1, |gpu, _| gpu.pci.join(" ")),
    Column::left("ALSO", 4, |gpu, _| gpu.aliases.join(", ")),
];

/// Every product of the catalogue.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let parts = Catalogue::load().search(&options.get(&args::FILTER).join(" "));
    let rows: Vec<_> = parts.into_iter().map(Gpu::new).collect();
    rows::show(options, "gpus", GPU_COLUMNS, &rows)
}
