//! Small kernels as text.

use ptx_interpreter::{Fault, Limits, Memory, Module, launch};

/// A kernel `k` of one block: `out` is a pointer in `%rd1`, the thread number is in `%r1`. Registers as below.
pub(crate) fn kernel(declarations: &str, body: &str) -> String {
    format!(
        ".version 8.4
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{{
    .reg .pred %p<10>;
    .reg .b16 %h<40>;
    .reg .b32 %r<80>;
    .reg .b64 %rd<40>;
    {declarations}
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    mov.u32 %r1, %tid.x;
    {body}
    ret;
}}
"
    )
}

/// Runs it on so many threads, with words as input, and gives the words of the output.
pub(crate) fn run(
    text: &str,
    threads: u32,
    input: &[u32],
    words: usize,
) -> Result<Vec<u32>, Fault> {
    let module = Module::parse(text).expect("a text of a test is PTX");
    let mut memory = Memory::default();
    let out = memory.allocate(4 * words);
    let place = memory.allocate(4 * input.len());
    let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.bytes_mut(place, bytes.len()).unwrap_or_default().copy_from_slice(&bytes);
    let params: Vec<u8> = [out, place].iter().flat_map(|address| address.to_le_bytes()).collect();
    let limits = Limits { instructions: 1_000_000, ..Limits::default() };
    launch(&module, "k", [1; 3], [threads, 1, 1], 0, &params, &mut memory, limits)?;
    let bytes = memory.bytes(out, 4 * words).unwrap_or_default();
    Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// Stores a 32-bit register of every thread to its own place of the output.
pub(crate) const STORE: &str = "
    mul.wide.u32 %rd39, %r1, 4;
    add.u64 %rd39, %rd1, %rd39;
    st.global.u32 [%rd39], %r79;";

/// Runs a kernel that leaves a word per thread in `%r79`.
pub(crate) fn words(declarations: &str, body: &str, threads: u32) -> Result<Vec<u32>, Fault> {
    let text = kernel(declarations, &format!("{body}{STORE}"));
    run(&text, threads, &[], threads as usize)
}

/// Small whole numbers in formats of fewer bits.
pub(crate) mod floats {
    /// binary16
    pub(crate) fn f16(value: f32) -> u16 {
        half::f16::from_f32(value).to_bits()
    }

    /// bfloat16
    pub(crate) fn bf16(value: f32) -> u16 {
        half::bf16::from_f32(value).to_bits()
    }

    /// OCP 8-bit floating point specification 1.0, E4M3: of whole numbers from -8 to 8.
    pub(crate) fn e4m3(value: f32) -> u8 {
        let magnitudes = [0x00, 0x38, 0x40, 0x44, 0x48, 0x4a, 0x4c, 0x4e, 0x50];
        magnitudes[value.abs() as usize] | if value < 0.0 { 0x80 } else { 0 }
    }
}
