//! Prints what each launch of one token of the micro decoder adds to its time: `cargo run --release -p warpscope-kernels --example token_launches
//! [PATH…]`, in microseconds. Needs a GPU; others should leave it alone meanwhile.
//!
//! The first launches of a token are recorded as a graph, one more each time; what a launch adds is the difference of two medians. Work that goes on
//! below the end of the launch in front is so counted where it belongs. Each way is timed as it is, without early starts, and without weights that are
//! asked for ahead.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpscope_kernels::cuda::{Cap, Cuda, CudaMachine};
use warpscope_kernels::gpu::decoder::{Throughput, path, throughput};
use warpscope_kernels::gpu::{Arg, Launch, Machine, MachineError};

/// Bytes of device memory that may be taken.
const ARENA: u64 = 2 << 30;
/// Replays of a graph, of which the median counts.
const SAMPLES: usize = 15;

fn main() -> Result<(), MachineError> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let paths = if asked.is_empty() { vec!["bf16".to_owned(), "w4".to_owned()] } else { asked };
    let cuda = Cuda::open()?;
    let Some((uuid, facts)) = cuda.devices()?.into_iter().next() else {
        println!("skipped: there is no GPU");
        return Ok(());
    };
    if facts.simulated {
        println!("skipped: a stand-in computes here, and its times mean nothing");
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut machine = cuda.machine(&uuid, Cap { arena_bytes: ARENA, stop })?;
    for id in &paths {
        print(&mut machine, id)?;
    }
    Ok(())
}

/// The table of a path.
fn print(machine: &mut CudaMachine, id: &str) -> Result<(), MachineError> {
    let unknown = || MachineError::Refused { why: format!("there is no path {id}") };
    let model = throughput(machine, path(id).ok_or_else(unknown)?, ARENA)?;
    let as_it_is = &model.token;
    let late = changed(as_it_is, |launch| launch.early = false);
    let nothing_ahead = changed(as_it_is, |launch| {
        if ["w4_token", "nf4_token"].contains(&launch.family) {
            *launch.args.last_mut().expect("a product has arguments") = Arg::U32(0);
        }
    });
    let ways = [as_it_is, &late, &nothing_ahead];
    let columns = ways.map(|launches| added(machine, &model, launches));
    let [is, late, alone] = columns.map(|column| column.unwrap_or_default());
    println!("{id}: launch, grid, µs added; without early starts; without weights ahead");
    for (at, launch) in model.token.iter().enumerate() {
        let of = |column: &[f64]| column.get(at).copied().unwrap_or(f64::NAN);
        let (is, late, alone) = (of(&is), of(&late), of(&alone));
        println!("{at:3} {:28} {:4} {is:7.2} {late:7.2} {alone:7.2}", launch.entry, launch.grid[0]);
    }
    let all = |column: &[f64]| column.iter().sum::<f64>();
    println!("all {:33} {:7.1} {:7.1} {:7.1}", "", all(&is), all(&late), all(&alone));
    model.free(machine)
}

fn changed(launches: &[Launch], change: impl Fn(&mut Launch)) -> Vec<Launch> {
    let mut launches = launches.to_vec();
    launches.iter_mut().for_each(change);
    launches
}

/// Microseconds that each launch adds to those in front of it.
fn added(
    machine: &mut CudaMachine,
    model: &Throughput,
    launches: &[Launch],
) -> Result<Vec<f64>, MachineError> {
    let (place, start) = &model.decode.start;
    machine.write(*place, start)?;
    let mut before = 0.0;
    (1..=launches.len())
        .map(|count| {
            let graph = machine.record(&launches[..count])?;
            let samples = (0..SAMPLES + 3).map(|_| machine.sample(graph));
            let samples = samples.collect::<Result<Vec<_>, _>>()?;
            machine.forget(graph)?;
            let mut times: Vec<f64> =
                samples.into_iter().skip(3).flatten().map(|sample| sample.ns / 1e3).collect();
            times.sort_by(f64::total_cmp);
            let time = times[times.len() / 2];
            let added = time - before;
            before = time;
            Ok(added)
        })
        .collect()
}
