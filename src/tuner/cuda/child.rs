//! One kernel, compiled, loaded, launched, judged and timed.

use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::gpu::{
    Arg, BufferId, DeviceFacts, GraphId, Launch, Machine, MachineError, Slot,
};
use warpscope_probes::nvml::Watch;

use super::device::{FAMILY, describe, load, open};
use super::energy::{Energy, Running, measure};
use super::operands::{Operands, default_limit, operands};
use super::roof::{Roof, roof};
use super::vendor::Vendor;
use super::{CudaJob, JobArgument};
use crate::tuner::contract::Work;
use crate::tuner::output::{COMPILE, UNTIMED, WRONG};
use crate::tuner::spec::{ENERGY, POWER};

/// What lies before and behind every operand, and what it holds.
const GUARD: usize = 256;
const SENTINEL: u8 = 0xa5;
/// What the output holds before the launch: NaN in every format.
const POISON: u8 = 0xff;
/// Shortest sample: long against the resolution of the device's events, 0.5 µs.
const SAMPLE_NS: f64 = 100_000.0;
/// Most launches of one sample.
const MOST_LAUNCHES: usize = 4096;
/// Most samples of one run.
const MOST_SAMPLES: usize = 10_000;
/// Most copies of the operands that take turns.
const MOST_COPIES: usize = 64;
/// Numbers of the attributes in the driver's header.
const LOCAL_BYTES: i32 = 3;
const REGISTERS: i32 = 4;
/// Runs the kernel of a job, written in JSON, and gives its line of points.
pub fn run_cuda(job: &str) -> Result<String, String> {
    let job: CudaJob = serde_json::from_str(job).map_err(|error| format!("the job: {error}"))?;
    let work = Work::of_word(&job.work).ok_or_else(|| format!("no contract {}", job.work))?;
    let operands = operands(work, job.function.as_deref(), &job.shape, &job.dtype)?;
    let (mut machine, uuid) = open(&job)?;
    if let Err(why) = load(&mut machine, &job) {
        let why = serde_json::to_string(&why).map_err(|error| error.to_string())?;
        return Ok(format!("{COMPILE}{why}"));
    }
    let mut line = Bench::new(&mut machine, &job, &operands, uuid).measure(work)?;
    if !machine.facts().simulated {
        line += &ceilings(roof(&mut machine, &job.dtype).unwrap_or_default());
    }
    Ok(line)
}

/// Times of launches and of the vendor's beside them, and the energy of one launch where it was wanted and is known.
type Timed = ([Vec<f64>; 2], Option<Energy>);

/// A kernel with its operands on the device.
struct Bench<'a> {
    machine: &'a mut CudaMachine,
    job: &'a CudaJob,
    operands: &'a Operands,
    entry: &'static str,
    uuid: String,
    /// One buffer for all operands of one copy, guards between them.
    copies: Vec<BufferId>,
}

impl<'a> Bench<'a> {
    fn new(
        machine: &'a mut CudaMachine,
        job: &'a CudaJob,
        operands: &'a Operands,
        uuid: String,
    ) -> Self {
        // A launch names its entry for as long as the program runs; this child has one.
        let entry = Box::leak(job.entry.clone().into_boxed_str());
        Self { machine, job, operands, entry, uuid, copies: Vec::new() }
    }

    fn measure(mut self, work: Work) -> Result<String, String> {
        let first = self.copy().map_err(describe)?;
        self.copies.push(first);
        let launch = self.launch(first)?;
        self.machine.run(&[launch]).map_err(describe)?;
        let error = match self.judge(first).map_err(describe)? {
            Ok(error) => error,
            Err(why) => return Ok(format!("{WRONG}{why}")),
        };
        let mut line = self.head(error);
        let vendor = self.vendor(work, first);
        if let Some(vendor) = &vendor {
            line += &format!(" vendor={}", vendor.name());
        }
        let Some(([own, beside], energy)) = self.time(vendor.as_ref()).map_err(describe)? else {
            return Ok(format!("{UNTIMED}{line}"));
        };
        if let Some(Energy { energy_j, power_w }) = energy {
            line += &format!(" {ENERGY}={energy_j:e} {POWER}={power_w:.1}");
        }
        for (word, times) in [("t_ns", own), ("vendor_ns", beside)] {
            let times: Vec<String> = times.iter().map(|ns| format!("{ns:.1}")).collect();
            if !times.is_empty() {
                line += &format!(" {word}={}", times.join(","));
            }
        }
        Ok(line)
    }

    fn head(&mut self, error: f64) -> String {
        let CudaJob { name, dtype, shape, .. } = self.job;
        let sizes: Vec<String> =
            shape.iter().map(|(name, size)| format!("{name}={size}")).collect();
        let mut line = format!(
            "name={name} device={} dtype={dtype} {} error={error:e}",
            self.uuid,
            sizes.join(" ")
        );
        // What a stand-in says of registers is made up.
        if !self.machine.facts().simulated {
            for (word, number) in [("registers", REGISTERS), ("local_bytes", LOCAL_BYTES)] {
                let value = self.machine.function_attribute((FAMILY, self.entry), number);
                line += &value.map_or_else(|_| String::new(), |value| format!(" {word}={value}"));
            }
        }
        if let Some(compared) = self.operands.wanted.compared() {
            line += &format!(" compared={compared}");
        }
        let amount = self.operands.amount;
        for (word, value) in [("flops", amount.flops), ("bytes", amount.bytes)] {
            line += &value.map_or_else(String::new, |value| format!(" {word}={value}"));
        }
        line
    }

    /// Operands one after the other, each between guards; the output is the last.
    fn layout(&self) -> Vec<(&'static str, usize, usize)> {
        let (output, element) = self.operands.output;
        let output = (output, self.operands.wanted.len() * element.bytes());
        let inputs = self.operands.inputs.iter().map(|(name, bytes)| (*name, bytes.len()));
        let mut at = GUARD;
        let place = |(name, bytes): (&'static str, usize)| {
            let start = at;
            at = (start + bytes).next_multiple_of(GUARD) + GUARD;
            (name, start, bytes)
        };
        inputs.chain([output]).map(place).collect()
    }

    /// Everything on the device once more.
    fn copy(&mut self) -> Result<BufferId, MachineError> {
        let layout = self.layout();
        let end = layout.last().map_or(0, |(_, start, bytes)| start + bytes + GUARD);
        let mut image = vec![SENTINEL; end.next_multiple_of(GUARD)];
        for ((_, start, bytes), input) in layout.iter().zip(&self.operands.inputs) {
            image[*start..start + bytes].copy_from_slice(&input.1);
        }
        if let Some((_, start, bytes)) = layout.last() {
            image[*start..start + bytes].fill(POISON);
        }
        let buffer = self.machine.allocate(image.len() as u64)?;
        self.machine.write(buffer.into(), &image)?;
        Ok(buffer)
    }

    fn launch(&self, buffer: BufferId) -> Result<Launch, String> {
        let layout = self.layout();
        let argument = |argument: &JobArgument| match argument {
            JobArgument::Operand(name) => {
                let place = layout.iter().find(|place| place.0 == name);
                let (_, start, _) = place.ok_or_else(|| format!("no operand {name}"))?;
                Ok(Arg::Slot(Slot { buffer, offset: *start as u64 }))
            }
            JobArgument::U32(value) => Ok(Arg::U32(*value)),
            JobArgument::U64(value) => Ok(Arg::U64(*value)),
            JobArgument::F32(value) => Ok(Arg::F32(*value)),
        };
        let args = self.job.arguments.iter().map(argument).collect::<Result<_, String>>()?;
        let CudaJob { grid, block, shared, .. } = *self.job;
        Ok(Launch {
            family: FAMILY,
            entry: self.entry,
            grid,
            block,
            shared_bytes: shared,
            args,
            early: false,
        })
    }

    /// The error of the output; `Err` in the answer where the kernel wrote what is not its own.
    fn judge(&mut self, buffer: BufferId) -> Result<Result<f64, String>, MachineError> {
        let layout = self.layout();
        let end = layout.last().map_or(0, |(_, start, bytes)| start + bytes + GUARD);
        let mut image = vec![0; end.next_multiple_of(GUARD)];
        self.machine.read(buffer.into(), &mut image)?;
        let mut from = 0;
        for (name, start, bytes) in &layout {
            if image[from..*start].iter().any(|byte| *byte != SENTINEL) {
                return Ok(Err(format!("it wrote before {name}")));
            }
            from = start + bytes;
        }
        if image[from..].iter().any(|byte| *byte != SENTINEL) {
            return Ok(Err("it wrote behind its output".to_owned()));
        }
        for ((name, start, bytes), input) in layout.iter().zip(&self.operands.inputs) {
            if image[*start..start + bytes] != input.1 {
                return Ok(Err(format!("it changed its input {name}")));
            }
        }
        let Some((_, start, bytes)) = layout.last() else { return Ok(Ok(f64::NAN)) };
        let output = &image[*start..start + bytes];
        Ok(Ok(self.operands.wanted.error(self.operands.output.1, output)))
    }

    /// The vendor's library, where it is found and right on these operands.
    fn vendor(&mut self, work: Work, copy: BufferId) -> Option<Vendor> {
        let layout = self.layout();
        let offset = |name: &str| {
            layout.iter().find(|place| place.0 == name).map(|(_, start, _)| *start as u64)
        };
        let operands = (self.operands.sizes.as_slice(), self.operands.output.1);
        let vendor = Vendor::find(self.machine, &self.job.cublas, work, operands, offset)?;
        vendor.run(self.machine, copy).ok()?;
        let error = self.judge(copy).ok()?.ok()?;
        let most = default_limit(work, &self.job.dtype)?;
        (error <= most).then_some(vendor)
    }

    /// Nanoseconds of one launch each, and of one product of the vendor's in between; `None` where a stand-in computes. Copies of the operands
    /// take turns, so that none is found in the cache.
    fn time(&mut self, vendor: Option<&Vendor>) -> Result<Option<Timed>, MachineError> {
        if self.machine.facts().simulated {
            return Ok(None);
        }
        let (bytes, facts) = (self.bytes(), self.machine.facts().clone());
        for _ in 1..copies(bytes, &facts, self.machine.memory()?.0) {
            let copy = self.copy()?;
            self.copies.push(copy);
        }
        let refused = |why| MachineError::Refused { why };
        let turns = self.copies.iter().map(|copy| self.launch(*copy).map_err(refused));
        let turns = turns.collect::<Result<Vec<_>, _>>()?;
        let Some(one) = self.sample(&turns, turns.len(), 2)? else { return Ok(None) };
        let launches = (SAMPLE_NS / one.max(1.0)).ceil() as usize;
        let launches = launches.clamp(1, MOST_LAUNCHES);
        let own = self.record(&turns, launches)?;
        // A library that cannot be recorded is not held against.
        let beside =
            vendor.and_then(|vendor| vendor.record(self.machine, &self.copies, launches).ok());
        let mut times = [Vec::new(), Vec::new()];
        for sample in 0..=self.job.samples.clamp(1, MOST_SAMPLES) {
            let graphs = [Some(own), beside];
            // The order turns round, so that a steady drift cancels.
            for side in [sample % 2, 1 - sample % 2] {
                let Some(graph) = graphs[side] else { continue };
                let Some(time) = self.machine.replay(graph, 1)? else { return Ok(None) };
                // The first one finds clocks and caches as the copying left them.
                if sample > 0 {
                    times[side].push(time / launches as f64);
                }
            }
        }
        let energy = if self.job.energy { self.energy(own, launches)? } else { None };
        [Some(own), beside]
            .into_iter()
            .flatten()
            .try_for_each(|graph| self.machine.forget(graph))?;
        Ok(Some((times, energy)))
    }

    /// Energy of a launch, where NVML counts it.
    fn energy(&mut self, graph: GraphId, launches: usize) -> Result<Option<Energy>, MachineError> {
        let Ok(watch) = Watch::open(None, &self.uuid) else { return Ok(None) };
        measure(&mut Running::new(self.machine, (graph, launches as u64), watch))
    }

    fn bytes(&self) -> u64 {
        self.layout().iter().map(|place| place.2 as u64).sum()
    }

    fn record(&mut self, turns: &[Launch], launches: usize) -> Result<GraphId, MachineError> {
        let all: Vec<Launch> = turns.iter().cycle().take(launches).cloned().collect();
        self.machine.record(&all)
    }

    /// Time of one launch, from so many of them.
    fn sample(
        &mut self,
        turns: &[Launch],
        launches: usize,
        times: u32,
    ) -> Result<Option<f64>, MachineError> {
        let graph = self.record(turns, launches)?;
        let time = self.machine.replay(graph, times)?;
        self.machine.forget(graph)?;
        Ok(time.map(|time| time / (launches as f64 * f64::from(times))))
    }
}

/// Words of the ceilings that were measured.
fn ceilings(roof: Roof) -> String {
    let words = [("roof_bytes_per_s", roof.read_bytes_per_s), ("roof_flop_per_s", roof.flop_per_s)];
    let words = words.into_iter().filter_map(|(word, rate)| Some(format!(" {word}={:e}", rate?)));
    words.collect()
}

/// Copies that together are twice the second-level cache, within half of the free memory.
fn copies(bytes: u64, facts: &DeviceFacts, free: u64) -> usize {
    let wanted = (2 * facts.l2_bytes).div_ceil(bytes.max(1)) + 1;
    let fit = free / 2 / bytes.max(1);
    usize::try_from(wanted.min(fit)).unwrap_or(MOST_COPIES).clamp(1, MOST_COPIES)
}
