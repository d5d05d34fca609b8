//! Integer and bit instructions that Rust has no one word for: PTX ISA 8.8, 9.7.1 (integer), 9.7.8 (logic and shift), 9.7.9.7 (`prmt`).

/// Modes of `prmt.b32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permute {
    /// No mode: four selectors of four bits, the top one of each replicates the sign.
    Index,
    /// `.f4e`: four bytes upwards from one.
    Forward4,
    /// `.b4e`: four bytes downwards from one.
    Backward4,
    /// `.rc8`: one byte four times.
    Replicate8,
    /// `.ecl`: bytes below the selector are clamped up to it.
    ClampLeft,
    /// `.ecr`: bytes above the selector are clamped down to it.
    ClampRight,
    /// `.rc16`: one half twice.
    Replicate16,
}

/// `prmt.b32`: any four of the eight bytes `b:a`, byte 0 the lowest of `a`.
#[inline]
pub fn prmt(a: u32, b: u32, selector: u32, mode: Permute) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let low = selector & 3;
    (0..4).fold(0, |result, index| {
        let pick = match mode {
            Permute::Index => selector >> (4 * index) & 0xf,
            Permute::Forward4 => (low + index) & 7,
            Permute::Backward4 => (low + 8 - index) & 7,
            Permute::Replicate8 => low,
            Permute::ClampLeft => index.max(low),
            Permute::ClampRight => index.min(low),
            Permute::Replicate16 => 2 * (selector & 1) + (index & 1),
        };
        let byte = (bytes >> (8 * (pick & 7))) as u8;
        let byte = if pick & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 };
        result | u32::from(byte) << (8 * index)
    })
}

/// `lop3.b32`: any function of three bits, given as its truth table: bit 4·a + 2·b + c of `table`.
#[inline]
pub fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    let mut result = 0;
    for row in 0..8 {
        let pick = |value: u32, bit: u8| if row & bit == 0 { !value } else { value };
        let chosen = pick(a, 4) & pick(b, 2) & pick(c, 1);
        result |= if table >> row & 1 == 1 { chosen } else { 0 };
    }
    result
}

/// The shift count of `shf`: `.clamp` stops at 32, `.wrap` counts modulo 32.
#[inline]
fn funnel_count(count: u32, wrap: bool) -> u32 {
    if wrap { count & 31 } else { count.min(32) }
}

/// `shf.l.b32`: the upper half of `high:low` shifted left.
#[inline]
pub fn shf_left(low: u32, high: u32, count: u32, wrap: bool) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) << funnel_count(count, wrap) >> 32) as u32
}

/// `shf.r.b32`: the lower half of `high:low` shifted right.
#[inline]
pub fn shf_right(low: u32, high: u32, count: u32, wrap: bool) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) >> funnel_count(count, wrap)) as u32
}

/// `shl.b32`: counts above 31 give 0.
#[inline]
pub fn shl32(a: u32, count: u32) -> u32 {
    a.checked_shl(count).unwrap_or(0)
}

/// `shl.b64`: counts above 63 give 0.
#[inline]
pub fn shl64(a: u64, count: u32) -> u64 {
    a.checked_shl(count).unwrap_or(0)
}

/// `shr.u32`: counts above 31 give 0.
#[inline]
pub fn shr_u32(a: u32, count: u32) -> u32 {
    a.checked_shr(count).unwrap_or(0)
}

/// `shr.u64`: counts above 63 give 0.
#[inline]
pub fn shr_u64(a: u64, count: u32) -> u64 {
    a.checked_shr(count).unwrap_or(0)
}

/// `shr.s32`: counts above 31 give the sign.
#[inline]
pub fn shr_s32(a: i32, count: u32) -> i32 {
    a >> count.min(31)
}

/// `shr.s64`: counts above 63 give the sign.
#[inline]
pub fn shr_s64(a: i64, count: u32) -> i64 {
    a >> count.min(63)
}

/// `bfe`: `length` bits from `position` on; a signed field is extended with its last bit within the source. `width` is 32 or 64, `a` is read as it says.
#[inline]
pub fn bfe(a: u64, position: u32, length: u32, signed: bool, width: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let mask = if width == 64 { u64::MAX } else { u64::from(u32::MAX) };
    let sign =
        if !signed || length == 0 { 0 } else { a >> (position + length - 1).min(width - 1) & 1 };
    let fill = if sign == 1 { u64::MAX } else { 0 };
    let source = a & mask | fill & !mask;
    let moved = shr_u64(source, position)
        | if position == 0 { 0 } else { shl64(fill, 64 - position.min(64)) };
    let field = shl64(1, length).wrapping_sub(1);
    (moved & field | fill & !field) & mask
}

/// `bfi`: the low `length` bits of `a` put into `b` from `position` on. For `.b32` the caller keeps the low half.
#[inline]
pub fn bfi(a: u64, b: u64, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let field = shl64(shl64(1, length).wrapping_sub(1), position);
    b & !field | shl64(a, position) & field
}

/// `bfind`: the place of the most significant bit that is not a copy of the sign (for unsigned: that is set), or all ones. `shift_amount` is `.shiftamt`.
/// A `.s32` or `.s64` operand comes sign-extended, an unsigned one zero-extended.
#[inline]
pub fn bfind(a: u64, signed: bool, width: u32, shift_amount: bool) -> u32 {
    let searched = if signed && (a as i64) < 0 { !a } else { a };
    match searched.checked_ilog2() {
        None => u32::MAX,
        Some(place) if shift_amount => width - 1 - place,
        Some(place) => place,
    }
}

/// `fns.b32`: the place of the `offset`-th set bit counted from `base`, upwards for positive offsets, or all ones. Offset 0 asks whether `base` is set.
#[inline]
pub fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    let set = |place: &u32| mask >> place & 1 == 1;
    let base = base & 31;
    let found = match offset {
        0 => Some(base).filter(set),
        1.. => (base..32).filter(set).nth(offset as usize - 1),
        _ => (0..=base).rev().filter(set).nth(offset.unsigned_abs() as usize - 1),
    };
    found.unwrap_or(u32::MAX)
}

/// Reads lane `index` of `bits` bits of a register, extended as its type says.
#[inline]
fn lane(register: u32, index: u32, bits: u32, signed: bool) -> i32 {
    let high = register << (32 - bits * (index + 1));
    if signed { high as i32 >> (32 - bits) } else { (high >> (32 - bits)) as i32 }
}

/// `dp4a`: four products of bytes added to `c`, modulo 2^32.
#[inline]
pub fn dp4a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    (0..4).fold(c, |sum, index| {
        sum.wrapping_add((lane(a, index, 8, a_signed) * lane(b, index, 8, b_signed)) as u32)
    })
}

/// `dp2a`: two products of halves of `a` with bytes of the low or high half of `b`, added to `c`.
#[inline]
pub fn dp2a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool, high: bool) -> u32 {
    let first = if high { 2 } else { 0 };
    (0..2).fold(c, |sum, index| {
        let product =
            lane(a, index, 16, a_signed).wrapping_mul(lane(b, first + index, 8, b_signed));
        sum.wrapping_add(product as u32)
    })
}

/// `sad.u32`: |a − b| + c.
#[inline]
pub fn sad_u32(a: u32, b: u32, c: u32) -> u32 {
    c.wrapping_add(a.abs_diff(b))
}

/// `sad.s32`: |a − b| + c.
#[inline]
pub fn sad_s32(a: i32, b: i32, c: u32) -> u32 {
    c.wrapping_add(a.abs_diff(b))
}

/// `mul.hi.u32`.
#[inline]
pub fn mul_hi_u32(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// `mul.hi.s32`.
#[inline]
pub fn mul_hi_s32(a: i32, b: i32) -> i32 {
    ((i64::from(a) * i64::from(b)) >> 32) as i32
}

/// `mul.hi.u64`.
#[inline]
pub fn mul_hi_u64(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// `mul.hi.s64`.
#[inline]
pub fn mul_hi_s64(a: i64, b: i64) -> i64 {
    ((i128::from(a) * i128::from(b)) >> 64) as i64
}

/// The 48-bit product of the low 24 bits of two registers.
#[inline]
fn product24(a: u32, b: u32, signed: bool) -> i64 {
    i64::from(lane(a, 0, 24, signed)) * i64::from(lane(b, 0, 24, signed))
}

/// `mul24`: bits 0 to 31 of the product, or 16 to 47 for `.hi`. `mad24` adds to it, modulo 2^32.
#[inline]
pub fn mul24(a: u32, b: u32, signed: bool, high: bool) -> u32 {
    (product24(a, b, signed) >> if high { 16 } else { 0 }) as u32
}

/// `szext`: `a` extended from its low `count` bits. `.clamp` stops at 32, `.wrap` counts modulo 32.
#[inline]
pub fn szext(a: u32, count: u32, signed: bool, wrap: bool) -> u32 {
    match funnel_count(count, wrap) {
        0 => 0,
        count => {
            let high = a << (32 - count);
            if signed { (high as i32 >> (32 - count)) as u32 } else { high >> (32 - count) }
        }
    }
}

/// `bmsk.b32`: `count` ones from `position` on.
#[inline]
pub fn bmsk(position: u32, count: u32, wrap: bool) -> u32 {
    let (position, count) = (funnel_count(position, wrap), funnel_count(count, wrap));
    shl32(shl32(1, count).wrapping_sub(1), position)
}
