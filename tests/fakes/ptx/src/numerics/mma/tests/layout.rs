//! The fragment layouts as the ISA's text states them, one case per shape and element width, over element indices instead of registers.

use super::super::Register;
use ::half::f16;
use warpscope_kernels::{nearest_bf16, nearest_f16};

pub(super) type Matrix = Vec<Vec<f64>>;

/// An opcode taken apart.
pub(super) struct Form {
    pub(super) name: &'static str,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) a_row: bool,
    pub(super) b_row: bool,
    pub(super) a: &'static str,
    pub(super) b: &'static str,
    pub(super) c: &'static str,
    pub(super) d: &'static str,
}

pub(super) fn bits(kind: &str) -> usize {
    match kind {
        "f64" => 64,
        "f32" | "s32" | "tf32" => 32,
        "f16" | "bf16" => 16,
        "s4" | "u4" => 4,
        _ => 8,
    }
}

/// OCP 8-bit floating point specification 1.0, table 1, as a formula.
pub(super) fn small_float(code: u8, exponent_bits: u32, bias: i32, infinities: bool) -> f64 {
    let fraction_bits = 7 - exponent_bits;
    let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
    let field = i32::from(code & 0x7f) >> fraction_bits;
    let fraction =
        f64::from(i32::from(code) & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
    let last = (1 << exponent_bits) - 1;
    if infinities && field == last {
        return if fraction == 0.0 { sign * f64::INFINITY } else { f64::NAN };
    }
    if !infinities && code & 0x7f == 0x7f {
        return f64::NAN;
    }
    sign * if field == 0 {
        fraction * 2f64.powi(1 - bias)
    } else {
        (1.0 + fraction) * 2f64.powi(field - bias)
    }
}

fn of_small_float(value: f64, decode: impl Fn(u8) -> f64) -> u64 {
    u64::from(
        (0..=u8::MAX)
            .find(|&code| decode(code) == value)
            .expect("the test picks values of the type"),
    )
}

fn e4m3(code: u8) -> f64 {
    small_float(code, 4, 7, false)
}

fn e5m2(code: u8) -> f64 {
    small_float(code, 5, 15, true)
}

/// A value of the type near `value`.
pub(super) fn rounded(kind: &str, value: f64) -> f64 {
    match kind {
        "f16" => nearest_f16(value).to_f64(),
        "bf16" => nearest_bf16(value).to_f64(),
        "tf32" => (value * 256.0).round() / 256.0,
        "e4m3" => (value * 4.0).round() / 4.0,
        "e5m2" => (value * 2.0).round() / 2.0,
        "f32" => f64::from(value as f32),
        _ => value,
    }
}

fn encode(kind: &str, value: f64) -> u64 {
    let width = bits(kind);
    match kind {
        "f64" => value.to_bits(),
        "f32" | "tf32" => u64::from((value as f32).to_bits()),
        "f16" => u64::from(nearest_f16(value).to_bits()),
        "bf16" => u64::from(nearest_bf16(value).to_bits()),
        "e4m3" => of_small_float(value, e4m3),
        "e5m2" => of_small_float(value, e5m2),
        _ => value as i64 as u64 & ((1 << width) - 1),
    }
}

fn decode(kind: &str, code: u64) -> f64 {
    match kind {
        "f64" => f64::from_bits(code),
        "f32" => f64::from(f32::from_bits(code as u32)),
        "f16" => f16::from_bits(code as u16).to_f64(),
        "s32" => f64::from(code as u32 as i32),
        _ => unreachable!("no accumulator is {kind}"),
    }
}

impl Form {
    pub(super) fn parse(name: &'static str) -> Form {
        let parts: Vec<&str> = name.split('.').filter(|part| *part != "satfinite").collect();
        let [shape, a_layout, b_layout, d, a, b, c] = parts[..] else { panic!("{name}") };
        let sizes: Vec<usize> =
            shape.split(['m', 'n', 'k']).skip(1).map(|size| size.parse().unwrap()).collect();
        Form {
            name,
            m: sizes[0],
            n: sizes[1],
            k: sizes[2],
            a_row: a_layout == "row",
            b_row: b_layout == "row",
            a,
            b,
            c,
            d,
        }
    }

    /// Volta's shape: four products at once.
    fn is_volta(&self) -> bool {
        (self.m, self.k, self.a) == (8, 4, "f16")
    }

    pub(super) fn products(&self) -> usize {
        if self.is_volta() { 4 } else { 1 }
    }

    pub(super) fn is_float(&self) -> bool {
        self.d != "s32"
    }

    fn a_place(&self, lane: usize, i: usize) -> (usize, usize) {
        if self.is_volta() {
            let upper = if lane < 16 { 0 } else { 4 };
            return if self.a_row { (lane % 4 + upper, i) } else { (i % 4 + upper, lane % 4) };
        }
        let (group, thread) = (lane >> 2, lane % 4);
        let lower_if = |low: bool| if low { group } else { group + 8 };
        match (self.m, self.k, bits(self.a)) {
            (8, 4, 64) => (group, thread),
            (16, 4, 32) => (lower_if(i == 0), thread),
            (16, 8, 32) => (lower_if(i == 0 || i == 2), if i < 2 { thread } else { thread + 4 }),
            (16, 8, 16) => (lower_if(i < 2), thread * 2 + (i & 1)),
            (16, 16, 16) => (
                lower_if(i < 2 || (4..6).contains(&i)),
                thread * 2 + (i & 1) + if i < 4 { 0 } else { 8 },
            ),
            (8, 16, 8) => (group, thread * 4 + i),
            (16, 16, 8) => (lower_if(i < 4), thread * 4 + (i & 3)),
            (16, 32, 8) => (
                lower_if(i < 4 || (8..12).contains(&i)),
                thread * 4 + (i & 3) + if i < 8 { 0 } else { 16 },
            ),
            (8, 32, 4) => (group, thread * 8 + i),
            (16, 32, 4) => (lower_if(i < 8), thread * 8 + (i & 7)),
            (16, 64, 4) => (
                lower_if(i < 8 || (16..24).contains(&i)),
                thread * 8 + (i & 7) + if i < 16 { 0 } else { 32 },
            ),
            _ => panic!("{}", self.name),
        }
    }

    fn b_place(&self, lane: usize, i: usize) -> (usize, usize) {
        if self.is_volta() {
            let upper = if lane < 16 { 0 } else { 4 };
            return if self.b_row { (lane % 4, i + upper) } else { (i, lane % 4 + upper) };
        }
        let (group, thread) = (lane >> 2, lane % 4);
        let row = match (self.k, bits(self.b)) {
            (4, 32 | 64) => thread,
            (8, 32) => thread + if i == 0 { 0 } else { 4 },
            (8, 16) => thread * 2 + i,
            (16, 16) => thread * 2 + (i & 1) + if i < 2 { 0 } else { 8 },
            (16, 8) => thread * 4 + i,
            (32, 8) => thread * 4 + (i & 3) + if i < 4 { 0 } else { 16 },
            (32, 4) => thread * 8 + i,
            (64, 4) => thread * 8 + (i & 7) + if i < 8 { 0 } else { 32 },
            _ => panic!("{}", self.name),
        };
        (row, group)
    }

    fn c_place(&self, lane: usize, i: usize, kind: &str) -> (usize, usize) {
        if self.is_volta() {
            let upper = if lane < 16 { 0 } else { 4 };
            if kind == "f16" {
                return (lane % 4 + upper, i);
            }
            let x = (lane & 0b1) + (i & 0b10);
            return (x + upper, (i & 0b100) + (lane & 0b10) + (i & 0b1));
        }
        let (group, thread) = (lane >> 2, lane % 4);
        if self.m == 8 {
            (group, thread * 2 + i)
        } else {
            (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1))
        }
    }

    /// Which of the products a lane takes part in.
    fn product(&self, lane: usize) -> usize {
        if self.is_volta() { lane % 16 / 4 } else { 0 }
    }

    fn scatter(
        &self,
        matrices: &[Matrix],
        registers: usize,
        kind: &str,
        place: impl Fn(usize, usize) -> (usize, usize),
    ) -> Vec<Register> {
        let mut fragment = vec![[0u32; 32]; registers];
        for lane in 0..32 {
            for i in 0..32 * registers / bits(kind) {
                let (row, column) = place(lane, i);
                let code = encode(kind, matrices[self.product(lane)][row][column]);
                let first = i * bits(kind);
                fragment[first / 32][lane] |= (code as u32) << (first % 32);
                if bits(kind) == 64 {
                    fragment[first / 32 + 1][lane] = (code >> 32) as u32;
                }
            }
        }
        fragment
    }

    pub(super) fn scatter_a(&self, matrices: &[Matrix], registers: usize) -> Vec<Register> {
        self.scatter(matrices, registers, self.a, |lane, i| self.a_place(lane, i))
    }

    pub(super) fn scatter_b(&self, matrices: &[Matrix], registers: usize) -> Vec<Register> {
        self.scatter(matrices, registers, self.b, |lane, i| self.b_place(lane, i))
    }

    pub(super) fn scatter_c(&self, matrices: &[Matrix], registers: usize) -> Vec<Register> {
        self.scatter(matrices, registers, self.c, |lane, i| self.c_place(lane, i, self.c))
    }

    pub(super) fn gather_d(&self, fragment: &[Register]) -> Vec<Matrix> {
        let mut matrices = vec![vec![vec![f64::NAN; self.n]; self.m]; self.products()];
        let width = bits(self.d);
        for lane in 0..32 {
            for i in 0..32 * fragment.len() / width {
                let first = i * width;
                let low = u64::from(fragment[first / 32][lane]) >> (first % 32);
                let code = if width == 64 {
                    low | u64::from(fragment[first / 32 + 1][lane]) << 32
                } else {
                    low
                };
                let (row, column) = self.c_place(lane, i, self.d);
                matrices[self.product(lane)][row][column] = decode(self.d, code);
            }
        }
        matrices
    }
}
