//! The interpreter as tests want it.

use ptx_interpreter::{Interpreter, Module};
use warpscope_kernels::Sm;
use warpscope_kernels::gpu::DeviceFacts;
use warpscope_kernels::image::class_of;

/// A device. For work on kernels whose images are not built: PTX from a folder, `family.class.ptx`.
pub(crate) fn machine(facts: &DeviceFacts) -> Interpreter {
    let Ok(folder) = std::env::var("PTX_FOLDER") else { return Interpreter::new(facts.clone()) };
    let load = move |family: &str, device: Sm| {
        let class = |class: &Sm| format!("{folder}/{family}.{}{}.ptx", class.major, class.minor);
        let classes: Vec<Sm> = warpscope_kernels::image::CLASSES
            .iter()
            .filter(|sm| std::path::Path::new(&class(sm)).exists())
            .copied()
            .collect();
        let path = class(&class_of(device, &classes).ok_or("no class")?);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        Module::parse(&text).map_err(|error| format!("{path}: {error}"))
    };
    Interpreter::with_images(facts.clone(), Box::new(load))
}
