//! What a kernel can do wrong is found, and what is right is not complained of.

use ptx_interpreter::{Fault, FaultKind, Limits, Memory, Module, launch};

use crate::small::{kernel, run, words};

const TILE: &str = ".shared .align 16 .b8 tile[1024];
    .local .align 8 .b8 own[64];";

/// Body, and what should come of it.
type Row = (&'static str, &'static str, Option<FaultKind>);

fn check(threads: u32, rows: &[Row]) {
    for (what, body, want) in rows {
        let text = kernel(
            TILE,
            &format!("mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;\n{body}"),
        );
        let fault = run(&text, threads, &[7; 512], 512).err();
        assert_eq!(fault.as_ref().map(|fault| fault.kind), *want, "{what}: {fault:?}");
    }
}

/// Every thread writes its word of shared memory and reads another thread's.
fn exchange(between: &str, other: u32) -> String {
    format!(
        "st.shared.u32 [%r4], %r1; {between}
        xor.b32 %r5, %r3, {}; add.u32 %r5, %r5, %r2; ld.shared.u32 %r79, [%r5];",
        4 * other
    )
}

#[test]
fn words_exchanged_need_a_barrier() {
    for (what, between, other, want) in [
        ("nothing, across warps", "", 32, Some(FaultKind::Race)),
        ("nothing, within a warp", "", 1, Some(FaultKind::Race)),
        ("nothing, with itself", "", 0, None),
        ("a barrier, across warps", "bar.sync 0;", 32, None),
        ("a barrier, within a warp", "barrier.sync.aligned 0;", 1, None),
        ("the warp's, within a warp", "bar.warp.sync 0xffffffff;", 1, None),
        ("the warp's, across warps", "bar.warp.sync 0xffffffff;", 32, Some(FaultKind::Race)),
        ("a fence, which orders and does not wait", "membar.cta;", 32, Some(FaultKind::Race)),
        (
            "a barrier of each pair of warps",
            "and.b32 %r6, %r1, 64; shr.u32 %r6, %r6, 6; bar.sync %r6, 64;",
            32,
            None,
        ),
        (
            "the other pair's",
            "and.b32 %r6, %r1, 64; shr.u32 %r6, %r6, 6; bar.sync %r6, 64;",
            64,
            Some(FaultKind::Race),
        ),
    ] {
        let outcome = words(
            TILE,
            &format!(
                "mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], 0; bar.sync 0; {}",
                exchange(between, other)
            ),
            128,
        );
        let kind = outcome.as_ref().err().map(|fault| fault.kind);
        assert_eq!(kind, want, "{what}: {outcome:?}");
        if let Ok(words) = outcome {
            assert_eq!(words, (0..128).map(|thread| thread ^ other).collect::<Vec<_>>(), "{what}");
        }
    }
}

#[test]
fn what_is_read_is_not_overwritten_before_a_barrier() {
    let writes = |between: &str| {
        format!(
            "st.shared.u32 [%r4], %r1; bar.sync 0; ld.shared.u32 %r6, [%r2+4]; {between} st.shared.u32 [%r4], %r6;"
        )
    };
    let text = |between| {
        kernel(
            TILE,
            &format!(
                "mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;\n{}",
                writes(between)
            ),
        )
    };
    assert_eq!(run(&text(""), 64, &[], 1).unwrap_err().kind, FaultKind::Race);
    assert_eq!(run(&text("bar.sync 0;"), 64, &[], 1), Ok(vec![0]));
}

#[test]
fn shared_memory_is_written_before_it_is_read() {
    check(
        64,
        &[
            ("never written", "ld.shared.u32 %r5, [%r4];", Some(FaultKind::Uninitialised)),
            (
                "half of it written",
                "st.shared.u16 [%r4], %h1; ld.shared.u32 %r5, [%r4];",
                Some(FaultKind::Uninitialised),
            ),
            ("all written", "st.shared.u32 [%r4], %r1; ld.shared.u16 %h2, [%r4+2];", None),
            ("all write the same word alike", "st.shared.u32 [%r2], 5;", Some(FaultKind::Race)),
            (
                "lanes of a warp write the same word alike",
                "setp.lt.u32 %p1, %r1, 32; @%p1 st.shared.u32 [%r2], 5;",
                None,
            ),
            (
                "lanes of a warp write it each its own",
                "setp.lt.u32 %p1, %r1, 32; @%p1 st.shared.u32 [%r2], %r1;",
                Some(FaultKind::Race),
            ),
            ("bytes side by side", "add.u32 %r5, %r2, %r1; st.shared.u8 [%r5], %r1;", None),
            (
                "atomics do not race",
                "setp.ne.u32 %p1, %r1, 0; @!%p1 st.shared.u32 [%r2], 0; bar.sync 0; atom.shared.add.u32 %r5, [%r2], 1;",
                None,
            ),
            (
                "atomics race with plain reads",
                "setp.ne.u32 %p1, %r1, 0; @!%p1 st.shared.u32 [%r2], 0; bar.sync 0; atom.shared.add.u32 %r5, [%r2], 1; ld.shared.u32 %r6, [%r2];",
                Some(FaultKind::Race),
            ),
        ],
    );
}

#[test]
fn strays_are_found_in_every_space() {
    check(
        32,
        &[
            ("global, inside", "ld.global.u32 %r5, [%rd2+2044];", None),
            ("global, behind", "ld.global.u32 %r5, [%rd2+2048];", Some(FaultKind::Bounds)),
            (
                "global, half behind",
                "ld.global.v2.u32 {%r5, %r6}, [%rd1+2048];",
                Some(FaultKind::Bounds),
            ),
            ("global, before", "st.global.u32 [%rd1+-4], %r1;", Some(FaultKind::Bounds)),
            ("nowhere", "mov.u64 %rd3, 0; ld.global.u32 %r5, [%rd3];", Some(FaultKind::Bounds)),
            ("global, misaligned", "ld.global.u32 %r5, [%rd2+2];", Some(FaultKind::Misaligned)),
            (
                "global vector, misaligned",
                "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2+8];",
                Some(FaultKind::Misaligned),
            ),
            ("global vector, aligned", "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2+16];", None),
            ("shared, behind", "st.shared.u32 [%r2+1024], %r1;", Some(FaultKind::Bounds)),
            ("shared, misaligned", "st.shared.u32 [%r2+1], %r1;", Some(FaultKind::Misaligned)),
            ("shared, inside", "st.shared.u32 [%r4+896], %r1;", None),
            ("local, inside", "mov.u64 %rd3, own; st.local.u32 [%rd3+60], %r1;", None),
            (
                "local, behind",
                "mov.u64 %rd3, own; st.local.u32 [%rd3+64], %r1;",
                Some(FaultKind::Bounds),
            ),
            (
                "local, misaligned",
                "mov.u64 %rd3, own; st.local.u64 [%rd3+4], %rd1;",
                Some(FaultKind::Misaligned),
            ),
            ("parameters, behind", "ld.param.u64 %rd3, [in+8];", Some(FaultKind::Bounds)),
            ("atomic, behind", "red.global.add.u32 [%rd1+2048], 1;", Some(FaultKind::Bounds)),
            (
                "generic shared",
                "cvt.u64.u32 %rd3, %r4; cvta.shared.u64 %rd3, %rd3; st.u32 [%rd3], %r1; ld.u32 %r5, [%rd3]; ld.shared.u32 %r6, [%r4];",
                None,
            ),
            (
                "generic shared, behind",
                "cvt.u64.u32 %rd3, %r4; cvta.shared.u64 %rd3, %rd3; st.u32 [%rd3+1024], %r1;",
                Some(FaultKind::Bounds),
            ),
            ("generic global", "ld.u32 %r5, [%rd2]; isspacep.global %p1, %rd2; @!%p1 trap;", None),
        ],
    );
}

#[test]
fn copies_land_when_they_are_waited_for_and_others_see_them_after_a_barrier() {
    let copy = "shl.b32 %r5, %r1, 4; cvt.u64.u32 %rd4, %r5; add.u64 %rd4, %rd2, %rd4; add.u32 %r6, %r2, %r5; cp.async.cg.shared.global [%r6], [%rd4], 16;";
    let fill = "shl.b32 %r5, %r1, 4; add.u32 %r6, %r2, %r5; st.shared.v4.u32 [%r6], {%r5, %r5, %r5, %r5}; bar.sync 0;";
    let others = "xor.b32 %r7, %r5, 512; add.u32 %r7, %r7, %r2; ld.shared.u32 %r8, [%r7];";
    let own = "ld.shared.u32 %r8, [%r6];";
    for (what, body, want) in [
        ("own, at once", own.to_owned(), Some(FaultKind::InFlight)),
        ("own, committed", format!("cp.async.commit_group; {own}"), Some(FaultKind::InFlight)),
        ("own, waited for", format!("cp.async.commit_group; cp.async.wait_group 0; {own}"), None),
        ("own, all waited for", format!("cp.async.wait_all; {own}"), None),
        (
            "own, one group may be on its way",
            format!("cp.async.commit_group; cp.async.wait_group 1; {own}"),
            Some(FaultKind::InFlight),
        ),
        (
            "own, the one before the last",
            format!("cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1; {own}"),
            None,
        ),
        (
            "own, waited for and never committed",
            format!("cp.async.wait_group 0; {own}"),
            Some(FaultKind::InFlight),
        ),
        (
            "others', a barrier and no wait",
            format!("bar.sync 0; {others}"),
            Some(FaultKind::InFlight),
        ),
        (
            "others', a wait and no barrier",
            format!("cp.async.wait_all; {others}"),
            Some(FaultKind::Race),
        ),
        ("others', both", format!("cp.async.wait_all; bar.sync 0; {others}"), None),
        (
            "others', both, the wrong way round",
            format!("bar.sync 0; cp.async.wait_all; {others}"),
            Some(FaultKind::InFlight),
        ),
        ("overwritten on the way", "st.shared.u32 [%r6], 1;".to_owned(), Some(FaultKind::InFlight)),
        (
            "over what others read",
            format!(
                "cp.async.wait_all; bar.sync 0; {others} cp.async.cg.shared.global [%r6], [%rd4], 16;"
            ),
            Some(FaultKind::InFlight),
        ),
    ] {
        let text = kernel(TILE, &format!("mov.u32 %r2, tile; {fill} {copy} {body}"));
        let fault = run(&text, 64, &[7; 512], 1).err();
        assert_eq!(fault.as_ref().map(|fault| fault.kind), want, "{what}: {fault:?}");
    }
    let zeros = "mov.u32 %r2, tile; shl.b32 %r5, %r1, 4; add.u32 %r6, %r2, %r5; cp.async.ca.shared.global [%r6], [%rd2], 16, 4; cp.async.wait_all; ld.shared.v2.u32 {%r8, %r9}, [%r6]; add.u32 %r79, %r8, %r9;";
    let text = kernel(TILE, &format!("{zeros}{}", crate::small::STORE));
    assert_eq!(run(&text, 2, &[7; 8], 2), Ok(vec![7, 7]), "bytes not asked for are zero");
}

#[test]
fn barriers_must_be_reached_by_all() {
    check(
        64,
        &[
            ("all", "bar.sync 0;", None),
            ("one warp", "setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 0;", Some(FaultKind::Barrier)),
            ("one warp, by itself", "setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 1, 32;", None),
            (
                "a thread that left",
                "setp.eq.u32 %p1, %r1, 5; @%p1 exit; bar.sync 0;",
                Some(FaultKind::Barrier),
            ),
            (
                "a warp that left",
                "setp.lt.u32 %p1, %r1, 32; @%p1 exit; bar.sync 0;",
                Some(FaultKind::Barrier),
            ),
            (
                "half a warp",
                "and.b32 %r5, %r1, 16; setp.eq.u32 %p1, %r5, 0; @%p1 bar.sync 0;",
                Some(FaultKind::Barrier),
            ),
            (
                "two halves, at two lines",
                "and.b32 %r5, %r1, 16; setp.eq.u32 %p1, %r5, 0; @%p1 bra A; bar.sync 0; bra B; A: bar.sync 0; B:",
                Some(FaultKind::Divergence),
            ),
            (
                "two barriers crosswise",
                "setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 1; bar.sync 2; bra B; A: bar.sync 2; bar.sync 1; B:",
                Some(FaultKind::Barrier),
            ),
            ("no multiple of a warp", "bar.sync 0, 48;", Some(FaultKind::Barrier)),
            ("more than there are", "bar.sync 0, 128;", Some(FaultKind::Barrier)),
            ("a barrier that is not there", "bar.sync 16;", Some(FaultKind::Barrier)),
        ],
    );
}

/// PTX ISA, `barrier`: the producer-consumer example with two named barriers.
#[test]
fn producers_arrive_and_consumers_wait() {
    let body = |arrive: &str, sync: &str| {
        format!(
            "mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3; mov.u32 %r79, 0;
        setp.lt.u32 %p1, %r1, 32; @!%p1 bra CONSUMER;
        st.shared.u32 [%r4], %r1; {arrive} bra END;
        CONSUMER: {sync} ld.shared.u32 %r79, [%r4+-128]; END:"
        )
    };
    let good = words(TILE, &body("bar.arrive 3, 64;", "bar.sync 3, 64;"), 64).unwrap();
    assert_eq!(good[32..], (0..32).collect::<Vec<_>>());
    let kind = |outcome: Result<Vec<u32>, Fault>| outcome.unwrap_err().kind;
    assert_eq!(kind(words(TILE, &body("", ""), 64)), FaultKind::Race);
    assert_eq!(kind(words(TILE, &body("", "bar.sync 3, 64;"), 64)), FaultKind::Barrier);
    let late = body("bar.arrive 3, 64; st.shared.u32 [%r4], %r1;", "bar.sync 3, 64;");
    assert_eq!(
        kind(words(TILE, &late, 64)),
        FaultKind::Race,
        "what follows the arrival is not ordered"
    );
}

#[test]
fn lanes_that_are_named_must_be_there() {
    let lower = "and.b32 %r5, %r1, 16; setp.eq.u32 %p1, %r5, 0;";
    let later = "redux.sync.add.u32 %r9, %r1, 0xffffffff;";
    let row = |what, body: &str, want| {
        let fault = run(&kernel(TILE, &format!("{lower} {body} {later}")), 32, &[], 1).err();
        assert_eq!(fault.as_ref().map(|fault| fault.kind), want, "{what}: {fault:?}");
    };
    let half = Some(FaultKind::Divergence);
    row("all", "shfl.sync.bfly.b32 %r6, %r1, 1, 31, 0xffffffff;", None);
    row("half of those named", "@%p1 shfl.sync.bfly.b32 %r6, %r1, 1, 31, 0xffffffff;", half);
    row("half, who name half", "@%p1 shfl.sync.bfly.b32 %r6, %r1, 1, 31, 0x0000ffff;", None);
    row("who do not name themselves", "shfl.sync.bfly.b32 %r6, %r1, 1, 31, 0x0000ffff;", half);
    row(
        "values of those who take no part",
        "@%p1 shfl.sync.bfly.b32 %r6, %r1, 16, 31, 0x0000ffff;",
        half,
    );
    row("half the warp at a vote", "@%p1 vote.sync.any.pred %p2, %p1, 0xffffffff;", half);
    row("half the warp at its barrier", "@%p1 bar.warp.sync 0xffffffff;", half);
    row(
        "those who left need not come",
        "@%p1 exit; shfl.sync.down.b32 %r6, %r1, 0, 31, 0xffffffff;",
        None,
    );
    let product = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%r16}, {%r17, %r18, %r19, %r20};";
    row("a whole warp multiplies", product, None);
    row("half a warp multiplies", &format!("@%p1 {product}"), half);
    row("a warp without those who left", &format!("@%p1 exit; {product}"), half);
}

#[test]
fn a_kernel_ends() {
    check(32, &[
        ("never", "A: bra A;", Some(FaultKind::Limit)),
        ("of itself", "trap;", Some(FaultKind::Trap)),
        ("when a lane has what it waits for from a later one", "
            mov.u32 %r5, 0; setp.eq.u32 %p1, %r1, 0; @!%p1 bra SET;
            WAIT: ld.volatile.global.u32 %r6, [%rd1]; setp.eq.u32 %p2, %r6, 0; @%p2 bra WAIT; bra END;
            SET: st.volatile.global.u32 [%rd1], 1; END:", None),
    ]);
    check(64, &[("when a warp has what it waits for from a later one", "
            setp.lt.u32 %p1, %r1, 32; @!%p1 bra SET;
            WAIT: ld.volatile.global.u32 %r6, [%rd1]; setp.eq.u32 %p2, %r6, 0; @%p2 bra WAIT; bra END;
            SET: st.volatile.global.u32 [%rd1], 1; END:", None)]);
}

#[test]
fn a_fault_says_where() {
    let text = kernel(TILE, "setp.eq.u32 %p1, %r1, 37;\n    @%p1 ld.global.u32 %r5, [%rd1+64];");
    let line = text.lines().position(|line| line.contains("@%p1 ld")).unwrap() as u32 + 1;
    let fault = run(&text, 64, &[], 1).unwrap_err();
    assert_eq!((fault.kind, fault.line, fault.thread), (FaultKind::Bounds, line, Some([37, 0, 0])));
    assert_eq!(fault.block, [0; 3]);
    let said = fault.to_string();
    assert!(
        said.starts_with(&format!(
            "k, PTX line {line}, block (0,0,0), thread (37,0,0): reads 4 bytes at 0x7f"
        )),
        "{said}"
    );
    assert!(said.ends_with("at byte 64 of an allocation of 4"), "{said}");
}

#[test]
fn constants_are_not_written() {
    let text =
        kernel("", "mov.u64 %rd3, table; ld.const.u32 %r5, [table+4]; st.global.u32 [%rd1], %r5;");
    let with = |extra: &str| {
        let text = text.replace(
            ".visible .entry",
            ".const .align 4 .b8 table[8] = {1, 0, 0, 0, 42, 0, 0, 0};\n.visible .entry",
        );
        run(&text.replace("ret;", &format!("{extra} ret;")), 1, &[], 1)
    };
    assert_eq!(with(""), Ok(vec![42]));
    assert_eq!(with("st.global.u32 [%rd3], 1;").unwrap_err().kind, FaultKind::Bounds);
}

#[test]
fn what_it_does_not_know_it_does_not_take() {
    let why = |body: &str| Module::parse(&kernel("", body)).unwrap_err().to_string();
    for (body, said) in [
        ("wgmma.fence.sync.aligned;", "needs .target sm_90a"),
        ("tcgen05.wait::ld.sync.aligned;", "hardware only"),
        ("clusterlaunchcontrol.try_cancel.async.b128 [%r1], [%r2];", "hardware only"),
        ("mbarrier.pending_count.b64 %r5, %rd1;", "unknown instruction `mbarrier.pending_count"),
        (
            "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%rd1, {%r1, %r1, %r1}], [%r1];",
            "only tensors of 2 dimensions",
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;",
            "hardware only",
        ),
        ("frobnicate.u32 %r5, %r1;", "unknown instruction `frobnicate.u32`"),
        ("add.sideways.u32 %r5, %r1, %r1;", "add.sideways.u32"),
        ("add.u32 %r5, %r1;", "operands"),
        ("add.u32 %r5, %rd1, %r1;", "64 bits"),
        ("add.u32 %r99, %r1, %r1;", "unknown name `%r99`"),
        ("bra NOWHERE;", "unknown label `NOWHERE`"),
        ("ld.global.u32.sideways %r5, [%rd1];", "ld.global.u32.sideways"),
        ("shfl.bfly.b32 %r5, %r1, 1, 31;", "without `.sync`"),
    ] {
        assert!(why(body).contains(said), "{body} {}", why(body));
    }
    assert!(Module::parse("not PTX").is_err());
    assert!(Module::parse("").is_err());
}

#[test]
fn launches_a_driver_would_refuse_are_refused() {
    let module =
        Module::parse(&kernel(TILE, "").replace("in)\n", "in)\n.maxntid 64, 1, 1\n")).unwrap();
    let kind = |entry, grid, block, shared, params: usize| {
        let mut memory = Memory::default();
        let params = vec![0; params];
        launch(&module, entry, grid, block, shared, &params, &mut memory, Limits::default())
            .err()
            .map(|fault| fault.kind)
    };
    let refused = Some(FaultKind::Launch);
    assert_eq!(kind("k", [1; 3], [64, 1, 1], 1024, 16), None);
    assert_eq!(kind("other", [1; 3], [64, 1, 1], 0, 16), refused);
    assert_eq!(kind("k", [0, 1, 1], [64, 1, 1], 0, 16), refused);
    assert_eq!(kind("k", [1, 65536, 1], [64, 1, 1], 0, 16), refused);
    assert_eq!(kind("k", [1; 3], [65, 1, 1], 0, 16), refused);
    assert_eq!(kind("k", [1; 3], [64, 1, 1], 48 << 10, 16), refused);
    assert_eq!(kind("k", [1; 3], [64, 1, 1], 0, 12), refused);
}
