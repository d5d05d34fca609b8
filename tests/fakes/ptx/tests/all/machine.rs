//! The interpreter as tests want it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use ptx_interpreter::{Interpreter, Module};
use warpscope_kernels::Sm;
use warpscope_kernels::gpu::DeviceFacts;
use warpscope_kernels::image::{self, Image};

/// The PTX of a family for a device: what is built in, or, for work on kernels whose images are not built, `family.class.ptx` of a folder; that of the
/// device's architecture alone (`family.90a.ptx`) where it is there.
pub(crate) fn text_for(family: &str, facts: &DeviceFacts) -> Result<String, String> {
    let Ok(folder) = std::env::var("PTX_FOLDER") else {
        let image = image::ptx_for(family, facts.sm);
        return image.and_then(Image::text).ok_or(format!("no PTX of {family} is built in"));
    };
    let path = |class: &Sm| format!("{folder}/{family}.{}{}.ptx", class.major, class.minor);
    let own = format!("{folder}/{family}.{}{}a.ptx", facts.sm.major, facts.sm.minor);
    if let Ok(text) = std::fs::read_to_string(own) {
        return Ok(text);
    }
    let there = image::CLASSES.iter().filter(|class| std::fs::exists(path(class)).unwrap_or(false));
    let classes: Vec<Sm> = there.copied().collect();
    let class = image::class_of(facts.sm, &classes).ok_or(format!("no PTX of {family}"))?;
    std::fs::read_to_string(path(&class)).map_err(|error| error.to_string())
}

/// A device that runs that PTX.
pub(crate) fn machine(facts: &DeviceFacts) -> Interpreter {
    if std::env::var_os("PTX_FOLDER").is_none() {
        return Interpreter::new(facts.clone());
    }
    static PARSED: Mutex<BTreeMap<String, Module>> = Mutex::new(BTreeMap::new());
    let of = facts.clone();
    let load = move |family: &str, _: Sm| {
        let text = text_for(family, &of)?;
        let mut parsed = PARSED.lock().map_err(|error| error.to_string())?;
        if let Some(module) = parsed.get(&text) {
            return Ok(module.clone());
        }
        let module = Module::parse(&text).map_err(|error| format!("{family}: {error}"))?;
        parsed.insert(text, module.clone());
        Ok(module)
    };
    Interpreter::with_images(facts.clone(), Box::new(load))
}
