//! The files compiled into the program, as the build script turned them into JSON.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!(env!("OUT_DIR"), "/errors/", $name, ".json")))),*]
    };
}

/// Name and text of every file in `probes/errors/`.
pub(super) const FILES: &[(&str, &str)] = files![
    "arch_newer_gpu.toml",
    "arch_older_gpu.toml",
    "build_toolkit_wrong.toml",
    "binary_abi_mismatch.toml",
    "cpu_only_build.toml",
    "lib_missing.toml",
    "lib_conflict_loader_path.toml",
    "driver_too_old.toml",
    "compat_libcuda_conflict.toml",
    "driver_module_state.toml",
    "container_gpu_access.toml",
    "fabricmanager_missing.toml",
    "device_visibility.toml",
    "hardware_fault.toml",
    "vendor_bug_version.toml",
    "capability_gate.toml",
    "fp8_needs_sm89.toml",
    "cublas_unsupported.toml",
    "oom_does_not_fit.toml",
    "oom_memory_taken.toml",
    "oom_fragmentation.toml",
    "kv_cache_too_small.toml",
    "oom_masked.toml",
    "fp16_overflow.toml",
    "quant_kernel_wrong.toml",
    "p2p_iommu.toml",
    "kernel_resource_limit.toml",
    "index_out_of_range.toml",
    "kernel_bug_memory.toml",
    "nccl_shm_small.toml",
    "facts.toml",
];
