//! The products as kernels, and the sizes at which they are timed.

use super::super::number::Number;
use super::super::operand::normal;
use super::cases;
use super::choose::{choose, dispatches};
use super::launch::{launch_through, pitch, workspace_bytes};
use super::product::{Product, ROWS};
use crate::Dtype;
use crate::gpu::family::stream::Operands;
use crate::gpu::family::stream_k::Workspace;
use crate::gpu::{
    BufferId, Content, DeviceFacts, Element, GpuKernel, Limiter, Route, Shape, Slot, Variant, Work,
};

/// Sides of the cubes that are timed.
const SIDES: [u32; 4] = [1024, 2048, 4096, 8192];
/// Fewer rows or columns than this wait for memory.
const NARROW: u32 = 256;
/// Side of the tiles of which every multiprocessor should have one.
const FILLING: u32 = 128;
/// Numbers of the block that fills a matrix where no device generates them: a prime, so that rows differ.
const BLOCK: usize = 65_521;

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    kernel::<0>("fp16 product, fp32 accumulation", Dtype::Fp16),
    kernel::<1>("fp16 product, fp32 accumulation and results", Dtype::Fp16),
    kernel::<2>("fp16 product, fp16 accumulation", Dtype::Fp16),
    kernel::<3>("bf16 product, fp32 accumulation", Dtype::Bf16),
    kernel::<4>("bf16 product, fp32 accumulation and results", Dtype::Bf16),
    kernel::<5>("fp32 product", Dtype::Fp32),
    kernel::<6>("8-bit integer product, 32-bit sums", Dtype::Int8),
    kernel::<7>("4-bit integer product, 32-bit sums", Dtype::Int4),
    kernel::<8>("fp8 product, fp32 results", Dtype::Fp8E4m3),
    kernel::<9>("fp8 product, fp32 results", Dtype::Fp8E5m2),
    kernel::<10>("fp32 product on tensor cores, rounded to tf32", Dtype::Tf32),
];

/// The kernel of a row.
const fn kernel<const ROW: usize>(title: &'static str, dtype: Dtype) -> GpuKernel {
    const fn product<const ROW: usize>() -> Product {
        ROWS[ROW].product
    }
    GpuKernel {
        id: ROWS[ROW].id,
        title,
        family: ROWS[ROW].family,
        dtype,
        route: |facts| product::<ROW>().route(facts),
        cases: |facts| cases::cases(product::<ROW>(), facts),
        works: |facts, arena| works(product::<ROW>(), facts, arena),
        work: |facts, shape| work(product::<ROW>(), facts, shape),
        variants: |facts| variants(product::<ROW>(), facts),
    }
}

fn variants(product: Product, facts: &DeviceFacts) -> Vec<Variant> {
    if let Route::Absent { .. } = product.route(facts) {
        return Vec::new();
    }
    dispatches(product, facts).iter().map(|dispatch| dispatch.variant).collect()
}

/// The cubes that fit and fill the device, smallest first. What another result format would only repeat is not timed, nor an imitation of tensor
/// cores that the device has, but for other instructions: its rate would be taken for theirs.
fn works(product: Product, facts: &DeviceFacts, arena: u64) -> Vec<Work> {
    let repeated = matches!(product, Product::F16Out32 | Product::Bf16Out32);
    let tensor = matches!(product, Product::S4 | Product::E4m3 | Product::E5m2);
    let imitated = matches!(product.route(facts), Route::Emulated { .. });
    if repeated || tensor && imitated {
        return Vec::new();
    }
    let cubes = SIDES.map(|side| Shape { m: side, n: side, k: side, ..Shape::default() });
    let tiles = |shape: &Shape| shape.m.div_ceil(FILLING) * shape.n.div_ceil(FILLING);
    let filling = cubes.into_iter().filter(|shape| tiles(shape) >= facts.sms);
    let fitting = filling.filter(|shape| bytes(product, *shape) <= arena as f64);
    fitting.filter_map(|shape| work(product, facts, shape).ok()).collect()
}

/// Bytes of X, W and Y.
fn bytes(product: Product, shape: Shape) -> f64 {
    let [m, n, k] = [shape.m, shape.n, shape.k].map(f64::from);
    (m + n) * k * f64::from(product.row().input.bits()) / 8.0
        + m * n * product.output().bytes() as f64
}

fn work(product: Product, facts: &DeviceFacts, shape: Shape) -> Result<Work, String> {
    let nowhere = Slot { buffer: BufferId(0), offset: 0 };
    let operands = Operands { x: nowhere, weights: nowhere, y: nowhere };
    let shared = workspace_bytes(facts, product, shape);
    let through = |left, arrivals| shared.map(|_| Workspace { left, arrivals });
    launch_through(facts, operands, through(nowhere, nowhere), product, shape)?;
    let dispatch = choose(product, facts, shape, shared.is_some());
    let variant = dispatch.map_or("", |dispatch| dispatch.variant.name);
    let pitch = pitch(product, shape)? as usize;
    let Shape { m, n, k, .. } = shape;
    let facts = facts.clone();
    let mut buffers = vec![
        noise(product, m as usize * pitch, 1),
        noise(product, n as usize * pitch, 2),
        Content::Poison(m as usize * n as usize * product.output().bytes()),
    ];
    let between = |[left, arrivals]: [usize; 2]| [Content::Scratch(left), Content::Zero(arrivals)];
    buffers.extend(shared.map(between).into_iter().flatten());
    Ok(Work {
        shape,
        buffers,
        plan: Box::new(move |at| {
            let operands = Operands { x: at[0], weights: at[1], y: at[2] };
            let through = shared.map(|_| Workspace { left: at[3], arrivals: at[4] });
            launch_through(&facts, operands, through, product, shape).into_iter().collect()
        }),
        bytes: bytes(product, shape),
        flops: 2.0 * f64::from(m) * f64::from(n) * f64::from(k),
        limiter: if m.min(n) < NARROW { Limiter::Memory } else { Limiter::Arithmetic },
        variant,
    })
}

/// So many bytes of multiplicands. Random bytes are no fp8: some are no numbers, and most far from one another.
fn noise(product: Product, bytes: usize, seed: u32) -> Content {
    let number = product.row().input;
    let element = match number {
        Number::F16 => Element::F16,
        Number::Bf16 => Element::Bf16,
        Number::E4m3 | Number::E5m2 => {
            let block = number.store((0..BLOCK).map(|i| normal(i, seed.into()).into()));
            return Content::Bytes(block.into_iter().cycle().take(bytes).collect());
        }
        Number::S8 | Number::S4 => Element::U8,
        _ => Element::F32,
    };
    Content::Noise { element, count: bytes / element.bytes(), seed }
}

#[cfg(test)]
mod tests {
    use super::super::tests::device;
    use super::*;

    fn sides(product: Product, sm: (u8, u8), sms: u32, arena: u64) -> Vec<u32> {
        works(product, &device(sm, sms), arena).iter().map(|work| work.shape.m).collect()
    }

    #[test]
    fn what_is_timed_fits_fills_the_device_and_is_its_own() {
        let live = 256 << 20;
        assert_eq!(sides(Product::F16, (9, 0), 132, live), [2048, 4096]);
        assert_eq!(sides(Product::F32, (7, 5), 40, live), [1024, 2048, 4096]);
        assert_eq!(sides(Product::E4m3, (8, 9), 128, 1 << 30), [2048, 4096, 8192]);
        assert_eq!(sides(Product::Bf16, (7, 0), 80, live), [2048, 4096], "the cliff is shown");
        assert_eq!(sides(Product::E4m3, (9, 0), 132, live), [0; 0], "no rate of the format");
        assert_eq!(sides(Product::S4, (12, 0), 170, live), [0; 0], "no rate of the format");
        assert_eq!(sides(Product::S8, (6, 0), 56, live), [0; 0]);
    }

    #[test]
    fn fp8_that_is_timed_is_numbers() {
        for number in [Number::E4m3, Number::E5m2] {
            let product = if number == Number::E4m3 { Product::E4m3 } else { Product::E5m2 };
            let Content::Bytes(bytes) = noise(product, 100_000, 1) else { panic!("bytes") };
            assert!(bytes.iter().all(|byte| number.decode((*byte).into()).abs() < 4.1));
        }
    }

    #[test]
    fn every_product_is_a_kernel_once_and_in_its_place() {
        assert_eq!(KERNELS.len(), ROWS.len());
        for (index, (kernel, row)) in KERNELS.iter().zip(&ROWS).enumerate() {
            assert_eq!(row.product as usize, index);
            let dispatch = dispatches(row.product, &device((8, 9), 1))[0];
            let entry = dispatch.entry.strip_suffix(dispatch.variant.name).unwrap();
            let id = entry.replacen('_', ".", 1).replace('_', "");
            assert_eq!((kernel.id, kernel.family), (&id[..], row.family));
            let dtype = match row.input {
                _ if row.product == Product::Tf32 => Dtype::Tf32,
                Number::F16 => Dtype::Fp16,
                Number::Bf16 => Dtype::Bf16,
                Number::S8 => Dtype::Int8,
                Number::S4 => Dtype::Int4,
                Number::E4m3 => Dtype::Fp8E4m3,
                Number::E5m2 => Dtype::Fp8E5m2,
                _ => Dtype::Fp32,
            };
            assert_eq!(kernel.dtype, dtype, "{id}");
        }
    }
}
