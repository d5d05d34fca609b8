//! One file per kernel family: its kernels, how they are launched, and the cases that prove them.

pub mod alu;
pub mod attn;
pub mod clock;
pub mod elementwise;
pub mod gemm;
pub mod gemv;
pub mod mem;
pub mod nf4;
mod number;
mod operand;
mod route;
pub(in crate::gpu) mod stream;
pub mod stream_k;
pub mod token;
pub mod w4;

use super::GpuKernel;

/// Every kernel, family by family.
pub fn kernels() -> impl Iterator<Item = &'static GpuKernel> {
    let families: [&[GpuKernel]; 9] = [
        alu::KERNELS,
        attn::KERNELS,
        gemm::KERNELS,
        gemv::KERNELS,
        elementwise::KERNELS,
        mem::KERNELS,
        nf4::KERNELS,
        token::KERNELS,
        w4::KERNELS,
    ];
    families.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::gemm::tests::device;
    use super::kernels;
    use crate::gpu::Shape;

    fn shape(m: u32, n: u32, k: u32, context: u32) -> Shape {
        Shape { m, n, k, context, ..Shape::default() }
    }

    #[test]
    fn a_size_tells_of_nothing_that_does_not_count() {
        let facts = device((8, 0), 108);
        for (id, asked, told) in [
            ("attn.prefill.f16", shape(32, 0, 128, 0), Ok(shape(32, 0, 128, 0))),
            ("attn.prefill.f16", shape(32, 0, 0, 64), Ok(shape(32, 0, 128, 64))),
            ("attn.prefill.f16", shape(32, 999, 0, 0), Err("it has no n; give 0 instead of 999")),
            ("attn.prefill.f16", shape(32, 0, 64, 0), Err("give that or 0 instead of k = 64")),
            ("attn.decode.f16", shape(1, 0, 0, 640), Ok(shape(1, 0, 128, 640))),
            ("attn.decode.f16", shape(1, 9, 0, 640), Err("it has no n")),
            ("norm.f16", shape(4, 64, 0, 0), Ok(shape(4, 64, 0, 0))),
            ("norm.f16", shape(4, 64, 64, 0), Err("it has no k")),
            ("swiglu.f32", shape(4, 64, 0, 7), Err("it has no context")),
            ("argmax.f32", shape(1, 64, 1, 0), Err("it has no k")),
        ] {
            let kernel = kernels().find(|kernel| kernel.id == id).expect("the kernel is there");
            let work = (kernel.work)(&facts, asked).map(|work| work.shape);
            match (work, told) {
                (Ok(work), Ok(told)) => assert_eq!(work, told, "{id}"),
                (Err(why), Err(told)) => assert!(why.contains(told), "{id}: {why}"),
                (work, _) => panic!("{id} {asked:?}: {work:?}"),
            }
        }
    }
}
