use super::choose::dispatches;
use super::product::ROWS;
use super::*;
use crate::Sm;
use crate::gpu::family::number::Number;
use crate::gpu::{Arg, BufferId, DeviceFacts, Element, Route, Shape, Slot};

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
        tuned: crate::gpu::TunedConfigs::default(),
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
        (P::Tf32, (7, 5), "absent it begins with sm_80"),
        (P::Tf32, (8, 0), "native mma.m16n8k8"),
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

/// A device with the shared memory of its generation.
fn generous(sm: (u8, u8), sms: u32, kib: u32) -> DeviceFacts {
    DeviceFacts { shared_per_block_optin: kib << 10, ..device(sm, sms) }
}

/// Tiles are the largest of which every multiprocessor gets as many as another, and few tokens have tiles of their own.
#[test]
fn tiles_follow_the_size_and_the_device() {
    let (a100, ada) = (generous((8, 0), 108, 163), generous((8, 9), 128, 99));
    let (v100, t4) = (generous((7, 0), 80, 96), generous((7, 5), 40, 64));
    let p100 = device((6, 0), 56);
    for (product, (m, n, k), facts, entry, blocks) in [
        (Product::F16, (8192, 8192, 8192), &a100, "gemm_f16_128x256b128s3", 2048),
        (Product::F16, (8192, 8192, 8192), &ada, "gemm_f16_128x256b64s3", 2048),
        (Product::F16, (8192, 8192, 8192), &v100, "gemm_f16_128x256b64s2", 2048),
        (Product::F16, (4096, 4096, 4096), &t4, "gemm_f16_128x256b64s2", 512),
        // 128 largest tiles would be two for some of 108 multiprocessors and none for others.
        (Product::Bf16, (2048, 2048, 2048), &a100, "gemm_bf16_64x128b64s4", 512),
        (Product::F16, (16, 4096, 4096), &a100, "gemm_f16_32x64b256s3k4", 64),
        (Product::F16, (64, 4096, 4096), &a100, "gemm_f16_64x64b128s3", 64),
        (Product::F16, (128, 4096, 4096), &a100, "gemm_f16_64x128b64s4", 64),
        (Product::F16, (512, 11_008, 4096), &a100, "gemm_f16_128x256b128s3", 172),
        (Product::F16Acc16, (16, 4096, 4096), &ada, "gemm_f16_acc16_64x64b128s3", 64),
        (Product::F16, (4096, 4096, 4096), &p100, "gemm_f16_128x128", 1024),
        (Product::F32, (129, 65, 4), &a100, "gemm_f32_64x64", 6),
        (Product::F32, (129, 65, 5), &a100, "gemm_f32_64x64r", 6),
        (Product::E4m3, (4096, 4096, 4096), &ada, "gemm_e4m3_128x128b64s3w8", 1024),
        (Product::S4, (1, 1, 32), &t4, "gemm_s4_64x64b64s2", 1),
    ] {
        let launch = launch(facts, OPERANDS, product, shape(m, n, k)).unwrap();
        assert_eq!((launch.entry, launch.grid), (entry, [blocks, 1, 1]), "{m}×{n}×{k}");
        assert_eq!(launch.args[3..], [m, n, k].map(Arg::from));
    }
}

/// Tiles too few, or a few too many, are shared by one wave of blocks where there is memory between them.
#[test]
fn tiles_are_shared_where_that_fills_the_device() {
    let (a100, v100) = (generous((8, 0), 108, 163), generous((7, 0), 80, 96));
    for ((m, n, k), facts, entry, blocks) in [
        ((256, 4096, 4096), &a100, "gemm_f16_128x128b64s3d", 216),
        ((512, 2048, 8192), &a100, "gemm_f16_128x128b64s3d", 216),
        ((256, 4096, 4096), &v100, "gemm_f16_128x128b64s2d", 160),
        ((8192, 8192, 8192), &a100, "gemm_f16_128x256b128s3", 2048),
        ((16, 4096, 4096), &a100, "gemm_f16_32x64b256s3k4", 64),
    ] {
        let size = shape(m, n, k);
        let through = Some(Workspace { left: NOWHERE, arrivals: NOWHERE });
        let launch = launch_through(facts, OPERANDS, through, Product::F16, size).unwrap();
        assert_eq!((launch.entry, launch.grid), (entry, [blocks, 1, 1]), "{m}×{n}×{k}");
        let shared = workspace_bytes(facts, Product::F16, size);
        assert_eq!(shared.is_some(), entry.ends_with('d'), "{m}×{n}×{k}");
        let alone = super::launch(facts, OPERANDS, Product::F16, size).unwrap();
        assert!(!alone.entry.ends_with('d'), "{m}×{n}×{k}");
    }
}

/// What is picked is launched where it can be, whatever else it is that was picked.
#[test]
fn picks_come_first_where_they_can_be() {
    let facts = generous((8, 6), 64, 99);
    let entry = |pick: &str, k: u32, product: Product| {
        let facts = facts.with_variant(product.id(), pick);
        launch(&facts, OPERANDS, product, shape(4096, 4096, k)).unwrap().entry
    };
    assert_eq!(entry("64x64b128s3", 4096, Product::F16), "gemm_f16_64x64b128s3");
    assert_eq!(entry("no such thing", 4096, Product::F16), "gemm_f16_128x256b64s3");
    assert_eq!(entry("128x256b128s3", 4096, Product::F16), "gemm_f16_128x256b64s3", "147 KB");
    assert_eq!(entry("128x128", 4097, Product::F32), "gemm_f32_64x64r", "rows of 16 bytes only");
}

/// No variant of a device asks for what it has not, and names are its own.
#[test]
fn variants_fit_their_device() {
    for facts in [generous((7, 5), 40, 64), generous((8, 6), 82, 99), generous((9, 0), 132, 227)] {
        for kernel in KERNELS {
            let variants = (kernel.variants)(&facts);
            let mut names: Vec<&str> = variants.iter().map(|variant| variant.name).collect();
            assert!(names.len() <= crate::gpu::MOST_VARIANTS, "{}", kernel.id);
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), variants.len(), "{}", kernel.id);
            let absent = matches!((kernel.route)(&facts), Route::Absent { .. });
            assert_eq!(names.is_empty(), absent, "{}", kernel.id);
            for dispatch in ROWS.iter().filter(|row| KERNELS[row.product as usize].id == kernel.id)
            {
                for dispatch in dispatches(dispatch.product, &facts) {
                    assert!(
                        dispatch.shared_bytes <= facts.shared_per_block_optin,
                        "{}",
                        dispatch.entry
                    );
                }
            }
        }
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
        let same = match row.product {
            Product::F16Acc16 => Product::F16,
            Product::Tf32 => Product::F32,
            other => other,
        };
        assert_eq!(product, Ok(same));
    }
    assert!(Product::of(Formats { input: Element::F16, output: Element::Bf16 }).is_err());
}
