"""What is asked first: what matters most, where a machine may be had for minutes only."""

# Products and attention of Hopper, and what they need; then what streams weights. What is not here follows in the order of the program.
KERNELS = """
hash mem.noise mem.read mem.copy mem.triad probe.finite
gemm.bf16 gemm.f16 attn.prefill.bf16 attn.decode.bf16 gemm.e4m3 gemm.s8 w4.gemm.f16 w4.f16 gemv.bf16 token.bf16 token.w4.f16
attn.prefill.f16 attn.decode.f16 gemm.e5m2 gemm.f16out32 gemm.bf16out32 w4.gemm.bf16 w4.bf16 gemv.f16 nf4.f16 nf4.bf16
token.f16 token.w4.bf16 token.nf4.f16 token.nf4.bf16 gemm.tf32 gemm.f32 gemm.s4 gemm.f16acc16
""".split()

GOALS = """
gemm.bf16.8192 gemm.bf16.4096 attn.bf16.4096 w4.f16.m1 w4.f16.8192.cold gemv.bf16 decode.bf16 decode.int4 gemm.e4m3.8192 gemm.s8.8192
gemm.f16.8192 w4.f16.m16 w4.f16.8192.cached gemm.f16.4096 gemm.e4m3.4096 gemm.s8.4096 gemm.bf16.2048
""".split()

# Sizes of what is read, MiB: where the second-level cache ends and memory begins.
READ_MIB = (16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536)

# What is profiled where no goal was missed: the goals by which a GPU is judged.
PROFILED = ("gemm.bf16.8192", "attn.bf16.4096", "w4.f16.m1", "gemv.bf16", "gemm.e4m3.8192")


def by(preferred, everything):
    """The same things, the preferred ones first."""
    rank = {name: place for place, name in enumerate(preferred)}
    return sorted(everything, key=lambda name: rank.get(name, len(rank)))
