//! Every probe: what it is about, what it runs, and which rules it settles.
//!
//! A rule is named where the probe asks the very thing that the rule claims. A gate shows that an instruction is there; whether it is
//! in the hardware or put together of others is a question of rates.

use warpscope_kernels::cuda::blas::{Compute, Kind};
use warpscope_kernels::image::Isa;
use warpscope_kernels::{Sm, Suffix};

use super::gate::{Element, Exchange, InstructionProbe, Layout, Tile, words};
use super::load::Load;
use super::product::{Call, Grid, Lie, Trial};
use super::rate::{Rate, product, scalar};

/// What a probe does.
#[derive(Clone, Copy)]
pub enum Subject {
    /// Runs one instruction.
    Instruction(InstructionProbe),
    /// Compares two rates.
    Rate(Rate),
    /// Loads an image.
    Load(Load),
    /// Runs a block with so many KiB of shared memory.
    Shared(u32),
    /// Asks cuBLAS for products.
    Product(Grid),
    /// Sums beyond the range of fp16.
    Overflow,
    /// Takes half of the free memory, and gives it back.
    Allocate,
}

/// One probe.
#[derive(Clone, Copy)]
pub struct Probe {
    /// Stable id: `gate.mma_bf16`.
    pub id: &'static str,
    /// What it is about, as the subject of a sentence.
    pub title: &'static str,
    /// Rules it settles, by id.
    pub settles: &'static [&'static str],
    /// Why it settles none; empty where it settles some.
    pub settles_none: &'static str,
    /// What it does.
    pub subject: Subject,
}

/// Every probe, cheapest kind first.
pub fn probes() -> impl Iterator<Item = &'static Probe> {
    [GATES, SHARED, LOADS, RATES, PRODUCTS, MECHANICS].into_iter().flatten()
}

/// A probe by its id.
pub fn probe(id: &str) -> Option<&'static Probe> {
    probes().find(|probe| probe.id == id)
}

type Ids = &'static [&'static str];

const fn gate(
    id: &'static str,
    title: &'static str,
    settles: Ids,
    (family, entry): (&'static str, &'static str),
    exchange: Exchange,
) -> Probe {
    let subject = Subject::Instruction(InstructionProbe { family, entry, exchange });
    Probe { id, title, settles, settles_none: "", subject }
}

const fn tile(element: Element, rows: usize, inner: usize) -> Exchange {
    Exchange::Tile(Tile { element, layout: Layout::Words { rows, inner } })
}

const fn laid(element: Element, layout: Layout) -> Exchange {
    Exchange::Tile(Tile { element, layout })
}

/// Instructions.
#[rustfmt::skip]
const GATES: &[Probe] = &[
    gate("gate.fma_f16", "half-precision arithmetic (fma.f16x2)", &["hardware.fma_f16"], ("gate", "fma_f16"), Exchange::Words(words::FMA_F16)),
    gate("gate.dp4a", "the int8 dot product (dp4a)", &["hardware.dp4a", "hardware.dp4a.native"], ("gate", "dp4a_s8"), Exchange::Words(words::DP4A)),
    gate("gate.fma_bf16", "bfloat16 arithmetic (fma.bf16x2)", &["hardware.fma_bf16"], ("gate", "fma_bf16"), Exchange::Words(words::FMA_BF16)),
    gate("gate.cvt_bf16", "conversion to bfloat16 (cvt.bf16)", &["hardware.cvt_bf16"], ("gate", "cvt_bf16"), Exchange::Words(words::CVT_BF16)),
    gate("gate.wmma_f16", "the fp16 product of wmma", &["hardware.wmma_f16"], ("gate_arch", "wmma_f16"), Exchange::Words(words::SQUARES)),
    gate("gate.mma_m8n8k4", "the fp16 product m8n8k4", &["hardware.mma_m8n8k4", "hardware.mma_m8n8k4.native"], ("gate", "mma_m8n8k4_f16"), laid(Element::F16, Layout::Volta)),
    gate("gate.mma_m16n8k8", "the fp16 product m16n8k8", &["hardware.mma_m16n8k8"], ("gate", "mma_m16n8k8"), tile(Element::F16, 16, 4)),
    gate("gate.mma_m16n8k16", "the fp16 product m16n8k16", &["hardware.mma_m16n8k16"], ("gate", "mma_m16n8k16"), tile(Element::F16, 16, 8)),
    gate("gate.mma_bf16", "the bfloat16 product (mma.bf16)", &["hardware.mma_bf16"], ("gate", "mma_bf16"), tile(Element::Bf16, 16, 8)),
    gate("gate.mma_tf32", "the TF32 product (mma.tf32)", &["hardware.mma_tf32"], ("gate", "mma_tf32"), tile(Element::Tf32, 16, 8)),
    gate("gate.mma_int8", "the int8 product m8n8k16", &["hardware.mma_int8"], ("gate", "mma_int8"), tile(Element::I8, 8, 4)),
    gate("gate.mma_int8_m16n8k32", "the int8 product m16n8k32", &["hardware.mma_int8_m16n8k32"], ("gate", "mma_int8_m16n8k32"), tile(Element::I8, 16, 8)),
    gate("gate.mma_int4", "the int4 product (mma.s4)", &["hardware.mma_int4", "hardware.mma_int4.native"], ("gate", "mma_int4"), tile(Element::I4, 8, 4)),
    gate("gate.mma_b1", "the 1-bit product (mma.b1.and)", &["hardware.mma_b1", "hardware.mma_b1.native"], ("gate_arch", "mma_b1"), tile(Element::B1, 16, 8)),
    gate("gate.mma_fp8", "the FP8 product (mma.e4m3)", &["hardware.mma_fp8", "hardware.mma_fp8.native"], ("gate_fp8", "mma_fp8"), tile(Element::E4m3, 16, 8)),
    gate("gate.cvt_e4m3", "conversion to FP8 (cvt.e4m3x2)", &["hardware.cvt_e4m3"], ("gate_fp8", "cvt_e4m3"), Exchange::Words(words::CVT_E4M3)),
    gate("gate.mma_block_scale", "the block-scaled FP4 product (mma.mxf4nvf4)", &["hardware.mma_block_scale"], ("gate_arch", "mma_block_scale"), tile(Element::E2m1, 16, 8)),
    gate("gate.cvt_e2m1", "conversion to FP4 (cvt.e2m1x2)", &["hardware.cvt_e2m1"], ("gate_arch", "cvt_e2m1"), Exchange::Words(words::CVT_E2M1)),
    gate("gate.cp_async", "the asynchronous copy (cp.async)", &["hardware.cp_async"], ("gate", "cp_async"), Exchange::Words(words::NEIGHBOURS)),
    gate("gate.ldmatrix", "loading of tiles (ldmatrix)", &["hardware.ldmatrix"], ("gate", "ldmatrix"), Exchange::Words(words::MATRICES)),
    gate("gate.redux_sync", "the warp-wide sum (redux.sync)", &["hardware.redux_sync"], ("gate", "redux_sync"), Exchange::Words(words::SUM)),
    gate("gate.atom_add_f16", "the atomic add of one half (atom.add.f16)", &["hardware.atom_add_f16"], ("gate", "atom_add_f16"), Exchange::Added(words::ATOM_F16)),
    gate("gate.atom_add_bf16x2", "the atomic add of a bfloat16 pair (atom.add.bf16x2)", &["hardware.atom_add_bf16x2"], ("gate", "atom_add_bf16x2"), Exchange::Added(words::ATOM_BF16X2)),
    Probe {
        settles_none: "every GPU with an image here has it, so no rule covers it",
        ..gate("gate.atom_add_f16x2", "the atomic add of a half pair (atom.add.f16x2)", &[], ("gate", "atom_add_f16x2"), Exchange::Added(words::ATOM_F16X2))
    },
    gate("gate.ld_evict_last", "the cache hint evict_last", &["hardware.ld_evict_last"], ("gate", "ld_evict_last"), Exchange::Words(words::SAME)),
    gate("gate.tma", "the bulk copy (cp.async.bulk)", &["hardware.tma"], ("gate_arch", "tma"), Exchange::Words(words::NEIGHBOURS)),
    gate("gate.wgmma", "the warp-group product (wgmma)", &["hardware.wgmma"], ("gate_arch", "wgmma"), laid(Element::F16, Layout::WarpGroup)),
    gate("gate.tcgen05", "tensor memory (tcgen05)", &["hardware.tcgen05"], ("gate_arch", "tcgen05"), Exchange::Words(words::SAME)),
];

const fn shared(id: &'static str, title: &'static str, settles: Ids, kib: u32) -> Probe {
    Probe { id, title, settles, settles_none: "", subject: Subject::Shared(kib) }
}

/// Shared memory of one block.
const SHARED: &[Probe] = &[
    shared("shared.64k", "64 KiB of shared memory", &["hardware.smem_64k"], 64),
    shared("shared.96k", "96 KiB of shared memory", &["hardware.smem_96k"], 96),
    shared("shared.99k", "99 KiB of shared memory", &["hardware.smem_99k"], 99),
    shared("shared.163k", "163 KiB of shared memory", &["hardware.smem_163k"], 163),
    shared("shared.227k", "227 KiB of shared memory", &["hardware.smem_227k"], 227),
];

const fn load(id: &'static str, title: &'static str, settles: Ids, load: Load) -> Probe {
    Probe { id, title, settles, settles_none: "", subject: Subject::Load(load) }
}

const fn own(major: u8, minor: u8) -> Load {
    Load::Cubin(Sm { major, minor, suffix: Suffix::Arch })
}

const fn plain(major: u8, minor: u8) -> Load {
    Load::Cubin(Sm::new(major, minor))
}

const fn ptx(major: u8, minor: u8, isa: (u8, u8)) -> Load {
    Load::Ptx(Sm::new(major, minor), Isa::new(isa.0, isa.1))
}

const fn version(major: u8, minor: u8) -> Load {
    Load::Version(Isa::new(major, minor))
}

/// Images. PTX versions of targets and of toolkits: PTX ISA manual, "Release notes".
#[rustfmt::skip]
const LOADS: &[Probe] = &[
    load("load.cubin_6_0", "machine code for sm_60", &["cuda.cubin.sm_6_0"], plain(6, 0)),
    load("load.cubin_6_1", "machine code for sm_61", &["cuda.cubin.sm_6_1"], plain(6, 1)),
    load("load.cubin_7_0", "machine code for sm_70", &["cuda.cubin.sm_7_0"], plain(7, 0)),
    load("load.cubin_7_5", "machine code for sm_75", &["cuda.cubin.sm_7_5"], plain(7, 5)),
    load("load.cubin_8_0", "machine code for sm_80", &["cuda.cubin.sm_8_0"], plain(8, 0)),
    load("load.cubin_8_6", "machine code for sm_86", &["cuda.cubin.sm_8_6"], plain(8, 6)),
    load("load.cubin_8_9", "machine code for sm_89", &["cuda.cubin.sm_8_9"], plain(8, 9)),
    load("load.cubin_9_0", "machine code for sm_90", &["cuda.cubin.sm_9_0"], plain(9, 0)),
    load("load.cubin_10_0", "machine code for sm_100", &["cuda.cubin.sm_10_0"], plain(10, 0)),
    load("load.cubin_10_3", "machine code for sm_103", &["cuda.cubin.sm_10_3"], plain(10, 3)),
    load("load.cubin_12_0", "machine code for sm_120", &["cuda.cubin.sm_12_0"], plain(12, 0)),
    load("load.cubin_9_0a", "machine code for sm_90a", &["cuda.cubin.sm_9_0a"], own(9, 0)),
    load("load.cubin_10_0a", "machine code for sm_100a", &["cuda.cubin.sm_10_0a"], own(10, 0)),
    load("load.cubin_12_0a", "machine code for sm_120a", &["cuda.cubin.sm_12_0a"], own(12, 0)),
    load("driver.jit", "the driver's compiler", &["cuda.ptx.compute_6_0"], ptx(6, 0, (5, 0))),
    load("load.ptx_7_0", "PTX for compute_70", &["cuda.ptx.compute_7_0"], ptx(7, 0, (6, 0))),
    load("load.ptx_7_5", "PTX for compute_75", &["cuda.ptx.compute_7_5"], ptx(7, 5, (6, 3))),
    load("load.ptx_8_0", "PTX for compute_80", &["cuda.ptx.compute_8_0"], ptx(8, 0, (7, 0))),
    load("load.ptx_8_6", "PTX for compute_86", &["cuda.ptx.compute_8_6"], ptx(8, 6, (7, 1))),
    load("load.ptx_8_9", "PTX for compute_89", &["cuda.ptx.compute_8_9"], ptx(8, 9, (7, 8))),
    load("load.ptx_9_0", "PTX for compute_90", &["cuda.ptx.compute_9_0"], ptx(9, 0, (7, 8))),
    load("load.ptx_12_0", "PTX for compute_120", &["cuda.ptx.compute_12_0"], ptx(12, 0, (8, 7))),
    load("load.isa_8_1", "PTX of CUDA 12.1", &["driver.ptx.cuda_12_1"], version(8, 1)),
    load("load.isa_8_2", "PTX of CUDA 12.2", &["driver.ptx.cuda_12_2"], version(8, 2)),
    load("load.isa_8_3", "PTX of CUDA 12.3", &["driver.ptx.cuda_12_3"], version(8, 3)),
    load("load.isa_8_4", "PTX of CUDA 12.4", &["driver.ptx.cuda_12_4", "driver.ptx.works_12_4"], version(8, 4)),
    load("load.isa_8_5", "PTX of CUDA 12.5 and 12.6", &["driver.ptx.cuda_12_5"], version(8, 5)),
    load("load.isa_8_7", "PTX of CUDA 12.8", &["driver.ptx.cuda_12_8", "driver.ptx.works_12_8"], version(8, 7)),
    load("load.isa_8_8", "PTX of CUDA 12.9", &["driver.ptx.cuda_12_9"], version(8, 8)),
    load("load.isa_9_0", "PTX of CUDA 13.0", &["driver.ptx.cuda_13_0", "driver.ptx.works_13_0"], version(9, 0)),
    load("load.isa_9_1", "PTX of CUDA 13.1", &["driver.ptx.cuda_13_1"], version(9, 1)),
    load("load.isa_9_2", "PTX of CUDA 13.2", &["driver.ptx.cuda_13_2"], version(9, 2)),
    load("load.isa_9_3", "PTX of CUDA 13.3", &["driver.ptx.cuda_13_3", "driver.ptx.works_13_3"], version(9, 3)),
];

const fn rate(id: &'static str, title: &'static str, settles: Ids, rate: Rate) -> Probe {
    Probe { id, title, settles, settles_none: "", subject: Subject::Rate(rate) }
}

/// Rates. Limits lie between what native and emulated forms reach by NVIDIA's tables of throughput and by their instruction counts.
#[rustfmt::skip]
const RATES: &[Probe] = &[
    // 1/64 on 6.1; 1 or 2 wherever half-precision units are.
    rate("rate.fp16", "half-precision arithmetic", &["hardware.fp16.slow", "hardware.fp16.works"], Rate {
        of: scalar("rate_fma_f16", 2.0), against: scalar("rate_fma_f32", 1.0), slow_to: 0.25, works_from: 0.8,
    }),
    // 2 to 4 where the instruction is.
    rate("rate.dp4a", "the int8 dot product (dp4a)", &["hardware.dp4a.native", "hardware.dp4a.slow"], Rate {
        of: scalar("rate_dp4a", 4.0), against: scalar("rate_fma_f32", 1.0), slow_to: 1.0, works_from: 1.5,
    }),
    // 4 and more on tensor cores; GTX 16xx runs the product on its half-precision units.
    rate("rate.tensor_f16", "the fp16 product of the tensor cores", &["hardware.no_tensor_cores.gtx16"], Rate {
        of: product("rate", "rate_mma_f16_acc16", 2048.0), against: scalar("rate_fma_f16", 2.0), slow_to: 1.3, works_from: 2.5,
    }),
    // 4 on Volta; from Ampere on FFMA and shuffles.
    rate("rate.mma_m8n8k4", "the fp16 product m8n8k4", &["hardware.mma_m8n8k4.native", "hardware.mma_m8n8k4.slow"], Rate {
        of: product("rate", "rate_mma_m8n8k4", 1024.0), against: scalar("rate_fma_f16", 2.0), slow_to: 0.6, works_from: 2.0,
    }),
    // 1 where bfloat16 has the tensor cores to itself.
    rate("rate.mma_bf16", "the bfloat16 product", &["hardware.bf16"], Rate {
        of: product("rate", "rate_mma_bf16", 2048.0), against: product("rate", "rate_mma_f16", 2048.0), slow_to: 0.5, works_from: 0.8,
    }),
    // 2 in hardware; two int8 products and 180 other instructions otherwise.
    rate("rate.mma_int4", "the int4 product", &["hardware.mma_int4.native", "hardware.mma_int4.slow"], Rate {
        of: product("rate", "rate_mma_int4", 8192.0), against: product("rate", "rate_mma_int8", 4096.0), slow_to: 0.9, works_from: 1.3,
    }),
    // 4 to 8 in hardware; 8 int8 products otherwise.
    rate("rate.mma_b1", "the 1-bit product", &["hardware.mma_b1.native", "hardware.mma_b1.slow"], Rate {
        of: product("gate_arch", "rate_mma_b1", 32_768.0), against: product("rate", "rate_mma_int8", 4096.0), slow_to: 1.3, works_from: 2.0,
    }),
    // 2 in hardware; two fp16 products and conversions otherwise.
    rate("rate.mma_fp8", "the FP8 product of mma.sync", &["hardware.mma_fp8.native", "hardware.mma_fp8.slow"], Rate {
        of: product("rate_fp8", "rate_mma_fp8", 4096.0), against: product("rate", "rate_mma_f16", 2048.0), slow_to: 1.1, works_from: 1.5,
    }),
];

const fn trial(shape: [u32; 3], lie: Lie, decides: bool) -> Trial {
    Trial { shape, lie, decides }
}

/// What torch asks for in a linear layer, small and as large as in the report (github.com/Vchitect/Latte/issues/125), and crooked.
const LINEAR: &[Trial] = &[
    trial([64, 64, 64], Lie::Packed, true),
    trial([4096, 120, 4096], Lie::Packed, true),
    trial([64, 64, 64], Lie::Stride(8), true),
    trial([64, 64, 64], Lie::Stride(1), true),
    trial([64, 64, 64], Lie::Offset(1), true),
    trial([65, 33, 71], Lie::Packed, true),
];
/// Sides that are multiples of 16, as the int8 tensor cores want them.
const ROUND: &[Trial] = &[
    trial([64, 64, 64], Lie::Packed, true),
    trial([4096, 128, 4096], Lie::Packed, true),
    trial([64, 64, 64], Lie::Stride(16), true),
    // The documentation asks for strides and addresses that are multiples of four.
    trial([64, 64, 64], Lie::Stride(1), false),
    trial([64, 64, 64], Lie::Offset(1), false),
];
/// Sides that are multiples of four only.
const EDGED: &[Trial] = &[
    trial([20, 12, 24], Lie::Packed, true),
    trial([100, 36, 44], Lie::Packed, true),
    trial([4092, 120, 4092], Lie::Packed, true),
];

const fn products(
    id: &'static str,
    title: &'static str,
    settles: Ids,
    call: Call,
    (from, to, compute): (Kind, Kind, Compute),
    trials: &'static [Trial],
) -> Probe {
    let subject = Subject::Product(Grid { call, from, to, compute, trials });
    Probe { id, title, settles, settles_none: "", subject }
}

/// Products of cuBLAS and cuBLASLt.
#[rustfmt::skip]
const PRODUCTS: &[Probe] = &[
    products("cublas.gemm_ex.fp16_fp32", "the fp16 product with fp32 inside",
        &["cublas.gemm_ex", "cublas.gemm_ex.fp16", "cublas.gemm_ex.fp16_13", "latte.t5_4bit.cublas", "bitsandbytes.nf4.two_cublas"],
        Call::GemmEx, (Kind::F16, Kind::F16, Compute::F32), LINEAR),
    products("cublas.gemm_ex.bf16", "the bfloat16 product", &["cublas.gemm_ex.bf16"],
        Call::GemmEx, (Kind::Bf16, Kind::Bf16, Compute::F32), LINEAR),
    products("cublas.hgemm", "the fp16 product with fp16 inside", &["cublas.hgemm"],
        Call::Hgemm, (Kind::F16, Kind::F16, Compute::F16), &[trial([64, 64, 64], Lie::Packed, true), trial([64, 64, 64], Lie::Stride(1), true)]),
    products("cublas.int8", "the int8 product of round sides", &["cublas.int8.works", "cublas.int8.floor", "cublas.int8.before_blackwell"],
        Call::GemmEx, (Kind::I8, Kind::I32, Compute::I32), ROUND),
    products("cublas.int8.unaligned", "the int8 product of other sides", &["cublas.int8.unaligned"],
        Call::GemmEx, (Kind::I8, Kind::I32, Compute::I32), EDGED),
    Probe {
        settles_none: "no rule covers fp16 with fp32 out",
        ..products("cublas.gemm_ex.fp16_to_fp32", "the fp16 product with an fp32 result", &[], Call::GemmEx, (Kind::F16, Kind::F32, Compute::F32), LINEAR)
    },
    Probe {
        settles_none: "rules cover cublasGemmEx, which frameworks call first",
        ..products("cublaslt.fp16_fp32", "the fp16 product of cuBLASLt", &[], Call::LtMatmul, (Kind::F16, Kind::F16, Compute::F32), LINEAR)
    },
    Probe {
        settles_none: "rules cover cublasGemmEx, which frameworks call first",
        ..products("cublaslt.int8", "the int8 product of cuBLASLt", &[], Call::LtMatmul, (Kind::I8, Kind::I32, Compute::I32), ROUND)
    },
    Probe {
        settles_none: "rules of FP8 name instructions and frameworks, none names this call",
        ..products("cublaslt.fp8", "the FP8 product of cuBLASLt", &[], Call::LtMatmul, (Kind::E4m3, Kind::Bf16, Compute::F32),
            &[trial([64, 64, 64], Lie::Packed, true), trial([4096, 128, 4096], Lie::Packed, true), trial([64, 64, 64], Lie::Stride(16), true)])
    },
];

/// What settles nothing.
const MECHANICS: &[Probe] = &[
    Probe {
        id: "fp16.overflow",
        title: "a sum beyond the range of fp16",
        settles: &[],
        settles_none: "which models reach such values is a question of the model; this shows what happens then",
        subject: Subject::Overflow,
    },
    Probe {
        id: "memory.allocate",
        title: "half of the free memory in one block",
        settles: &[],
        settles_none: "no rule covers memory that others hold",
        subject: Subject::Allocate,
    },
];

#[cfg(test)]
mod tests;
