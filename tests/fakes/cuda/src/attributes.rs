//! `cuDeviceGetAttribute`: every attribute programs ask for. What is not simulated (managed memory, virtual
//! memory management, IPC) is answered with no, so that a program does not try it.

use crate::boards::{Feature, bus};
use crate::scenario::{ComputeMode, Seat};

/// Where a value comes from.
enum Value {
    /// The same on every board from Pascal on.
    Is(i32),
    /// From the board.
    Of(fn(&Seat) -> i32),
}

use Value::{Is, Of};

const NEVER: Value = Is(0);
const ALWAYS: Value = Is(1);

const KIB: i32 = 1 << 10;

fn major(seat: &Seat) -> i32 {
    seat.model.cc.0
}

fn sms(seat: &Seat) -> i32 {
    seat.instance.map_or(seat.model.sms.0, |instance| instance.sms) as i32
}

/// By `CUdevice_attribute`. Texture and surface sizes: programming guide, technical specifications.
#[rustfmt::skip]
const ATTRIBUTES: &[(u32, &str, Value)] = &[
    (1, "MAX_THREADS_PER_BLOCK", Is(1024)),
    (2, "MAX_BLOCK_DIM_X", Is(1024)),
    (3, "MAX_BLOCK_DIM_Y", Is(1024)),
    (4, "MAX_BLOCK_DIM_Z", Is(64)),
    (5, "MAX_GRID_DIM_X", Is(i32::MAX)),
    (6, "MAX_GRID_DIM_Y", Is(65535)),
    (7, "MAX_GRID_DIM_Z", Is(65535)),
    (8, "MAX_SHARED_MEMORY_PER_BLOCK", Is(48 * KIB)),
    (9, "TOTAL_CONSTANT_MEMORY", Is(64 * KIB)),
    (10, "WARP_SIZE", Is(32)),
    (11, "MAX_PITCH", Is(i32::MAX)),
    (12, "MAX_REGISTERS_PER_BLOCK", Is(65536)),
    (13, "CLOCK_RATE", Of(|seat| seat.model.boost_mhz as i32 * 1000)),
    (14, "TEXTURE_ALIGNMENT", Is(512)),
    (15, "GPU_OVERLAP", ALWAYS),
    (16, "MULTIPROCESSOR_COUNT", Of(sms)),
    (17, "KERNEL_EXEC_TIMEOUT", NEVER),
    (18, "INTEGRATED", NEVER),
    (19, "CAN_MAP_HOST_MEMORY", NEVER),
    (21, "MAXIMUM_TEXTURE1D_WIDTH", Is(131_072)),
    (22, "MAXIMUM_TEXTURE2D_WIDTH", Is(131_072)),
    (23, "MAXIMUM_TEXTURE2D_HEIGHT", Is(65536)),
    (24, "MAXIMUM_TEXTURE3D_WIDTH", Is(16384)),
    (25, "MAXIMUM_TEXTURE3D_HEIGHT", Is(16384)),
    (26, "MAXIMUM_TEXTURE3D_DEPTH", Is(16384)),
    (30, "SURFACE_ALIGNMENT", Is(512)),
    (31, "CONCURRENT_KERNELS", ALWAYS),
    (32, "ECC_ENABLED", Of(|seat| i32::from(seat.model.has(Feature::Ecc)))),
    (33, "PCI_BUS_ID", Of(|seat| bus(seat.board) as i32)),
    (34, "PCI_DEVICE_ID", NEVER),
    (35, "TCC_DRIVER", NEVER),
    (36, "MEMORY_CLOCK_RATE", Of(|seat| seat.model.memory_mhz() as i32 * 1000)),
    (37, "GLOBAL_MEMORY_BUS_WIDTH", Of(|seat| seat.model.bus.0 as i32)),
    (38, "L2_CACHE_SIZE", Of(|seat| seat.model.l2_bytes())),
    (39, "MAX_THREADS_PER_MULTIPROCESSOR", Of(|seat| seat.model.limits().threads_per_sm as i32)),
    (40, "ASYNC_ENGINE_COUNT", Is(2)),
    (41, "UNIFIED_ADDRESSING", ALWAYS),
    (50, "PCI_DOMAIN_ID", NEVER),
    (51, "TEXTURE_PITCH_ALIGNMENT", Is(32)),
    (75, "COMPUTE_CAPABILITY_MAJOR", Of(major)),
    (76, "COMPUTE_CAPABILITY_MINOR", Of(|seat| seat.model.cc.1)),
    (78, "STREAM_PRIORITIES_SUPPORTED", ALWAYS),
    (79, "GLOBAL_L1_CACHE_SUPPORTED", ALWAYS),
    (80, "LOCAL_L1_CACHE_SUPPORTED", ALWAYS),
    (81, "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", Of(|seat| seat.model.limits().shared_per_sm_kib as i32 * KIB)),
    (82, "MAX_REGISTERS_PER_MULTIPROCESSOR", Is(65536)),
    (83, "MANAGED_MEMORY", NEVER),
    (84, "MULTI_GPU_BOARD", NEVER),
    (85, "MULTI_GPU_BOARD_GROUP_ID", Of(|seat| seat.board as i32)),
    (86, "HOST_NATIVE_ATOMIC_SUPPORTED", NEVER),
    (87, "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO", Of(|seat| seat.model.limits().fp64_ratio)),
    (88, "PAGEABLE_MEMORY_ACCESS", NEVER),
    (89, "CONCURRENT_MANAGED_ACCESS", NEVER),
    (90, "COMPUTE_PREEMPTION_SUPPORTED", ALWAYS),
    (91, "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM", NEVER),
    (92, "CAN_USE_STREAM_MEM_OPS_V1", NEVER),
    (93, "CAN_USE_64_BIT_STREAM_MEM_OPS_V1", NEVER),
    (94, "CAN_USE_STREAM_WAIT_VALUE_NOR_V1", NEVER),
    (95, "COOPERATIVE_LAUNCH", NEVER),
    (96, "COOPERATIVE_MULTI_DEVICE_LAUNCH", NEVER),
    (97, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", Of(|seat| seat.model.limits().shared_optin_kib as i32 * KIB)),
    (98, "CAN_FLUSH_REMOTE_WRITES", NEVER),
    (99, "HOST_REGISTER_SUPPORTED", NEVER),
    (100, "PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES", NEVER),
    (101, "DIRECT_MANAGED_MEM_ACCESS_FROM_HOST", NEVER),
    (102, "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED", NEVER),
    (103, "HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED", NEVER),
    (106, "MAX_BLOCKS_PER_MULTIPROCESSOR", Of(|seat| seat.model.limits().blocks_per_sm as i32)),
    (107, "GENERIC_COMPRESSION_SUPPORTED", NEVER),
    (108, "MAX_PERSISTING_L2_CACHE_SIZE", NEVER),
    (109, "MAX_ACCESS_POLICY_WINDOW_SIZE", NEVER),
    (110, "GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED", NEVER),
    (111, "RESERVED_SHARED_MEMORY_PER_BLOCK", Of(|seat| seat.model.limits().shared_reserved_kib as i32 * KIB)),
    (112, "SPARSE_CUDA_ARRAY_SUPPORTED", NEVER),
    (115, "MEMORY_POOLS_SUPPORTED", ALWAYS),
    (116, "GPU_DIRECT_RDMA_SUPPORTED", NEVER),
    (119, "MEMPOOL_SUPPORTED_HANDLE_TYPES", NEVER),
    (120, "CLUSTER_LAUNCH", Of(|seat| i32::from(major(seat) >= 9))),
    (122, "CAN_USE_64_BIT_STREAM_MEM_OPS", NEVER),
    (123, "CAN_USE_STREAM_WAIT_VALUE_NOR", NEVER),
    (124, "DMA_BUF_SUPPORTED", NEVER),
    (125, "IPC_EVENT_SUPPORTED", NEVER),
    (126, "MEM_SYNC_DOMAIN_COUNT", Of(|seat| if major(seat) >= 9 { 4 } else { 1 })),
    (127, "TENSOR_MAP_ACCESS_SUPPORTED", Of(|seat| i32::from(major(seat) >= 9))),
    (128, "HANDLE_TYPE_FABRIC_SUPPORTED", NEVER),
    (129, "UNIFIED_FUNCTION_POINTERS", NEVER),
    (132, "MULTICAST_SUPPORTED", NEVER),
    (133, "MPS_ENABLED", NEVER),
    (139, "GPU_PCI_DEVICE_ID", Of(|seat| (seat.model.pci_device << 16 | 0x10de) as i32)),
];

const COMPUTE_MODE: u32 = 20;

/// The value of an attribute; nothing for a number that is none, or that is not simulated.
pub(crate) fn attribute(number: u32, seat: &Seat, mode: ComputeMode) -> Option<i32> {
    if number == COMPUTE_MODE {
        return Some(mode as i32);
    }
    let found = ATTRIBUTES.binary_search_by_key(&number, |entry| entry.0).ok()?;
    Some(match ATTRIBUTES[found].2 {
        Is(value) => value,
        Of(rule) => rule(seat),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::MODELS;

    #[test]
    fn numbers_rise_and_every_board_answers_each() {
        assert!(ATTRIBUTES.is_sorted_by(|one, next| one.0 < next.0));
        for model in MODELS {
            let seat = Seat { model, board: 0, instance: None };
            for (number, name, _) in ATTRIBUTES {
                let value = attribute(*number, &seat, ComputeMode::Default);
                // The device id's upper half is larger than half of what fits.
                assert!(value.is_some_and(|it| it >= 0 || *number == 139), "{} {name}", model.id);
            }
        }
    }
}
