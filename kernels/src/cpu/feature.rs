//! What the CPU can do, asked when the program runs.

use crate::named::named;

named! {
    /// Instruction sets the kernels ask for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Feature in
    /// Every [`Feature`] with the name the kernel of the operating system gives it.
    FEATURES {
        /// 256-bit vectors.
        Avx2 = "avx2",
        /// Fused multiply-add.
        Fma = "fma",
        /// Conversion between fp16 and fp32.
        F16c = "f16c",
        /// 512-bit vectors.
        Avx512f = "avx512f",
        /// 8- and 16-bit lanes in 512-bit vectors.
        Avx512bw = "avx512bw",
        /// The narrower vectors of AVX-512: without them compilers use half of the registers.
        Avx512vl = "avx512vl",
        /// bfloat16 dot products.
        Avx512bf16 = "avx512_bf16",
        /// Dot products of bytes.
        Avx512vnni = "avx512_vnni",
    }
}

impl Feature {
    /// Whether this CPU has it and the operating system lets it be used.
    #[cfg(target_arch = "x86_64")]
    pub fn is_present(self) -> bool {
        match self {
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            Self::Fma => is_x86_feature_detected!("fma"),
            Self::F16c => is_x86_feature_detected!("f16c"),
            Self::Avx512f => is_x86_feature_detected!("avx512f"),
            Self::Avx512bw => is_x86_feature_detected!("avx512bw"),
            Self::Avx512vl => is_x86_feature_detected!("avx512vl"),
            Self::Avx512bf16 => is_x86_feature_detected!("avx512bf16"),
            Self::Avx512vnni => is_x86_feature_detected!("avx512vnni"),
        }
    }

    /// Whether this CPU has it and the operating system lets it be used.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_present(self) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// The operating system is the independent witness.
    #[test]
    fn detection_agrees_with_the_operating_system() {
        let info = std::fs::read_to_string("/proc/cpuinfo").expect("Linux has it");
        let flags = info.lines().find(|l| l.starts_with("flags")).expect("x86 has flags");
        for (feature, name) in FEATURES {
            assert_eq!(feature.id(), *name);
            let told = flags.split_ascii_whitespace().any(|flag| flag == *name);
            assert_eq!(feature.is_present(), told, "{name}");
        }
    }
}
