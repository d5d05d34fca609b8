use super::*;
use crate::Sm;
use crate::gpu::{Arg, BufferId, Slot};

pub(in crate::gpu::family) fn device(sm: (u8, u8), sms: u32) -> DeviceFacts {
    DeviceFacts {
        name: "test".to_owned(),
        sm: Sm::new(sm.0, sm.1),
        sms,
        shared_per_block: 48 << 10,
        shared_per_block_optin: 48 << 10,
        l2_bytes: 4 << 20,
        memory_bytes: 8 << 30,
        driver_cuda: 12_000,
        simulated: true,
        picks: crate::gpu::Picks::default(),
    }
}

const NOWHERE: Slot = Slot { buffer: BufferId(0), offset: 0 };
const OPERANDS: Operands = Operands { x: NOWHERE, weights: NOWHERE, y: NOWHERE };

fn shape(m: u32, n: u32, k: u32) -> Shape {
    Shape { m, n, k, ..Shape::default() }
}

/// What ptxas makes of each instruction on each target: `HMMA`, `IMMA`, `QMMA`, or something else.
#[test]
fn routes_are_what_the_assembler_makes_of_the_instructions() {
    use Product as P;
    for (product, sm, is) in [
        (P::F16, (6, 1), "emulated fp32"),
        (P::F16, (7, 0), "native mma.m8n8k4"),
        (P::F16, (7, 5), "native mma.m16n8k8"),
        (P::F16Out32, (8, 6), "native mma.m16n8k16"),
        (P::F16Acc16, (6, 0), "native fma.f16x2"),
        (P::Bf16, (7, 5), "emulated fp32"),
        (P::Bf16, (12, 0), "native mma.m16n8k16"),
        (P::F32, (6, 0), "native fma.f32"),
        (P::S8, (6, 0), "absent it begins with sm_61"),
        (P::S8, (7, 0), "native dp4a"),
        (P::S8, (7, 5), "native mma.m8n8k16"),
        (P::S8, (10, 3), "native mma.m16n8k32"),
        (P::S4, (7, 0), "absent it begins with sm_75"),
        (P::S4, (8, 9), "native mma.m16n8k64"),
        (P::S4, (9, 0), "emulated 8-bit mma"),
        (P::S4, (12, 0), "emulated 8-bit mma"),
        (P::E4m3, (8, 6), "absent it begins with sm_89"),
        (P::E4m3, (8, 9), "native mma.m16n8k32"),
        (P::E5m2, (9, 0), "emulated fp16 mma"),
        (P::E4m3, (10, 3), "emulated fp16 mma"),
        (P::E5m2, (12, 0), "native mma.m16n8k32"),
    ] {
        let said = match product.route(&device(sm, 1)) {
            Route::Native { by } => format!("native {by}"),
            Route::Emulated { by } => format!("emulated {by}"),
            Route::Absent { why } => format!("absent {why}"),
        };
        assert!(said.starts_with(is), "{product:?} on {sm:?}: {said}");
    }
}

#[test]
fn tiles_are_large_where_they_fill_the_device() {
    for (product, (m, n, k), sms, entry, blocks) in [
        (Product::F16, (1024, 1024, 64), 64, "gemm_f16", 64),
        (Product::F16, (1024, 1024, 64), 200, "gemm_f16_small", 256),
        (Product::S4, (129, 1, 32), 2, "gemm_s4", 2),
        (Product::F32, (129, 65, 4), 80, "gemm_f32_small", 6),
        (Product::F32, (129, 65, 5), 1, "gemm_f32_ragged", 6),
        (Product::E5m2, (1, 1, 16), 1, "gemm_e5m2", 1),
    ] {
        let launch = launch(&device((9, 0), sms), OPERANDS, product, shape(m, n, k)).unwrap();
        assert_eq!((launch.entry, launch.grid), (entry, [blocks, 1, 1]));
        assert_eq!(
            launch.block,
            [if launch.entry == product.row().entries[0] { 256 } else { 128 }, 1, 1]
        );
        assert_eq!(launch.args[3..], [m, n, k].map(Arg::from));
    }
}

#[test]
fn what_cannot_be_multiplied_is_refused_with_the_reason() {
    let unaligned = Operands { y: Slot { offset: 8, ..NOWHERE }, ..OPERANDS };
    for (product, operands, (m, n, k), sm, said) in [
        (Product::F16, OPERANDS, (1, 1, 12), (8, 0), "k is 12; rows of F16 must be multiples of 8"),
        (Product::S4, OPERANDS, (1, 1, 16), (8, 0), "multiples of 32"),
        (Product::F16, OPERANDS, (1, 0, 8), (8, 0), "1×0×8 has nothing to compute"),
        (Product::S8, OPERANDS, (1, 1, 16), (6, 0), "it begins with sm_61, this is sm_60"),
        (Product::E4m3, OPERANDS, (1, 1, 16), (8, 6), "it begins with sm_89, this is sm_86"),
        (Product::F32, unaligned, (1, 1, 1), (8, 0), "byte 8 of a buffer"),
        (Product::F32, OPERANDS, (1, 1, 1 << 30), (8, 0), "a row may have"),
        (
            Product::Bf16,
            OPERANDS,
            (u32::MAX, u32::MAX, 8),
            (8, 0),
            "tiles; a launch has up to 2^31",
        ),
    ] {
        let error = launch(&device(sm, 1), operands, product, shape(m, n, k)).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn formats_name_products() {
    for row in ROWS.iter().filter(|row| row.family == "gemm") {
        let input = match row.input {
            Number::F16 => Element::F16,
            Number::Bf16 => Element::Bf16,
            _ => Element::F32,
        };
        let product = Product::of(Formats { input, output: row.output });
        let same = if row.product == Product::F16Acc16 { Product::F16 } else { row.product };
        assert_eq!(product, Ok(same));
    }
    assert!(Product::of(Formats { input: Element::F16, output: Element::Bf16 }).is_err());
}
