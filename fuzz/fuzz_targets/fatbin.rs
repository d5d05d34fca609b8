#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| warpscope_fuzz::scan_as(&0xBA55_ED50_u32.to_le_bytes(), bytes));
