//! Instruction gates: one instruction, loaded and run on one warp, its result compared bit by bit.
//!
//! A device runs the image of this program that was built for it, as it would run anybody's. Where there is none, because the
//! assembler knows that the device lacks the instruction, the driver's own compiler is asked to build it for this device: it refuses in
//! the words that users meet, or the table is wrong. Asking only the table was rejected: that is what rules do.

mod refusal;
mod tile;
pub(super) mod words;

use warpscope_kernels::Sm;
use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::gpu::{Machine, MachineError};
use warpscope_kernels::image::{Image, ImageKind, Isa, images, pick};

use super::block::{block, run};
use super::found::Found;
use super::short;
pub(super) use refusal::alone;
pub use tile::{Element, Layout, Tile};
pub use words::Words;

/// Statuses of an image the driver's compiler refused for what is in it.
const REFUSED_CODE: [u32; 2] = [209, 218];

/// What goes in and what must come out.
#[derive(Clone, Copy)]
pub enum Exchange {
    /// A product of small matrices.
    Tile(Tile),
    /// A few words.
    Words(Words),
    /// A few words, added to zeros.
    Added(Words),
}

/// One instruction in an image of this program.
#[derive(Clone, Copy)]
pub struct InstructionProbe {
    /// Image it is in.
    pub family: &'static str,
    /// Its kernel.
    pub entry: &'static str,
    /// What goes in and what must come out.
    pub exchange: Exchange,
}

impl Exchange {
    fn threads(&self) -> usize {
        match self {
            Self::Tile(tile) => tile.threads(),
            Self::Words(_) | Self::Added(_) => 32,
        }
    }

    fn input(&self) -> Vec<u32> {
        match self {
            Self::Tile(tile) => tile.input(),
            Self::Words(words) | Self::Added(words) => (words.input)(),
        }
    }

    fn expected(&self) -> Vec<u32> {
        match self {
            Self::Tile(tile) => tile.expected(),
            Self::Words(words) | Self::Added(words) => (words.expected)(),
        }
    }

    /// What the output holds at first: nothing a kernel would write, except where it adds.
    fn before(&self) -> u8 {
        if matches!(self, Self::Added(_)) { 0 } else { 0xff }
    }
}

/// Runs a gate; what is wrong with its result, if something is.
pub fn exchange(
    machine: &mut dyn Machine,
    gate: &InstructionProbe,
) -> Result<Option<String>, MachineError> {
    let (input, expected) = (gate.exchange.input(), gate.exchange.expected());
    let input: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    let output = vec![gate.exchange.before(); 4 * expected.len()];
    let launch = block(gate.family, gate.entry, gate.exchange.threads() as u32);
    Ok(difference(&run(machine, launch, &[&input, &output])?, &expected))
}

/// Where the first wrong word is, and how many there are.
fn difference(out: &[u8], expected: &[u32]) -> Option<String> {
    let words = out.chunks_exact(4).map(|raw| u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]));
    let mut wrong = words.zip(expected).enumerate().filter(|(_, (got, want))| got != *want);
    let (at, (got, want)) = wrong.next()?;
    let count = 1 + wrong.count();
    let all = expected.len();
    Some(format!(
        "word {at} is {got:#010x} where {want:#010x} is right; {count} of {all} are wrong"
    ))
}

/// Finds out whether a device has the instruction.
pub(super) fn find(machine: &mut CudaMachine, title: &str, gate: &InstructionProbe) -> Found {
    let best = pick(gate.family, machine.facts()).best().map(|best| *best.image);
    match best.filter(|image| image.entry(gate.entry).is_some()) {
        Some(_) => by_image(machine, title, gate),
        None => by_compiler(machine, title, gate),
    }
}

fn by_image(machine: &mut CudaMachine, title: &str, gate: &InstructionProbe) -> Found {
    let result = exchange(machine, gate);
    let used = machine.images().into_iter().find(|one| one.family == gate.family);
    let ran = used.map(|one| format!("{} {} {}", gate.family, one.how, short(&one.sha256)));
    told(title, result).by(ran.unwrap_or_default())
}

/// The result of a run in a sentence.
fn told(title: &str, result: Result<Option<String>, MachineError>) -> Found {
    match result {
        Ok(None) => Found::works(format!("{title} ran here, and the result is right")),
        Ok(Some(wrong)) => {
            Found::wrong(format!("{title} ran here, and the result is wrong: {wrong}"))
        }
        Err(error) => Found::failure(title, &error),
    }
}

fn by_compiler(machine: &mut CudaMachine, title: &str, gate: &InstructionProbe) -> Found {
    let facts = machine.facts().clone();
    let target = refusal::widest(facts.sm);
    let Some(isa) = Isa::of_driver(facts.driver_cuda) else {
        return Found::unknown(format!("{title}: which PTX this driver knows is not known"));
    };
    let text = source(gate).and_then(|image| image.text());
    let Some(text) = text.and_then(|text| refusal::alone(&text, gate.entry, target, isa)) else {
        return Found::unknown(format!("{title}: this program has no code for it"));
    };
    let (loaded, log) = machine.load_image(gate.family, text.as_bytes());
    let result = loaded.and_then(|()| exchange(machine, gate));
    machine.unload_image(gate.family);
    let ran =
        format!("PTX {isa} of {} alone for {target}, given to the driver's compiler", gate.entry);
    refused(title, target, result, &log).by(ran)
}

/// What the driver's compiler made of it.
fn refused(
    title: &str,
    target: Sm,
    result: Result<Option<String>, MachineError>,
    log: &str,
) -> Found {
    let Err(error @ MachineError::Driver { code, .. }) = &result else {
        return told(title, result);
    };
    if !REFUSED_CODE.contains(code) {
        return told(title, result);
    }
    let said = refusal::complaint(log);
    let why = said.clone().unwrap_or_else(|| error.to_string());
    let found = Found::fails(format!("the driver's compiler refuses {title} for {target}: {why}"));
    found.fact("cuModuleLoadDataEx", error.to_string())
}

/// The text of the lowest target that has the instruction.
fn source(gate: &InstructionProbe) -> Option<&'static Image> {
    let texts = images().iter().filter(|image| image.kind == ImageKind::Ptx);
    let of_family = texts.filter(|image| image.family == gate.family);
    let has = of_family.filter(|image| image.entry(gate.entry).is_some());
    has.min_by_key(|image| (image.target.major, image.target.minor))
}

#[cfg(test)]
mod tests;
