//! The same targets under libFuzzer, one at a time: `FUZZ_TARGET=gguf cargo +nightly fuzz run --features libfuzzer libfuzzer`.
#![no_main]

use std::sync::LazyLock;

use warpscope_fuzz::Trace;
use warpscope_fuzz::targets::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    let target = TARGETS.iter().find(|target| target.name == name);
    target.unwrap_or_else(|| panic!("no target is called {name}"))
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes, &mut Trace::default()));
