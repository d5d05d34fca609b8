//! Instructions in which lanes see each other, against the definitions of the PTX ISA in plain Rust; and where lanes' ways part.

use crate::small::{kernel, run, words};

fn lanes(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

#[test]
fn shuffles_take_from_the_lane_the_isa_says() {
    let value = "mul.lo.u32 %r5, %r1, 3;";
    let shuffled = |shuffle: &str| words("", &format!("{value} {shuffle}"), 32).unwrap();
    assert_eq!(shuffled("shfl.sync.bfly.b32 %r79, %r5, 5, 31, -1;"), lanes(|lane| 3 * (lane ^ 5)));
    assert_eq!(
        shuffled("shfl.sync.up.b32 %r79, %r5, 2, 0, -1;"),
        lanes(|lane| 3 * if lane < 2 { lane } else { lane - 2 })
    );
    assert_eq!(
        shuffled("shfl.sync.down.b32 %r79, %r5, 3, 31, -1;"),
        lanes(|lane| 3 * if lane > 28 { lane } else { lane + 3 })
    );
    assert_eq!(shuffled("shfl.sync.idx.b32 %r79, %r5, 7, 31, -1;"), lanes(|_| 21));
    assert_eq!(
        shuffled("sub.u32 %r6, 31, %r1; shfl.sync.idx.b32 %r79, %r5, %r6, 31, -1;"),
        lanes(|lane| 3 * (31 - lane))
    );
    // Segments of eight lanes: the mask of the segment, 0x18, in bits 8 to 12, the last lane of one in bits 0 to 4.
    assert_eq!(
        shuffled("shfl.sync.idx.b32 %r79, %r5, 2, 6175, -1;"),
        lanes(|lane| 3 * ((lane & 24) + 2))
    );
    assert_eq!(
        shuffled("shfl.sync.down.b32 %r79, %r5, 1, 6175, -1;"),
        lanes(|lane| 3 * if lane % 8 == 7 { lane } else { lane + 1 })
    );
    assert_eq!(
        shuffled("shfl.sync.up.b32 %r79, %r5, 1, 6144, -1;"),
        lanes(|lane| 3 * if lane % 8 == 0 { lane } else { lane - 1 })
    );
    let inside = shuffled("shfl.sync.up.b32 %r6|%p1, %r5, 4, 0, -1; selp.u32 %r79, 1, 0, %p1;");
    assert_eq!(inside, lanes(|lane| u32::from(lane >= 4)));
}

#[test]
fn votes_matches_and_reductions() {
    let test = "and.b32 %r5, %r1, 3; setp.eq.u32 %p1, %r5, 0;";
    let held = |what: &str| words("", &format!("{test} {what}"), 32).unwrap();
    assert_eq!(held("vote.sync.ballot.b32 %r79, %p1, -1;"), lanes(|_| 0x1111_1111));
    assert_eq!(held("vote.sync.ballot.b32 %r79, !%p1, -1;"), lanes(|_| 0xeeee_eeee));
    assert_eq!(held("vote.sync.any.pred %p2, %p1, -1; selp.u32 %r79, 1, 0, %p2;"), lanes(|_| 1));
    assert_eq!(held("vote.sync.all.pred %p2, %p1, -1; selp.u32 %r79, 1, 0, %p2;"), lanes(|_| 0));
    assert_eq!(held("vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r79, 1, 0, %p2;"), lanes(|_| 0));
    assert_eq!(held("match.any.sync.b32 %r79, %r5, -1;"), lanes(|lane| 0x1111_1111 << (lane & 3)));
    assert_eq!(held("match.all.sync.b32 %r79|%p2, %r5, -1;"), lanes(|_| 0));
    assert_eq!(held("mov.u32 %r6, 9; match.all.sync.b32 %r79|%p2, %r6, -1;"), lanes(|_| u32::MAX));
    assert_eq!(held("redux.sync.add.u32 %r79, %r1, -1;"), lanes(|_| 31 * 16));
    assert_eq!(
        held("sub.s32 %r6, %r1, 9; redux.sync.min.s32 %r79, %r6, -1;"),
        lanes(|_| -9i32 as u32)
    );
    assert_eq!(held("sub.s32 %r6, %r1, 9; redux.sync.max.u32 %r79, %r6, -1;"), lanes(|_| u32::MAX));
    assert_eq!(held("redux.sync.xor.b32 %r79, %r1, -1;"), lanes(|_| 0));
    // Each half by itself.
    let half = "and.b32 %r6, %r1, 16; shl.b32 %r7, 0xffff, %r6;";
    assert_eq!(
        held(&format!("{half} redux.sync.add.u32 %r79, %r1, %r7;")),
        lanes(|lane| if lane < 16 { 120 } else { 376 })
    );
    assert_eq!(
        held(&format!("{half} vote.sync.ballot.b32 %r79, %p1, %r7;")),
        lanes(|lane| if lane < 16 { 0x1111 } else { 0x1111_0000 })
    );
}

#[test]
fn barriers_count_and_combine() {
    let test = "setp.lt.u32 %p1, %r1, 37;";
    let all = |what: &str| words("", &format!("{test} {what}"), 96).unwrap();
    assert_eq!(all("bar.red.popc.u32 %r79, 0, %p1;"), vec![37; 96]);
    assert_eq!(all("bar.red.and.pred %p2, 0, %p1; selp.u32 %r79, 1, 0, %p2;"), vec![0; 96]);
    assert_eq!(all("bar.red.or.pred %p2, 0, %p1; selp.u32 %r79, 1, 0, %p2;"), vec![1; 96]);
    assert_eq!(all("bar.red.popc.u32 %r79, 1, 96, !%p1;"), vec![59; 96]);
}

#[test]
fn ways_part_and_meet() {
    // Every lane goes round as often as its number says, and adds one each time; then the warp meets.
    let body = "mov.u32 %r5, 0; mov.u32 %r6, %r1;
        LOOP: setp.eq.u32 %p1, %r6, 0; @%p1 bra OUT; add.u32 %r5, %r5, 1; sub.u32 %r6, %r6, 1; bra LOOP;
        OUT: redux.sync.add.u32 %r79, %r5, -1;";
    assert_eq!(words("", body, 32).unwrap(), lanes(|_| 31 * 16));
    // Four ways by a table.
    let body = "and.b32 %r5, %r1, 3; TABLE: .branchtargets A, B, C, D; brx.idx %r5, TABLE;
        A: mov.u32 %r6, 10; bra END; B: mov.u32 %r6, 20; bra END; C: mov.u32 %r6, 30; bra END; D: mov.u32 %r6, 40;
        END: add.u32 %r79, %r6, %r1;";
    assert_eq!(words("", body, 32).unwrap(), lanes(|lane| 10 * (lane % 4 + 1) + lane));
}

#[test]
fn functions_are_called_with_their_own_registers() {
    let function = ".func (.param .b32 result) twice(.param .b32 value)
        { .reg .b32 %r<4>; ld.param.u32 %r1, [value]; add.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret; }";
    let call = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), twice, (a); ld.param.b32 %r79, [b]; }";
    let text = kernel(
        "",
        &format!(
            "setp.lt.u32 %p1, %r1, 9; mov.u32 %r79, 5; @!%p1 bra END; {call} END: {}",
            crate::small::STORE
        ),
    );
    let text = text.replace(".visible .entry", &format!("{function}\n.visible .entry"));
    assert_eq!(run(&text, 32, &[], 32).unwrap(), lanes(|lane| if lane < 9 { 2 * lane } else { 5 }));
}

#[test]
fn atomics_return_what_was_there() {
    let body = |atomic: &str| format!("atom.global.{atomic}; {}", "st.global.u32 [%rd2], %r5;");
    let after = |atomic: &str, first: u32| {
        let text =
            kernel("", &format!("st.global.u32 [%rd1], {first}; bar.sync 0; {}", body(atomic)));
        run(&text, 32, &[0], 1).unwrap()[0]
    };
    assert_eq!(after("add.u32 %r5, [%rd1], %r1", 5), 5 + 31 * 16);
    assert_eq!(after("max.s32 %r5, [%rd1], %r1", u32::MAX), 31);
    assert_eq!(after("max.u32 %r5, [%rd1], %r1", u32::MAX), u32::MAX);
    assert_eq!(after("min.u32 %r5, [%rd1], %r1", 7), 0);
    assert_eq!(after("xor.b32 %r5, [%rd1], %r1", 3), 3);
    assert_eq!(after("or.b32 %r5, [%rd1], %r1", 64), 95);
    assert_eq!(after("inc.u32 %r5, [%rd1], 4", 0), 32 % 5);
    assert_eq!(after("dec.u32 %r5, [%rd1], 4", 0), 5 - 32 % 5);
    assert_eq!(after("cas.b32 %r5, [%rd1], 9, 12", 9), 12);
    assert_eq!(after("cas.b32 %r5, [%rd1], 9, 12", 8), 8);
    let half = "mov.f32 %r6, 0f3F000000; atom.global.add.f32 %r5, [%rd1], %r6;";
    let text = kernel("", &format!("st.global.u32 [%rd1], 0; bar.sync 0; {half}"));
    assert_eq!(f32::from_bits(run(&text, 32, &[], 1).unwrap()[0]), 16.0);
    // What each got: every sum but the last, once.
    let text = kernel("", &format!("atom.global.add.u32 %r79, [%rd2], 1; {}", crate::small::STORE));
    let mut old = run(&text, 96, &[0], 96).unwrap();
    old.sort_unstable();
    assert_eq!(old, (0..96).collect::<Vec<_>>());
}

/// PTX ISA, `ldmatrix`: lane l of matrix m gets elements 2(l mod 4) and the next of row l / 4.
#[test]
fn matrices_go_through_shared_memory() {
    let tile = ".shared .align 16 .b8 tile[512];";
    let fill = "mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3; setp.lt.u32 %p1, %r1, 32;
        @%p1 st.shared.u32 [%r4], %r1; bar.warp.sync -1; and.b32 %r5, %r1, 7; shl.b32 %r5, %r5, 4; add.u32 %r5, %r5, %r2;";
    let load = |what: &str| words(tile, &format!("{fill} {what}"), 32).unwrap();
    // Word w of the matrix holds elements 2w (its low half: w) and 2w + 1 (0), so row r, words 4r to 4r + 3.
    assert_eq!(load("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r79}, [%r5];"), lanes(|lane| lane));
    let transposed = |lane: u32| {
        let element =
            |row: u32, column: u32| if column.is_multiple_of(2) { 4 * row + column / 2 } else { 0 };
        let (line, pair) = (lane / 4, 2 * (lane % 4));
        element(pair, line) | element(pair + 1, line) << 16
    };
    assert_eq!(
        load("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r79}, [%r5];"),
        lanes(transposed)
    );
    assert_eq!(
        load("ld.shared.u32 %r6, [%r4]; movmatrix.sync.aligned.m8n8.trans.b16 %r79, %r6;"),
        lanes(transposed)
    );
    let stored = "add.u32 %r6, %r5, 128; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6], {%r1}; bar.warp.sync -1; ld.shared.u32 %r79, [%r4+128];";
    assert_eq!(load(stored), lanes(|lane| lane));
}
