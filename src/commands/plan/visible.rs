//! A start command that uses the GPUs of the plan and no others.

use crate::engine::Target;
use crate::engine::plan::{Framework, Place};

/// The command with the GPUs it may see, where it would take others or more of this machine. Of a what-if GPU nobody knows its place.
pub(super) fn only(
    command: String,
    used: &[Target],
    machine: &[Target],
    framework: Option<&Framework>,
) -> String {
    let mut used: Vec<&Target> = used.iter().collect();
    used.sort_by_key(|gpu| gpu.index);
    let names: Option<Vec<String>> = used.iter().map(|gpu| gpu.cuda_name()).collect();
    let (Some(framework), Some(list)) = (framework, names) else { return command };
    // CUDA counts the fastest first: only equal GPUs stand in the order of their PCI addresses.
    let are_equal = machine.windows(2).all(|two| two[0].label == two[1].label);
    let are_indices = used.iter().all(|gpu| gpu.index.is_some());
    // A server that cuts layers takes the first so many GPUs, the others take all there are.
    let first = used.iter().all(|gpu| gpu.index.is_some_and(|at| (at as usize) < used.len()));
    let takes_them = framework.family.is_tensor_parallel() && first && are_equal;
    if are_indices && (takes_them || used.len() == machine.len()) {
        return command;
    }
    let order = (are_indices && !are_equal).then(|| ("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned()));
    let variables = order.into_iter().chain([("CUDA_VISIBLE_DEVICES", list.join(","))]);
    if framework.words.place == Place::Inside {
        let set = variables.map(|(name, value)| format!("os.environ[\"{name}\"] = \"{value}\"\n"));
        return format!("import os\n{}{command}", set.collect::<String>());
    }
    let set = variables.map(|(name, value)| format!("{name}={value} "));
    format!("{}{command}", set.collect::<String>())
}
