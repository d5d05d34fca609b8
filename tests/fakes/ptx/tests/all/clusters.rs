//! Blocks of a cluster: what they share, and how they wait for each other.

use ptx_interpreter::{Fault, FaultKind, Limits, Memory, Module, Tensor, launch};

/// A kernel of clusters of two blocks of 32 threads with a tensor map of 16 rows of 128 bytes; `%r1` is the thread, `%r5` the rank, `%r2` a tile of 1 KiB,
/// `%r3` an `mbarrier`, `%rd1` the map, `%rd2` the output at the thread's own word of the grid. Thread 0 has `%p1`, rank 0 `%p3`, both `%p4`.
fn text(body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)
.explicitcluster
.reqnctapercluster 2, 1, 1
{{
    .reg .pred %p<10>; .reg .b16 %h<4>; .reg .b32 %r<40>; .reg .b64 %rd<20>;
    .shared .align 1024 .b8 tile[1024];
    .shared .align 8 .b8 bars[16];
    mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, bars; mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %ctaid.x;
    mad.lo.u32 %r7, %r6, 32, %r1; mul.wide.u32 %rd4, %r7, 4; add.u64 %rd2, %rd2, %rd4;
    shl.b32 %r4, %r1, 2; add.u32 %r4, %r4, %r2;
    setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p3, %r5, 0; and.pred %p4, %p1, %p3; xor.b32 %r8, %r5, 1;
    {body}
    END: ret;
}}
"
    )
}

fn run_grid(text: &str, blocks: u32) -> Result<Vec<u32>, Fault> {
    let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut memory = Memory::default();
    let (matrix, out) = (memory.allocate(2048), memory.allocate(4096));
    let words: Vec<u8> = (0..512_u32).flat_map(u32::to_le_bytes).collect();
    memory.bytes_mut(matrix, 2048).expect("is allocated").copy_from_slice(&words);
    let tensor = Tensor {
        address: matrix,
        element: 4,
        size: [32, 16],
        row_bytes: 128,
        tile: [32, 8],
        swizzle: 0,
        tf32: false,
    };
    let params = [&tensor.encode()[..], &out.to_le_bytes()].concat();
    let limits = Limits { instructions: 1 << 20, ..Limits::default() };
    launch(&module, "k", [blocks, 1, 1], [32, 1, 1], 0, &params, &mut memory, limits)?;
    let bytes = memory.bytes(out, 128 * blocks as usize).expect("is allocated");
    Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

const MEET: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

/// Every thread writes its number in the grid and reads that of the other block's thread.
fn exchange(between: &str, after: &str) -> String {
    text(&format!(
        "st.shared.u32 [%r4], %r7; {between}
    mapa.shared::cluster.u32 %r10, %r4, %r8; ld.shared::cluster.u32 %r11, [%r10]; st.global.u32 [%rd2], %r11; {after}"
    ))
}

#[test]
fn blocks_read_each_others_shared_memory() {
    let words = run_grid(&exchange(MEET, MEET), 4).unwrap();
    let want: Vec<u32> = (0..128).map(|thread| thread ^ 32).collect();
    assert_eq!(words, want);
    let kind =
        |between: &str, after: &str| run_grid(&exchange(between, after), 4).unwrap_err().kind;
    assert_eq!(kind("bar.sync 0;", MEET), FaultKind::Race);
    let relaxed = MEET.replace("arrive.release", "arrive.relaxed");
    assert_eq!(kind(&relaxed, MEET), FaultKind::Race);
    assert_eq!(kind(MEET, ""), FaultKind::Bounds, "the other block has ended");
    assert_eq!(kind("barrier.cluster.wait;", MEET), FaultKind::Barrier);
    assert_eq!(kind("barrier.cluster.arrive; barrier.cluster.arrive;", MEET), FaultKind::Barrier);
}

#[test]
fn a_grid_is_made_of_whole_clusters() {
    assert_eq!(run_grid(&exchange(MEET, MEET), 3).unwrap_err().kind, FaultKind::Launch);
}

#[test]
fn a_block_knows_its_place() {
    let body = "mov.u32 %r10, %cluster_ctaid.x; mov.u32 %r11, %cluster_nctaid.x; mov.u32 %r12, %clusterid.x; mov.u32 %r13, %nclusterid.x; mov.u32 %r14, %cluster_nctarank;
    mad.lo.u32 %r10, %r11, 10, %r10; mad.lo.u32 %r10, %r12, 100, %r10; mad.lo.u32 %r10, %r13, 1000, %r10; mad.lo.u32 %r10, %r14, 10000, %r10; mad.lo.u32 %r10, %r5, 100000, %r10;
    st.global.u32 [%rd2], %r10;";
    let words = run_grid(&text(body), 4).unwrap();
    assert_eq!([words[0], words[32], words[64], words[96]], [22020, 122_021, 22_120, 122_121]);
}

/// One thread has rows 8 to 15 loaded to both blocks, whose own `mbarrier`s count them.
fn multicast() -> String {
    format!(
        "@%p1 mbarrier.init.shared::cta.b64 [%r3], 1; @%p1 fence.mbarrier_init.release.cluster; {MEET}
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 1024;
    mov.b16 %h1, 3;
    @%p4 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%rd1, {{0, 8}}], [%r3], %h1;
    WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra WAIT;
    ld.shared.u32 %r10, [%r4+128]; st.global.u32 [%rd2], %r10; {MEET}"
    )
}

#[test]
fn one_load_fills_several_blocks() {
    let words = run_grid(&text(&multicast()), 2).unwrap();
    let want: Vec<u32> = (0..64).map(|thread| 9 * 32 + thread % 32).collect();
    assert_eq!(words, want);
    let kind = |from: &str, to: &str| {
        let right = multicast();
        assert!(right.contains(from));
        run_grid(&text(&right.replacen(from, to, 1)), 2).err().map(|fault| fault.kind)
    };
    assert_eq!(kind("%h1, 3;", "%h1, 1;"), Some(FaultKind::Barrier), "the other block waits");
    assert_eq!(kind("%h1, 3;", "%h1, 4;"), Some(FaultKind::Bounds), "no such block");
    assert_eq!(kind(MEET, "bar.sync 0;"), Some(FaultKind::Race), "perhaps not initialised");
    // PTX ISA, `membar`/`fence`: what fence.mbarrier_init is for.
    let relaxed = MEET.replace("arrive.release", "arrive.relaxed");
    assert_eq!(kind(MEET, &relaxed), None, "the fence made the initialisation known");
    let fence = "@%p1 fence.mbarrier_init.release.cluster; ";
    let late = |fence: &str| format!("{relaxed} {fence}");
    assert_eq!(kind(&format!("{fence}{MEET}"), &late("")), Some(FaultKind::Race), "no fence");
    assert_eq!(kind(&format!("{fence}{MEET}"), &late(fence)), Some(FaultKind::Race), "too late");
}

/// Each block's thread 0 arrives at the other's `mbarrier` when it has read what that one wrote into its shared memory, which then may be written again.
#[test]
fn arrivals_go_to_other_blocks() {
    let right = format!(
        "@%p1 mbarrier.init.shared::cta.b64 [%r3], 32; @%p1 fence.mbarrier_init.release.cluster; st.shared.u32 [%r4], %r7; {MEET}
    mapa.shared::cluster.u32 %r10, %r4, %r8; ld.shared::cluster.u32 %r11, [%r10];
    mapa.shared::cluster.u32 %r12, %r3, %r8; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];
    WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra WAIT;
    st.shared.u32 [%r4], 7; ld.shared.u32 %r13, [%r4]; add.u32 %r11, %r11, %r13; st.global.u32 [%rd2], %r11; {MEET}"
    );
    let words = run_grid(&text(&right), 2).unwrap();
    assert_eq!(words, (0..64).map(|thread| (thread ^ 32) + 7).collect::<Vec<u32>>());
    let lost = right.replace("b64 [%r3], 32;", "b64 [%r3], 33;");
    let fault = run_grid(&text(&lost), 2).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Barrier);
    assert!(
        fault.what.contains("lacks 1 of 33 arrivals") && fault.what.contains("block 1"),
        "{}",
        fault.what
    );
}
