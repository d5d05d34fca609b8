//! t
use std::time::Instant;
use warpscope_kernels::cpu::*;
fn t(name: &str, n: u32, mut f: impl FnMut()) {
    let mut b = f64::MAX;
    for _ in 0..n {
        let s = Instant::now();
        f();
        b = b.min(s.elapsed().as_secs_f64());
    }
    println!("{name} {:.2} us", b * 1e6);
}
fn main() {
    let mut v: Vec<f32> = (0..1536).map(|i| i as f32 * 0.01 - 7.0).collect();
    t("round f16 1536", 1000, || Storage::Fp16.round(&mut v));
    t("round bf16 1536", 1000, || Storage::Bf16.round(&mut v));
    let up = v.clone();
    t("swiglu 1536", 1000, || {
        let mut g = v.clone();
        swiglu(&mut g, &up);
        std::hint::black_box(&g);
    });
    let x = vec![0.5f32; 512];
    let g = vec![1.0f32; 512];
    let mut o = vec![0.0f32; 512];
    t("norm 512", 1000, || rms_norm(&x, &g, 1e-6, &mut o));
    let keys = vec![0.1f32; 256 * 60];
    let mut out = vec![0.0; 128];
    t("attend 60 x4", 1000, || {
        for h in 0..4 {
            attend(
                &x[h * 128..][..128],
                &keys[..256 * 60 - 128],
                &keys[..256 * 60 - 128],
                256,
                &mut out,
            );
            std::hint::black_box(&out);
        }
    });
    let mut h = warpscope_kernels::model::Health::default();
    t("scan 1536", 1000, || {
        h.scan(
            warpscope_kernels::model::Place {
                layer: 0,
                op: warpscope_kernels::model::Op::OProj,
                token: 0,
                channel: 0,
            },
            1536,
            std::hint::black_box(&v),
        );
    });
}
