//! Any text is read or refused; none brings the interpreter down.

use proptest::prelude::*;
use ptx_interpreter::Module;

use crate::small::kernel;

/// Something of everything.
fn everything() -> String {
    let body = "
    { .param .b32 a; st.param.b32 [a], %r1; }
    .pragma \"nounroll\";
    LOOP: setp.lt.and.u32 %p1|%p2, %r1, 4, %p3; @%p1 bra LOOP;
    TABLE: .branchtargets LOOP, END; @!%p2 brx.idx %r1, TABLE;
    ld.global.nc.L1::no_allocate.v4.u32 {%r2, %r3, %r4, _}, [%rd1+16];
    st.shared.v2.u32 [tile+8], {%r2, %r3};
    cp.async.ca.shared.global [%r5], [%rd1+-4], 4, %r6; cp.async.wait_group 0;
    shfl.sync.bfly.b32 %r7|%p4, %r7, 16, 0x1f, -1;
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%r16}, {%r17, %r18, %r19, %r20};
    fma.rn.ftz.f32 %r8, %r8, 0f3F800000, 0dBFF0000000000000;
    cvt.rn.satfinite.relu.f16.f32 %h1, %r8; mov.b64 {%r9, _}, %rd3; atom.global.cas.b32 %r9, [%rd1], 0, 1;
    bar.red.popc.u32 %r9, 0, 64, !%p1; END:";
    let text = kernel(".shared .align 16 .b8 tile[64]; .local .align 4 .b8 own[16];", body);
    text.replace(".visible", ".global .align 4 .u32 table[4] = {1, 2, -3, generic(other)};\n.const .f32 other;\n.visible")
}

#[test]
fn the_text_with_something_of_everything_is_read() {
    let text =
        everything().replace("cvt.rn.satfinite.relu", "cvt.rn").replace("generic(other)", "4");
    Module::parse(&text).unwrap();
}

proptest! {
    #[test]
    fn a_damaged_text_is_no_more_than_an_error(cut in 0.0..1.0f64, length in 0usize..40, put in "[ -~\n]{0,12}") {
        let text = everything();
        let from = (cut * text.len() as f64) as usize;
        let to = (from + length).min(text.len());
        let _ = Module::parse(&format!("{}{put}{}", &text[..from], &text[to..]));
    }

    #[test]
    fn any_text_is_no_more_than_an_error(text in "\\PC{0,200}") {
        let _ = Module::parse(&text);
        let _ = Module::parse(&format!(".version 8.0\n.target sm_80\n{text}"));
    }
}
