//! The headroom of every path on every architecture: which overflow is a matter of what sums and results are kept in, never
//! of the device.

use half::f16;
use ptx_interpreter::{device, devices};
use warpscope_kernels::gpu::family::w4::{Formats, Operands, Weights, launch, pack};
use warpscope_kernels::gpu::headroom::probes;
use warpscope_kernels::gpu::{Element, Machine, Shape, Slot};

use crate::machine::machine;

/// What is expected of a path by what its name says of it: the first power of two that is lost, and whether a sum survives
/// that is larger on its way. binary16 ends at 65 504, below 2¹⁶; every other format here goes on beyond 2²⁴.
const EXPECTED: &[(&str, Option<i32>, bool)] = &[
    ("fp16 sums", Some(16), false),
    ("fp16 out", Some(16), true),
    ("bf16 out", None, true),
    ("fp32 out", None, true),
    ("f32", None, true),
];

#[test]
fn paths_overflow_where_their_formats_end() {
    for facts in devices() {
        let mut machine = machine(&facts);
        for probe in probes() {
            if let Some(why) = probe.absent(&facts) {
                println!("skipped on {}: {}: {why}", facts.sm, probe.path());
                continue;
            }
            let what = format!("{} on {}", probe.path(), facts.sm);
            let row = EXPECTED.iter().find(|row| probe.path().ends_with(row.0));
            let (_, first_bad, survives) = row.unwrap_or_else(|| panic!("{what}: not expected"));
            let headroom =
                probe.run(&mut machine).unwrap_or_else(|error| panic!("{what}: {error}"));
            let found = (headroom.first_bad_log2, headroom.survives_cancelling);
            assert_eq!(found, (*first_bad, *survives), "{what}");
            assert_eq!(headroom.tried_log2, 24);
        }
    }
}

/// Packed weights of column c and row r: from −8 on, one more with every row and three more with every column.
fn nibble(row: usize, column: usize) -> i8 {
    ((row + 3 * column) % 16) as i8 - 8
}

/// Tensor cores multiply nibbles with activations that are fitted to them, and once more where sums are no numbers.
#[test]
fn an_infinite_activation_spoils_the_results_of_its_token_and_no_others() {
    let (n, k) = (70, 384);
    let q: Vec<i8> = (0..n * k).map(|i| nibble(i / k, i % k)).collect();
    let packed = pack(n, k, &q, &vec![f16::ONE; n * k / 128]).unwrap();
    for (at, input, one, infinity) in [
        ((7, 5), Element::F16, 0x3c00_u16, 0x7c00_u16),
        ((8, 0), Element::F16, 0x3c00, 0x7c00),
        ((8, 0), Element::Bf16, 0x3f80, 0xff80),
    ] {
        let facts = device(at.0, at.1).expect("a device of the table");
        for (m, column) in [(2, 131), (8, 4), (16, 383)] {
            let mut x = vec![one; m * k];
            x[(m - 1) * k + column] = infinity;
            let x: Vec<u8> = x.iter().flat_map(|bits| bits.to_le_bytes()).collect();
            let mut y = vec![0; 4 * m * n];
            let mut machine = machine(&facts);
            let mut hold = |bytes: &[u8]| {
                let slot = Slot::from(machine.allocate(bytes.len() as u64).unwrap());
                machine.write(slot, bytes).unwrap();
                slot
            };
            let weights = Weights { words: hold(&packed.words), scales: hold(&packed.scales) };
            let operands = Operands { x: hold(&x), weights, y: hold(&y) };
            let shape = Shape { m: m as u32, n: n as u32, k: k as u32, ..Shape::default() };
            let launch = launch(&facts, operands, Formats::wide(input), shape).unwrap();
            machine.run(&[launch]).unwrap();
            machine.read(operands.y, &mut y).unwrap();
            for (index, value) in Element::F32.values(&y).into_iter().enumerate() {
                let (token, row) = (index / n, index % n);
                let whole: i32 = (0..k).map(|column| i32::from(nibble(row, column))).sum();
                let right =
                    if token < m - 1 { value == f64::from(whole) } else { !value.is_finite() };
                assert!(
                    right,
                    "{input:?} on {}: token {token} of {m}, row {row}: {value}",
                    facts.sm
                );
            }
        }
    }
}
