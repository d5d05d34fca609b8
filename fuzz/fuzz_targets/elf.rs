#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| warpscope_fuzz::scan_as(b"\x7fELF\x02\x01", bytes));
