//! Bulk copies and `mbarrier`s: what they move, and what is not waited for.

use ptx_interpreter::{Fault, FaultKind, Limits, Memory, Module, Tensor, launch};

/// A kernel with a tensor map, a place for its output and one for its input; `%r1` is the thread, `%r2` the tile, `%r3` an `mbarrier`, `%rd1` the map,
/// `%rd2` the output at the thread's own 32 bytes, `%rd3` the input. Thread 0 has `%p1`.
fn text(body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_90a\n.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u64 in)
{{
    .reg .pred %p<10>; .reg .b16 %h<4>; .reg .b32 %r<40>; .reg .b64 %rd<20>;
    .shared .align 1024 .b8 tile[4096];
    .shared .align 8 .b8 bars[32];
    mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [in];
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, bars;
    mul.wide.u32 %rd4, %r1, 32; add.u64 %rd2, %rd2, %rd4;
    shl.b32 %r4, %r1, 5; add.u32 %r4, %r4, %r2;
    setp.eq.u32 %p1, %r1, 0;
    {body}
    END: ret;
}}
"
    )
}

/// The thread's 32 bytes of the tile to the output.
const GIVE: &str = "
    ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r4]; st.global.v4.u32 [%rd2], {%r10, %r11, %r12, %r13};
    ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r4+16]; st.global.v4.u32 [%rd2+16], {%r10, %r11, %r12, %r13};";

/// The input's bytes of the thread to the tile.
const TAKE: &str = "
    add.u64 %rd5, %rd3, %rd4;
    ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd5]; st.shared.v4.u32 [%r4], {%r10, %r11, %r12, %r13};
    ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd5+16]; st.shared.v4.u32 [%r4+16], {%r10, %r11, %r12, %r13};";

/// Thread 0 initialises, announces a tile and has it loaded; all wait for it.
fn load(at: [i32; 2]) -> String {
    let [x, y] = at;
    format!(
        "@%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 1024;
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1, {{{x}, {y}}}], [%r3];
    WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra WAIT;
    {GIVE}"
    )
}

/// Rows of 128 bytes in memory, ten of them, of which a tensor has the first 60 numbers of 16 bits.
const ROWS: usize = 10;
const COLUMNS: usize = 60;

struct Ran {
    out: Vec<u8>,
    matrix: Vec<u8>,
}

/// Runs a kernel of 32 threads, or of 64, on a tensor whose box has rows of 128 bytes.
fn run_on(text: &str, threads: u32, swizzle: u32, rows: usize, input: &[u8]) -> Result<Ran, Fault> {
    let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut memory = Memory::default();
    let (matrix, out, place) =
        (memory.allocate(128 * ROWS), memory.allocate(4096), memory.allocate(4096));
    memory
        .bytes_mut(matrix, 128 * ROWS)
        .expect("is allocated")
        .copy_from_slice(&numbers(64 * ROWS));
    memory.bytes_mut(place, input.len()).expect("is allocated").copy_from_slice(input);
    let size = [COLUMNS as u64, rows as u64];
    let (address, tile, tf32) = (matrix, [64, 8], false);
    let tensor = Tensor { address, element: 2, size, row_bytes: 128, tile, swizzle, tf32 };
    let params = [&tensor.encode()[..], &out.to_le_bytes(), &place.to_le_bytes()].concat();
    let limits = Limits { instructions: 1 << 20, ..Limits::default() };
    launch(&module, "k", [1; 3], [threads, 1, 1], 0, &params, &mut memory, limits)?;
    let bytes = |at, size| memory.bytes(at, size).expect("is allocated").to_vec();
    Ok(Ran { out: bytes(out, 1024), matrix: bytes(matrix, 128 * ROWS) })
}

fn run(text: &str) -> Result<Ran, Fault> {
    run_on(text, 32, 128, ROWS, &numbers(512))
}

fn numbers(count: usize) -> Vec<u8> {
    (1..=count as u16).flat_map(u16::to_le_bytes).collect()
}

/// Where a number of a box lies in shared memory. CUDA driver API, `CU_TENSOR_MAP_SWIZZLE_128B`: parts of 16 bytes of a row of 128 change places by the
/// row modulo 8.
fn in_box(row: usize, column: usize, swizzled: bool) -> usize {
    let part = (column / 8) ^ if swizzled { row % 8 } else { 0 };
    128 * row + 16 * part + 2 * (column % 8)
}

/// Where a number of a box lies in the matrix, if it does.
fn in_matrix(at: [i32; 2], row: usize, column: usize) -> Option<usize> {
    let (x, y) = (at[0] + column as i32, at[1] + row as i32);
    let inside = (0..COLUMNS as i32).contains(&x) && (0..ROWS as i32).contains(&y);
    inside.then(|| 128 * y as usize + 2 * x as usize)
}

fn every_number() -> impl Iterator<Item = (usize, usize)> {
    (0..8).flat_map(|row| (0..64).map(move |column| (row, column)))
}

#[test]
fn a_box_comes_permuted_and_with_zeros_outside() {
    for (swizzle, at) in
        [(128, [0, 0]), (0, [0, 0]), (128, [-5, -2]), (128, [40, 6]), (0, [59, 9]), (128, [64, 0])]
    {
        let ran = run_on(&text(&load(at)), 32, swizzle, ROWS, &[]).unwrap();
        for (row, column) in every_number() {
            let place = in_box(row, column, swizzle != 0);
            let want =
                in_matrix(at, row, column).map_or(&[0; 2][..], |from| &ran.matrix[from..from + 2]);
            assert_eq!(&ran.out[place..place + 2], want, "{swizzle} {at:?} {row} {column}");
        }
    }
}

const STORE: &str = "fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {40, -3}], [%r2];
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group.read 0;";

#[test]
fn a_box_is_stored_as_far_as_it_lies_inside() {
    let ran = run(&text(&format!("{TAKE} {STORE}"))).unwrap();
    let mut want = numbers(64 * ROWS);
    let tile = numbers(512);
    for (row, column) in every_number() {
        if let Some(to) = in_matrix([40, -3], row, column) {
            let from = in_box(row, column, true);
            want[to..to + 2].copy_from_slice(&tile[from..from + 2]);
        }
    }
    assert_eq!(ran.matrix, want);
}

#[test]
fn bytes_are_copied_both_ways() {
    let body = "@%p1 mbarrier.init.shared.b64 [%r3], 1; @%p1 fence.proxy.async.shared::cta; bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 1024;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd3], 512, [%r3];
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2+512], [%rd3+512], 512, [%r3];
    WAIT: mbarrier.test_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra WAIT;
    ld.shared.u32 %r10, [%r4]; add.u32 %r10, %r10, 1; st.shared.u32 [%r4], %r10;
    fence.proxy.async; bar.sync 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r2], 1024;
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;";
    let mut want = numbers(512);
    want.chunks_mut(32).for_each(|thread| thread[0] += 1);
    assert_eq!(run(&text(body)).unwrap().out, want);
}

/// What is taken away or changed, and what that is found to be.
type Row = (&'static str, &'static str, &'static str, Option<FaultKind>);

fn check(right: &str, threads: u32, rows: &[Row]) {
    for (what, from, to, want) in rows {
        assert!(right.contains(from), "{what}");
        let changed = if from.is_empty() { right.to_owned() } else { right.replace(from, to) };
        let fault = run_on(&text(&changed), threads, 128, ROWS, &numbers(512)).err();
        assert_eq!(fault.as_ref().map(|fault| fault.kind), *want, "{what}: {fault:?}");
    }
}

#[test]
fn loads_must_be_announced_and_waited_for() {
    let race = Some(FaultKind::Race);
    let (in_flight, barrier) = (Some(FaultKind::InFlight), Some(FaultKind::Barrier));
    check(
        &load([0, 0]),
        32,
        &[
            ("nothing", "", "", None),
            (
                "no wait at all",
                "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra WAIT;",
                "",
                in_flight,
            ),
            ("the next phase, which nobody fills", "[%r3], 0; @!", "[%r3], 1; @!", barrier),
            (
                "nothing announced",
                "arrive.expect_tx.shared::cta.b64 _, [%r3], 1024",
                "arrive.shared::cta.b64 _, [%r3]",
                in_flight,
            ),
            ("too much announced", "1024;", "2048;", barrier),
            ("too little announced", "1024;", "512;", barrier),
            ("more arrivals awaited", "b64 [%r3], 1;", "b64 [%r3], 2;", barrier),
            ("no fence", "@%p1 fence.mbarrier_init.release.cluster;", "", race),
            ("no barrier after the initialisation", "bar.sync 0;", "", race),
            (
                "no initialisation",
                "@%p1 mbarrier.init.shared::cta.b64 [%r3], 1;",
                "",
                Some(FaultKind::Uninitialised),
            ),
            (
                "initialised twice",
                "bar.sync 0;",
                "@%p1 mbarrier.init.shared.b64 [%r3], 1; bar.sync 0;",
                barrier,
            ),
            (
                "a place that is no multiple of 128",
                "bytes [%r2]",
                "bytes [%r2+64]",
                Some(FaultKind::Misaligned),
            ),
            ("no tensor map", "[%rd1, {", "[%rd3, {", Some(FaultKind::Bounds)),
            ("a store into what is loaded", "WAIT:", "st.shared.u32 [%r4], %r1; WAIT:", in_flight),
            ("a load of what is an mbarrier", "WAIT:", "ld.shared.u64 %rd9, [%r3]; WAIT:", race),
            ("a tile over an mbarrier", "bytes [%r2]", "bytes [%r2+3584]", race),
        ],
    );
}

#[test]
fn stores_must_be_fenced_and_waited_for() {
    let right = format!("{TAKE} {STORE}");
    let in_flight = Some(FaultKind::InFlight);
    check(
        &right,
        32,
        &[
            ("nothing", "", "", None),
            ("no fence", "fence.proxy.async.shared::cta;", "", Some(FaultKind::Race)),
            ("a fence of one lane", "fence.proxy", "@%p1 fence.proxy", Some(FaultKind::Race)),
            ("no barrier", "bar.sync 0;", "", Some(FaultKind::Race)),
            (
                "the fence behind the barrier",
                "fence.proxy.async.shared::cta;\n    bar.sync 0;",
                "bar.sync 0; fence.proxy.async;",
                None,
            ),
            ("no wait", "@%p1 cp.async.bulk.wait_group.read 0;", "", in_flight),
            ("no group", "@%p1 cp.async.bulk.commit_group;", "", in_flight),
            ("a wait for all but one", "read 0", "read 1", in_flight),
            (
                "overwritten before the wait",
                "@%p1 cp.async.bulk.commit_group;",
                "@%p1 cp.async.bulk.commit_group; st.shared.u32 [%r4], 0;",
                in_flight,
            ),
            (
                "overwritten after wait and barrier",
                "read 0;",
                "read 0; bar.sync 0; st.shared.u32 [%r4], 0;",
                None,
            ),
        ],
    );
}

#[test]
fn a_deadlock_says_who_waits_for_what() {
    let fault = run(&text(&load([0, 0]).replace("1024;", "1040;"))).err().unwrap();
    assert!(fault.what.contains("warp 0 waits in line"), "{}", fault.what);
    assert!(fault.what.contains("phase 0 lacks 0 of 1 arrivals and 16 bytes"), "{}", fault.what);
}

#[test]
fn a_tensor_larger_than_its_memory_is_a_stray() {
    let fault = run_on(&text(&load([0, 8])), 32, 128, ROWS + 1, &[]).err().unwrap();
    assert_eq!(fault.kind, FaultKind::Bounds);
}

/// Two stages, filled by a thread of one warp and added up by another warp, six times; the tiles are rows 0 to 7, 1 to 8 and 2 to 9, twice.
fn pipeline() -> String {
    "@!%p1 bra INITIALISED;
    mbarrier.init.shared.b64 [%r3], 1; mbarrier.init.shared.b64 [%r3+8], 1;
    mbarrier.init.shared.b64 [%r3+16], 32; mbarrier.init.shared.b64 [%r3+24], 32;
    fence.mbarrier_init.release.cluster;
    INITIALISED: bar.sync 0;
    mov.u32 %r5, 0; mov.u32 %r20, 0;
    setp.gt.u32 %p3, %r1, 31; @%p3 bra FILL;
    ADD: and.b32 %r6, %r5, 1; shl.b32 %r7, %r6, 3; add.u32 %r7, %r7, %r3; shl.b32 %r8, %r6, 10; add.u32 %r8, %r8, %r4;
    shr.u32 %r9, %r5, 1; and.b32 %r9, %r9, 1;
    FULL: mbarrier.try_wait.parity.shared.b64 %p2, [%r7], %r9; @!%p2 bra FULL;
    ld.shared.u16 %r10, [%r8]; add.u32 %r20, %r20, %r10;
    mbarrier.arrive.shared.b64 %rd9, [%r7+16];
    add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 6; @%p2 bra ADD;
    st.global.u32 [%rd2], %r20;
    bra END;
    FILL: setp.ne.u32 %p3, %r1, 32; @%p3 bra END;
    NEXT: and.b32 %r6, %r5, 1; shl.b32 %r7, %r6, 3; add.u32 %r7, %r7, %r3; shl.b32 %r8, %r6, 10; add.u32 %r8, %r8, %r2;
    shr.u32 %r9, %r5, 1; not.b32 %r9, %r9; and.b32 %r9, %r9, 1;
    EMPTY: mbarrier.try_wait.parity.shared.b64 %p2, [%r7+16], %r9; @!%p2 bra EMPTY;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r7], 1024;
    rem.u32 %r10, %r5, 3;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd1, {0, %r10}], [%r7];
    add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 6; @%p2 bra NEXT;"
        .to_owned()
}

#[test]
fn stages_go_round_between_who_loads_and_who_reads() {
    let ran = run_on(&text(&pipeline()), 64, 0, ROWS, &[]).unwrap();
    for thread in 0..32_usize {
        // Four threads have a row of the box.
        let of = |row: usize| (64 * row + 16 * (thread % 4)) as u32 + 1;
        let want: u32 = [0, 1, 2, 0, 1, 2].iter().map(|first| of(first + thread / 4)).sum();
        assert_eq!(ran.out[32 * thread..][..4], want.to_le_bytes(), "{thread}");
    }
}

#[test]
fn stages_are_not_filled_before_they_are_empty_or_read_before_they_are_full() {
    let (in_flight, race) = (Some(FaultKind::InFlight), Some(FaultKind::Race));
    check(
        &pipeline(),
        64,
        &[
            ("nothing", "", "", None),
            (
                "filled without waiting",
                "EMPTY: mbarrier.try_wait.parity.shared.b64 %p2, [%r7+16], %r9; @!%p2 bra EMPTY;",
                "",
                in_flight,
            ),
            (
                "given back before it is read",
                "ld.shared.u16 %r10, [%r8]; add.u32 %r20, %r20, %r10;\n    mbarrier.arrive.shared.b64 %rd9, [%r7+16];",
                "mbarrier.arrive.shared.b64 %rd9, [%r7+16]; ld.shared.u16 %r10, [%r8]; add.u32 %r20, %r20, %r10;",
                race,
            ),
            (
                "the other stage's barrier",
                "b64 %p2, [%r7], %r9; @!%p2 bra FULL",
                "b64 %p2, [%r3], %r9; @!%p2 bra FULL",
                in_flight,
            ),
            (
                "never given back",
                "mbarrier.arrive.shared.b64 %rd9, [%r7+16];",
                "",
                Some(FaultKind::Barrier),
            ),
        ],
    );
}

/// The state of an arrival names its phase.
#[test]
fn a_phase_can_be_waited_for_by_its_state() {
    let body = |wait: &str| {
        format!(
            "@%p1 mbarrier.init.shared.b64 [%r3], 64; bar.sync 0;
    st.shared.u32 [%r4], %r1;
    mbarrier.arrive.shared.b64 %rd9, [%r3];
    {wait}
    xor.b32 %r5, %r1, 33; shl.b32 %r6, %r5, 5; add.u32 %r6, %r6, %r2; ld.shared.u32 %r7, [%r6]; st.global.u32 [%rd2], %r7;"
        )
    };
    let wait = "WAIT: mbarrier.try_wait.shared.b64 %p2, [%r3], %rd9; @!%p2 bra WAIT;";
    let right = text(&body(wait));
    let ran = run_on(&right, 64, 0, ROWS, &[]).unwrap();
    assert_eq!(ran.out[..4], 33_u32.to_le_bytes());
    let fault = run_on(&text(&body("")), 64, 0, ROWS, &[]).err().unwrap();
    assert_eq!(fault.kind, FaultKind::Uninitialised);
}

#[test]
fn warps_of_a_warpgroup_change_their_registers_together() {
    let body = "setp.lt.u32 %p2, %r1, 96; @%p2 setmaxnreg.dec.sync.aligned.u32 24;";
    let fault = run_on(&text(body), 128, 0, ROWS, &[]).err().unwrap();
    assert_eq!(fault.kind, FaultKind::Barrier);
    assert!(fault.what.contains("waits for its warpgroup"), "{}", fault.what);
    assert!(run_on(&text("setmaxnreg.inc.sync.aligned.u32 240;"), 128, 0, ROWS, &[]).is_ok());
}

/// CUDA driver API reference, `cuTensorMapEncodeTiled`.
#[test]
fn tensor_maps_that_the_driver_refuses_are_refused() {
    let right = Tensor {
        address: 0x7000,
        element: 2,
        size: [60, 10],
        row_bytes: 128,
        tile: [64, 8],
        swizzle: 128,
        tf32: false,
    };
    assert_eq!(right.check(), Ok(()));
    assert_eq!(Tensor::decode(&right.encode()), Some(right));
    for (what, wrong) in [
        ("tf32 of 16 bits", Tensor { tf32: true, ..right }),
        ("begins anywhere", Tensor { address: 0x7008, ..right }),
        ("no columns", Tensor { size: [0, 10], ..right }),
        ("too many rows", Tensor { size: [60, (1 << 32) + 1], ..right }),
        ("rows anywhere", Tensor { row_bytes: 120, ..right }),
        ("rows over each other", Tensor { row_bytes: 112, ..right }),
        ("an empty box", Tensor { tile: [64, 0], ..right }),
        ("a large box", Tensor { tile: [64, 257], ..right }),
        ("rows of a box of 8 bytes", Tensor { tile: [4, 8], swizzle: 0, ..right }),
        ("rows of a box longer than the swizzle", Tensor { tile: [128, 8], ..right }),
        ("an element of 3 bytes", Tensor { element: 3, ..right }),
    ] {
        assert!(wrong.check().is_err(), "{what}");
        assert_eq!(Tensor::decode(&wrong.encode()), None, "{what}");
    }
    assert_eq!(Tensor::decode(&[0; 128]), None);
}
