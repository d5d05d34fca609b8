//! Prints what reading the fact files and asking the host cost: `cargo run --release -p warpscope-probes --example cost`.

use std::time::{Duration, Instant};

use warpscope_probes::catalogue::{Catalogue, FILES};

fn main() {
    let bytes: usize = FILES.iter().map(|file| file.1.len()).sum();
    let cold = Instant::now();
    let parts = Catalogue::load().parts().len();
    println!("catalogue: {parts} parts, {bytes} bytes, first parse {:?}", cold.elapsed());
    println!("catalogue: median of 100 parses {:?}", median(|| drop(Catalogue::parse(FILES))));
    println!("find(\"T4\"): {:?}", median(|| drop(Catalogue::load().find("T4"))));
    println!("find(miss): {:?}", median(|| drop(Catalogue::load().find("RTX 3095"))));
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..100)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[50]
}
