//! Instructions one by one, through the whole interpreter, against what Rust's own integers and the `half` crate make of the ISA's definitions.

use std::cmp::Ordering;

use half::{bf16, f16};
use ptx_interpreter::{Limits, Memory, Module, launch};
use warpscope_kernels::nearest_f16;

/// Operands worth trying: edges of every width and type, and some noise.
const EDGES: &[u64] = &[
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
    0x1234_5678_9abc_def0,
    0xfedc_ba98_7654_3210,
    0x0f1e_2d3c_4b5a_6978,
    0x3f80_0000,
    0xbf80_0001,
    0x7f80_0000,
    0x7fc0_0000,
    0x0000_0001_0080_0001,
    0x3c00_bc00_3c01_7bff,
    0xa5a5_5a5a_c3c3_3c3c,
];

/// Operands as their registers hold them.
type Truth = fn(&[u64]) -> u64;

/// An instruction with its operand types, destination first; what it gives.
type Row = (&'static str, &'static [&'static str], Truth);

fn register(kind: &str) -> (&'static str, u32) {
    match kind {
        "b16" => ("%h", 2),
        "b64" => ("%rd", 8),
        "f32" => ("%f", 4),
        "f64" => ("%fd", 8),
        "pred" => ("%p", 4),
        _ => ("%r", 4),
    }
}

/// A kernel that does the instruction for every thread on its own operands, eight bytes each.
fn text(row: &Row) -> String {
    let (instruction, kinds, _) = row;
    let count = kinds.len();
    let mut body = String::new();
    let names: Vec<String> = kinds
        .iter()
        .enumerate()
        .map(|(index, kind)| format!("{}{}", register(kind).0, index + 10))
        .collect();
    for (index, kind) in kinds.iter().enumerate().skip(1) {
        let bytes = register(kind).1;
        body += &format!(
            "    ld.global.b{} {}, [%rd5+{}];\n",
            8 * bytes,
            names[index],
            8 * (index - 1)
        );
    }
    let operands = match instruction.split_once(' ') {
        Some((_, form)) => names
            .iter()
            .enumerate()
            .fold(form.to_owned(), |form, (index, name)| form.replace(&format!("${index}"), name)),
        None => names.join(", "),
    };
    let mnemonic = instruction.split(' ').next().unwrap_or_default();
    body += &format!("    {mnemonic} {operands};\n");
    body += &match kinds[0] {
        "pred" => {
            format!("    selp.u32 %r9, 1, 0, {};\n    st.global.u32 [%rd6], %r9;\n", names[0])
        }
        kind => format!("    st.global.b{} [%rd6], {};\n", 8 * register(kind).1, names[0]),
    };
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n{{
    .reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<20>; .reg .f64 %fd<20>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    mov.u32 %r1, %ntid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mad.wide.u32 %rd5, %r4, {}, %rd2;
    mad.wide.u32 %rd6, %r4, 8, %rd1;\n{body}    ret;\n}}\n",
        8 * (count - 1)
    )
}

/// Sets of operands: every pair of edges, the third from a walk through them.
fn operands(count: usize) -> Vec<Vec<u64>> {
    let at = |index: usize| EDGES[index % EDGES.len()];
    let mut sets = Vec::new();
    for (i, first) in EDGES.iter().enumerate() {
        for (j, second) in EDGES.iter().enumerate() {
            let third = at(i * 7 + j * 11 + 5);
            sets.push([*first, *second, third, at(i + j)][..count].to_vec());
            if count > 2 {
                sets.push([*first, third, *second, at(i + 3 * j)][..count].to_vec());
            }
        }
    }
    sets
}

fn check(rows: &[Row]) {
    for row in rows {
        let sets = operands(row.1.len() - 1);
        let module = Module::parse(&text(row)).unwrap_or_else(|error| panic!("{}: {error}", row.0));
        let mut memory = Memory::default();
        let blocks = sets.len().div_ceil(64);
        let input: Vec<u8> = sets.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
        let out = memory.allocate(blocks * 64 * 8);
        let place = memory.allocate(blocks * 64 * 8 * (row.1.len() - 1));
        memory.bytes_mut(place, input.len()).expect("allocated").copy_from_slice(&input);
        let params: Vec<u8> =
            [out, place].iter().flat_map(|address| address.to_le_bytes()).collect();
        let grid = [blocks as u32, 1, 1];
        launch(&module, "k", grid, [64, 1, 1], 0, &params, &mut memory, Limits::default())
            .unwrap_or_else(|fault| panic!("{}: {fault}", row.0));
        for (index, set) in sets.iter().enumerate() {
            let bytes = memory.bytes(out + 8 * index as u64, 8).expect("allocated");
            let got = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            let masked: Vec<u64> = set
                .iter()
                .zip(&row.1[1..])
                .map(|(value, kind)| value & u64::MAX >> (64 - 8 * register(kind).1))
                .collect();
            let keep = u64::MAX >> (64 - 8 * register(row.1[0]).1);
            let want = (row.2)(&masked) & keep;
            assert_eq!(got & keep, want, "{} of {masked:x?}: {got:x} is not {want:x}", row.0);
        }
    }
}

fn s(x: u64, bits: u32) -> i128 {
    i128::from((x << (64 - bits)).cast_signed() >> (64 - bits))
}

const W2: &[&str] = &["b32", "b32", "b32"];
const W3: &[&str] = &["b32", "b32", "b32", "b32"];
const L2: &[&str] = &["b64", "b64", "b64"];
const H2: &[&str] = &["b16", "b16", "b16"];

#[test]
fn integer_arithmetic() {
    check(&[
        ("add.u32", W2, |x| x[0] + x[1]),
        ("add.s64", L2, |x| (i128::from(x[0]) + i128::from(x[1])) as u64),
        ("add.s16", H2, |x| x[0] + x[1]),
        ("add.sat.s32", W2, |x| {
            (s(x[0], 32) + s(x[1], 32)).clamp(i32::MIN.into(), i32::MAX.into()) as u64
        }),
        ("sub.s32", W2, |x| x[0].wrapping_sub(x[1])),
        ("sub.sat.s32", W2, |x| {
            (s(x[0], 32) - s(x[1], 32)).clamp(i32::MIN.into(), i32::MAX.into()) as u64
        }),
        ("sub.u64", L2, |x| (i128::from(x[0]) - i128::from(x[1])) as u64),
        ("sub.u16", H2, |x| x[0].wrapping_sub(x[1])),
        ("mul.lo.s32", W2, |x| (s(x[0], 32) * s(x[1], 32)) as u64),
        ("mul.hi.u32", W2, |x| (x[0] * x[1]) >> 32),
        ("mul.hi.s32", W2, |x| ((s(x[0], 32) * s(x[1], 32)) >> 32) as u64),
        ("mul.lo.u64", L2, |x| (u128::from(x[0]) * u128::from(x[1])) as u64),
        ("mul.hi.u64", L2, |x| ((u128::from(x[0]) * u128::from(x[1])) >> 64) as u64),
        ("mul.hi.s64", L2, |x| ((s(x[0], 64) * s(x[1], 64)) >> 64) as u64),
        ("mul.wide.u32", &["b64", "b32", "b32"], |x| x[0] * x[1]),
        ("mul.wide.s32", &["b64", "b32", "b32"], |x| (s(x[0], 32) * s(x[1], 32)) as u64),
        ("mul.wide.u16", &["b32", "b16", "b16"], |x| x[0] * x[1]),
        ("mul.wide.s16", &["b32", "b16", "b16"], |x| (s(x[0], 16) * s(x[1], 16)) as u64),
        ("mul.lo.s16", H2, |x| x[0] * x[1]),
        ("mul.hi.s16", H2, |x| ((s(x[0], 16) * s(x[1], 16)) >> 16) as u64),
        ("mad.lo.s32", W3, |x| (s(x[0], 32) * s(x[1], 32) + s(x[2], 32)) as u64),
        ("mad.hi.u32", W3, |x| ((x[0] * x[1]) >> 32) + x[2]),
        ("mad.wide.u32", &["b64", "b32", "b32", "b64"], |x| (x[0] * x[1]).wrapping_add(x[2])),
        ("mad.wide.s32", &["b64", "b32", "b32", "b64"], |x| {
            (s(x[0], 32) * s(x[1], 32) + s(x[2], 64)) as u64
        }),
        ("div.u32", W2, |x| x[0].checked_div(x[1]).unwrap_or(u64::MAX)),
        ("div.u64", L2, |x| x[0].checked_div(x[1]).unwrap_or(u64::MAX)),
        ("rem.u32", W2, |x| x[0].checked_rem(x[1]).unwrap_or(x[0])),
        ("min.s32", W2, |x| s(x[0], 32).min(s(x[1], 32)) as u64),
        ("max.u32", W2, |x| x[0].max(x[1])),
        ("min.u64", L2, |x| x[0].min(x[1])),
        ("max.s64", L2, |x| s(x[0], 64).max(s(x[1], 64)) as u64),
        ("min.s16", H2, |x| s(x[0], 16).min(s(x[1], 16)) as u64),
        ("abs.s32", &["b32", "b32"], |x| s(x[0], 32).unsigned_abs() as u64),
        ("neg.s32", &["b32", "b32"], |x| x[0].wrapping_neg()),
        ("neg.s64", &["b64", "b64"], |x| x[0].wrapping_neg()),
        ("sad.u32", W3, |x| x[0].abs_diff(x[1]) + x[2]),
        ("sad.s32", W3, |x| s(x[0], 32).abs_diff(s(x[1], 32)) as u64 + x[2]),
        ("dp4a.s32.s32", W3, |x| dot(x, 8, true)),
        ("dp4a.u32.u32", W3, |x| dot(x, 8, false)),
    ]);
}

/// The sum of products of the bytes of two words, and a third.
fn dot(x: &[u64], bits: u32, signed: bool) -> u64 {
    let part = |word: u64, index: u32| {
        let part = word >> (bits * index) & 0xff;
        if signed { s(part, 8) } else { i128::from(part) }
    };
    let sum: i128 = (0..4).map(|index| part(x[0], index) * part(x[1], index)).sum();
    (sum + i128::from(x[2])) as u64
}

#[test]
fn signed_division_rounds_towards_zero() {
    check(&[
        ("div.s32", W2, |x| if x[1] == 0 { u64::MAX } else { (s(x[0], 32) / s(x[1], 32)) as u64 }),
        ("rem.s32", W2, |x| if x[1] == 0 { x[0] } else { (s(x[0], 32) % s(x[1], 32)) as u64 }),
        ("div.s64", L2, |x| if x[1] == 0 { u64::MAX } else { (s(x[0], 64) / s(x[1], 64)) as u64 }),
        ("rem.s64", L2, |x| if x[1] == 0 { x[0] } else { (s(x[0], 64) % s(x[1], 64)) as u64 }),
    ]);
}

#[test]
fn bits() {
    check(&[
        ("and.b32", W2, |x| x[0] & x[1]),
        ("or.b64", L2, |x| x[0] | x[1]),
        ("xor.b32", W2, |x| x[0] ^ x[1]),
        ("not.b32", &["b32", "b32"], |x| !x[0]),
        ("not.b16", &["b16", "b16"], |x| !x[0]),
        ("shl.b32", W2, |x| if x[1] > 31 { 0 } else { x[0] << x[1] }),
        ("shr.u32", W2, |x| if x[1] > 31 { 0 } else { x[0] >> x[1] }),
        ("shr.s32", W2, |x| (s(x[0], 32) >> x[1].min(31)) as u64),
        ("shl.b64", &["b64", "b64", "b32"], |x| if x[1] > 63 { 0 } else { x[0] << x[1] }),
        ("shr.u64", &["b64", "b64", "b32"], |x| if x[1] > 63 { 0 } else { x[0] >> x[1] }),
        ("shr.s64", &["b64", "b64", "b32"], |x| (s(x[0], 64) >> x[1].min(63)) as u64),
        ("shl.b16", &["b16", "b16", "b32"], |x| if x[1] > 15 { 0 } else { x[0] << x[1] }),
        ("shr.s16", &["b16", "b16", "b32"], |x| (s(x[0], 16) >> x[1].min(15)) as u64),
        ("shf.l.wrap.b32", W3, |x| ((x[1] << 32 | x[0]) << (x[2] & 31)) >> 32),
        ("shf.r.wrap.b32", W3, |x| (x[1] << 32 | x[0]) >> (x[2] & 31)),
        ("shf.r.clamp.b32", W3, |x| (x[1] << 32 | x[0]) >> x[2].min(32)),
        ("popc.b32", &["b32", "b32"], |x| x[0].count_ones().into()),
        ("popc.b64", &["b32", "b64"], |x| x[0].count_ones().into()),
        ("clz.b32", &["b32", "b32"], |x| (x[0] as u32).leading_zeros().into()),
        ("clz.b64", &["b32", "b64"], |x| x[0].leading_zeros().into()),
        ("brev.b32", &["b32", "b32"], |x| (x[0] as u32).reverse_bits().into()),
        ("bfind.u32", &["b32", "b32"], |x| {
            (x[0] as u32).checked_ilog2().map_or(u64::MAX, u64::from)
        }),
        ("bfe.u32", W3, |x| (x[0] >> (x[1] & 255).min(63)) & ((1u64 << (x[2] & 255).min(63)) - 1)),
        ("bfi.b32 $0, $1, $2, 9, 13", &["b32", "b32", "b32"], |x| {
            x[1] & !(0x1fff << 9) | (x[0] & 0x1fff) << 9
        }),
        ("lop3.b32 $0, $1, $2, $3, 0xE8", W3, |x| x[0] & x[1] | x[1] & x[2] | x[0] & x[2]),
        ("lop3.b32 $0, $1, $2, $3, 0x96", W3, |x| x[0] ^ x[1] ^ x[2]),
        ("lop3.b32 $0, $1, $2, $3, 0xCA", W3, |x| x[0] & x[1] | !x[0] & x[2]),
        ("prmt.b32 $0, $1, $2, 0x5140", W2, |x| {
            let byte = |word: u64, index: u32| word >> (8 * index) & 255;
            byte(x[0], 0) | byte(x[1], 0) << 8 | byte(x[0], 1) << 16 | byte(x[1], 1) << 24
        }),
        ("cnot.b32", &["b32", "b32"], |x| u64::from(x[0] == 0)),
        ("mov.b64 $0, {$1, $2}", &["b64", "b32", "b32"], |x| x[1] << 32 | x[0]),
        ("mov.b32 $0, {$1, $2}", &["b32", "b16", "b16"], |x| x[1] << 16 | x[0]),
        ("mov.b64 {_, $0}, $1", &["b32", "b64"], |x| x[0] >> 32),
        ("mov.b32 {$0, _}, $1", &["b16", "b32"], |x| x[0]),
    ]);
}

const P2: &[&str] = &["pred", "b32", "b32"];

#[test]
fn comparisons_and_choices() {
    check(&[
        ("setp.lt.s32", P2, |x| (s(x[0], 32) < s(x[1], 32)).into()),
        ("setp.lt.u32", P2, |x| (x[0] < x[1]).into()),
        ("setp.ge.s64", &["pred", "b64", "b64"], |x| (s(x[0], 64) >= s(x[1], 64)).into()),
        ("setp.gt.s16", &["pred", "b16", "b16"], |x| (s(x[0], 16) > s(x[1], 16)).into()),
        ("setp.hi.u32", P2, |x| (x[0] > x[1]).into()),
        ("setp.ne.b64", &["pred", "b64", "b64"], |x| (x[0] != x[1]).into()),
        ("setp.lt.f32", &["pred", "f32", "f32"], |x| (float(x[0]) < float(x[1])).into()),
        ("setp.ltu.f32", &["pred", "f32", "f32"], |x| {
            float(x[0]).partial_cmp(&float(x[1])).is_none_or(Ordering::is_lt).into()
        }),
        ("setp.equ.f32", &["pred", "f32", "f32"], |x| {
            (float(x[0]) == float(x[1]) || float(x[0]).is_nan() || float(x[1]).is_nan()).into()
        }),
        ("setp.nan.f32", &["pred", "f32", "f32"], |x| {
            (float(x[0]).is_nan() || float(x[1]).is_nan()).into()
        }),
        ("setp.num.f64", &["pred", "f64", "f64"], |x| {
            (!double(x[0]).is_nan() && !double(x[1]).is_nan()).into()
        }),
        ("set.lt.u32.s32", W2, |x| if s(x[0], 32) < s(x[1], 32) { u64::MAX } else { 0 }),
        ("slct.b32.s32", W3, |x| if s(x[2], 32) >= 0 { x[0] } else { x[1] }),
    ]);
}

fn float(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// The bits of a result; NaN is the canonical one.
fn of(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits().into() }
}

const F2: &[&str] = &["f32", "f32", "f32"];

#[test]
fn floating_point() {
    check(&[
        ("add.f32", F2, |x| of(float(x[0]) + float(x[1]))),
        ("sub.rn.f32", F2, |x| of(float(x[0]) - float(x[1]))),
        ("mul.f32", F2, |x| of(float(x[0]) * float(x[1]))),
        ("div.rn.f32", F2, |x| of(float(x[0]) / float(x[1]))),
        ("fma.rn.f32", &["f32", "f32", "f32", "f32"], |x| {
            of(float(x[0]).mul_add(float(x[1]), float(x[2])))
        }),
        ("sqrt.rn.f32", &["f32", "f32"], |x| of(float(x[0]).sqrt())),
        ("rcp.rn.f32", &["f32", "f32"], |x| of(1.0 / float(x[0]))),
        ("abs.f32", &["f32", "f32"], |x| x[0] & 0x7fff_ffff),
        ("neg.f32", &["f32", "f32"], |x| x[0] ^ 0x8000_0000),
        ("add.sat.f32", F2, |x| {
            let sum = float(x[0]) + float(x[1]);
            if sum > 0.0 { of(sum.min(1.0)) } else { 0 }
        }),
        ("cvt.rzi.s32.f32", &["b32", "f32"], |x| float(x[0]) as i32 as u64),
        ("cvt.rni.s32.f32", &["b32", "f32"], |x| float(x[0]).round_ties_even() as i32 as u64),
        ("cvt.rmi.f32.f32", &["f32", "f32"], |x| of(float(x[0]).floor())),
        ("cvt.rn.f32.s32", &["f32", "b32"], |x| of(s(x[0], 32) as f32)),
        ("cvt.rn.f32.u64", &["f32", "b64"], |x| of(x[0] as f32)),
        ("cvt.rn.f64.s64", &["f64", "b64"], |x| (s(x[0], 64) as f64).to_bits()),
        ("cvt.f64.f32", &["f64", "f32"], |x| f64::from(float(x[0])).to_bits()),
        ("cvt.u64.u32", &["b64", "b32"], |x| x[0]),
        ("cvt.s64.s32", &["b64", "b32"], |x| s(x[0], 32) as u64),
        ("cvt.s64.s16", &["b64", "b16"], |x| s(x[0], 16) as u64),
        ("cvt.s32.s8", &["b32", "b32"], |x| s(x[0] & 255, 8) as u64),
        ("cvt.s16.s8", &["b16", "b16"], |x| s(x[0] & 255, 8) as u64),
        ("cvt.u16.u32", &["b16", "b32"], |x| x[0]),
        ("cvt.sat.s8.s32", &["b32", "b32"], |x| s(x[0], 32).clamp(-128, 127) as u64),
        ("cvt.sat.u8.s32", &["b32", "b32"], |x| s(x[0], 32).clamp(0, 255) as u64),
        ("cvt.rzi.u32.f32", &["b32", "f32"], |x| float(x[0]) as u32 as u64),
    ]);
}

/// A 16-bit result as registers hold it; NaN is the canonical one.
fn short(value: f16) -> u64 {
    if value.is_nan() { 0x7fff } else { value.to_bits().into() }
}

/// OCP 8-bit floating point, e4m3: bias 7, no infinities, 0x7f and 0xff are NaN.
fn e4m3(bits: u64) -> f16 {
    let (sign, exponent, fraction) = (bits >> 7 & 1, (bits >> 3 & 15) as i32, (bits & 7) as f64);
    let magnitude = match exponent {
        _ if bits & 0x7f == 0x7f => f64::NAN,
        0 => fraction / 8.0 * 2f64.powi(-6),
        _ => (1.0 + fraction / 8.0) * 2f64.powi(exponent - 7),
    };
    nearest_f16(if sign == 1 { -magnitude } else { magnitude })
}

#[test]
fn eight_bits() {
    check(&[
        ("cvt.rn.f16x2.e4m3x2", &["b32", "b16"], |x| {
            short(e4m3(x[0] >> 8)) << 16 | short(e4m3(x[0] & 255))
        }),
        ("cvt.rn.satfinite.e4m3x2.f32", &["b16", "f32", "f32"], |x| {
            nearest_e4m3(x[0]) << 8 | nearest_e4m3(x[1])
        }),
    ]);
}

/// The code whose value is nearest; of two equally near the even one; the largest for all beyond it.
fn nearest_e4m3(bits: u64) -> u64 {
    let value = f64::from(float(bits));
    if value.is_nan() {
        return 0x7f;
    }
    let distance = |code: &u64| (e4m3(*code).to_f64() - value.abs().min(448.0)).abs();
    let near =
        (0..0x7f).min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
    near.unwrap_or_default() | u64::from(value.is_sign_negative()) << 7
}

#[test]
fn sixteen_bits() {
    check(&[
        ("cvt.f32.f16", &["f32", "b16"], |x| of(f16::from_bits(x[0] as u16).to_f32())),
        ("cvt.rn.f16.f32", &["b16", "f32"], |x| short(f16::from_f32(float(x[0])))),
        ("cvt.rn.bf16.f32", &["b16", "f32"], |x| {
            let value = bf16::from_f32(float(x[0]));
            if value.is_nan() { 0x7fff } else { value.to_bits().into() }
        }),
        ("cvt.rn.f16x2.f32", &["b32", "f32", "f32"], |x| {
            short(f16::from_f32(float(x[0]))) << 16 | short(f16::from_f32(float(x[1])))
        }),
        ("add.f16", H2, |x| {
            short(f16::from_f32(
                f16::from_bits(x[0] as u16).to_f32() + f16::from_bits(x[1] as u16).to_f32(),
            ))
        }),
        ("setp.lt.f16", &["pred", "b16", "b16"], |x| {
            (f16::from_bits(x[0] as u16) < f16::from_bits(x[1] as u16)).into()
        }),
        ("setp.neu.bf16", &["pred", "b16", "b16"], |x| {
            (bf16::from_bits(x[0] as u16) != bf16::from_bits(x[1] as u16)).into()
        }),
        ("mul.f16x2", W2, |x| {
            let one = |at: u32| {
                let [a, b] = [x[0], x[1]].map(|word| f16::from_bits((word >> at) as u16).to_f32());
                short(f16::from_f32(a * b))
            };
            one(16) << 16 | one(0)
        }),
        // Exact in binary64; what is cut off there cannot reach a tie of binary16.
        ("fma.rn.f16", &["b16", "b16", "b16", "b16"], |x| {
            let [a, b, c] = [x[0], x[1], x[2]].map(|bits| f16::from_bits(bits as u16).to_f64());
            short(nearest_f16(a * b + c))
        }),
    ]);
}
