//! Products of warpgroups, against matrices laid out by hand as PTX ISA 8.8 has them: 9.7.15.5.1 for fragments and shared memory.

use ptx_interpreter::{Fault, FaultKind, Limits, Memory, Module, launch};

use crate::small::floats::{bf16, e4m3, f16};

/// Bytes of shared memory a test fills.
const SHARED: usize = 48 << 10;
/// Where B begins in it.
const B_AT: usize = 16 << 10;

/// How the kernel multiplies.
#[derive(Clone, Copy)]
struct Product<'a> {
    /// `m64n64k16.f32.f16.f16`
    name: &'a str,
    columns: usize,
    /// Accumulators of a lane.
    registers: usize,
    /// Descriptors of A and B, and what is added to both for each step of the depth.
    a: u64,
    b: u64,
    step: u64,
    steps: usize,
    /// What stands behind the descriptor of B but whether to add.
    immediates: &'a str,
    /// What the accumulators begin with, and whether it is added.
    begin: &'a str,
    adds: &'a str,
    a_in_registers: bool,
    negated: bool,
}

impl Product<'_> {
    fn list(&self, prefix: &str, count: usize) -> String {
        let names: Vec<String> = (0..count).map(|index| format!("{prefix}{index}")).collect();
        names.join(", ")
    }

    /// The instructions that multiply.
    fn products(&self) -> String {
        let d = self.list("%d", self.registers);
        let one = |step: usize| {
            let advance = self.step * step as u64;
            let a = if self.a_in_registers {
                format!("{{{}}}", self.list("%a", 4))
            } else {
                format!("0x{:x}", self.a + advance)
            };
            let b = self.b + advance;
            let adds = if step == 0 { self.adds } else { "1" };
            let Self { name, immediates, .. } = self;
            format!(
                "wgmma.mma_async.sync.aligned.{name} {{{d}}}, {a}, 0x{b:x}, {adds}{immediates};\n"
            )
        };
        (0..self.steps).map(one).collect()
    }

    /// A kernel of 128 threads: what is in memory at `in` goes to shared memory, four words behind it of each thread to `%a`; the accumulators go to `out`.
    fn text(&self) -> String {
        let (registers, begin) = (self.registers, self.begin);
        let set: String = (0..registers).map(|d| format!("mov.b32 %d{d}, {begin};\n")).collect();
        let give: String =
            (0..registers).map(|d| format!("st.global.b32 [%rd3+{}], %d{d};\n", 4 * d)).collect();
        let products = self.products();
        format!(
            ".version 8.4\n.target sm_90a\n.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{{
    .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b32 %d<{registers}>; .reg .b32 %a<4>; .reg .b64 %rd<10>;
    .shared .align 1024 .b8 tile[{SHARED}];
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, {};
    mul.wide.u32 %rd3, %r2, 1;
    add.u64 %rd3, %rd1, %rd3;
    shl.b32 %r3, %r1, 4;
    mov.u32 %r4, tile;
    FILL: cvt.u64.u32 %rd4, %r3; add.u64 %rd4, %rd4, %rd2;
    ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%rd4];
    add.u32 %r9, %r4, %r3;
    st.shared.v4.u32 [%r9], {{%r5, %r6, %r7, %r8}};
    add.u32 %r3, %r3, 2048; setp.lt.u32 %p1, %r3, {SHARED}; @%p1 bra FILL;
    cvt.u64.u32 %rd4, %r3; add.u64 %rd4, %rd4, %rd2;
    ld.global.v4.u32 {{%a0, %a1, %a2, %a3}}, [%rd4];
    fence.proxy.async.shared::cta;
    bar.sync 0;
    {set}
    wgmma.fence.sync.aligned;
    {products}
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    {give}
    ret;
}}
",
            4 * registers
        )
    }

    /// The accumulators, `registers` words a thread.
    fn run(&self, shared: &[u8], fragments: &[u8]) -> Result<Vec<u32>, Fault> {
        run(&self.text(), &[shared, fragments].concat(), 128 * self.registers)
    }
}

fn run(text: &str, input: &[u8], words: usize) -> Result<Vec<u32>, Fault> {
    let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut memory = Memory::default();
    let (out, place) =
        (memory.allocate(4 * words), memory.allocate(input.len().max(SHARED + 2048)));
    memory.bytes_mut(place, input.len()).expect("is allocated").copy_from_slice(input);
    let params = [out.to_le_bytes(), place.to_le_bytes()].concat();
    let limits = Limits { instructions: 1 << 20, ..Limits::default() };
    launch(&module, "k", [1; 3], [128, 1, 1], 0, &params, &mut memory, limits)?;
    let bytes = memory.bytes(out, 4 * words).expect("is allocated");
    Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// Numbers that every format here has, and whose sums are exact.
fn small(row: usize, k: usize, salt: usize) -> i32 {
    ((row * 31 + k * 17 + salt * 7 + row * k) % 7) as i32 - 3
}

/// The product of small numbers at a place of D, over so much depth.
fn expected(row: usize, column: usize, depth: usize) -> i32 {
    (0..depth).map(|k| small(row, k, 1) * small(column, k, 2)).sum()
}

/// PTX ISA, figure "WGMMA .m64nNk16 register fragment layout for accumulator matrix D": row and column of a thread's element.
fn place_of(thread: usize, element: usize) -> (usize, usize) {
    let (warp, lane) = (thread / 32, thread % 32);
    let row = 16 * warp + lane / 4 + if element % 4 < 2 { 0 } else { 8 };
    (row, element / 4 * 8 + lane % 4 * 2 + element % 2)
}

/// A matrix of `rows` × `depth` bytes-wide elements in shared memory from byte `at` on: `byte` says where the bytes of an element begin.
struct Layout<'a> {
    rows: usize,
    depth: usize,
    salt: usize,
    at: usize,
    bits: &'a dyn Fn(i32) -> Vec<u8>,
    byte: &'a dyn Fn(usize, usize) -> usize,
}

impl Layout<'_> {
    fn put(&self, shared: &mut [u8]) {
        for (row, k) in (0..self.rows).flat_map(|row| (0..self.depth).map(move |k| (row, k))) {
            let bytes = (self.bits)(small(row, k, self.salt));
            let at = self.at + (self.byte)(row, k);
            shared[at..at + bytes.len()].copy_from_slice(&bytes);
        }
    }
}

/// Rows of `span` bytes whose parts of 16 bytes change places by the row: bits 4 and up of the byte within eight rows by bits 7 and up.
fn rows_swizzled(span: usize, bytes: usize) -> impl Fn(usize, usize) -> usize {
    move |row, k| {
        let plain = row * span + k * bytes;
        let mask = span / 16 - 1;
        plain ^ (((plain / 128) & mask) * 16)
    }
}

/// A descriptor: start, leading and stride offsets in bytes, and the mode of the swizzle.
fn descriptor(at: usize, leading: usize, stride: usize, mode: u64) -> u64 {
    let field = |bytes: usize| (bytes as u64 >> 4) & 0x3fff;
    field(at) | field(leading) << 16 | field(stride) << 32 | mode << 62
}

const PLAIN: Product<'static> = Product {
    name: "m64n64k16.f32.f16.f16",
    columns: 64,
    registers: 32,
    a: 0,
    b: 0,
    step: 2,
    steps: 1,
    immediates: ", 1, 1, 0, 0",
    begin: "0",
    adds: "1",
    a_in_registers: false,
    negated: false,
};

fn half(value: i32) -> Vec<u8> {
    f16(value as f32).to_le_bytes().to_vec()
}

/// Checks 32-bit accumulators; `of` makes bits of what is expected.
fn check(product: &Product<'_>, shared: &[u8], depth: usize, of: impl Fn(i32) -> u32) {
    let words =
        product.run(shared, &[]).unwrap_or_else(|fault| panic!("{}: {fault}", product.name));
    for (index, word) in words.iter().enumerate() {
        let (row, column) = place_of(index / product.registers, index % product.registers);
        assert!(column < product.columns);
        let sum = expected(row, column, depth);
        let sum = if product.negated { -sum } else { sum };
        assert_eq!(*word, of(sum), "{} row {row} column {column}", product.name);
    }
}

fn float(value: i32) -> u32 {
    (value as f32).to_bits()
}

#[test]
fn rows_of_128_swizzled_bytes_are_multiplied_step_by_step() {
    for (name, columns, bytes, bits) in [
        ("m64n64k16.f32.f16.f16", 64, 2, &half as &dyn Fn(i32) -> Vec<u8>),
        ("m64n128k16.f32.bf16.bf16", 128, 2, &|value| bf16(value as f32).to_le_bytes().to_vec()),
        ("m64n256k16.f32.f16.f16", 256, 2, &half),
        ("m64n8k16.f32.f16.f16", 8, 2, &half),
        ("m64n96k32.f32.e4m3.e4m3", 96, 1, &|value| vec![e4m3(value as f32)]),
    ] {
        let depth = 128 / bytes;
        let immediates = if bytes == 2 { ", 1, 1, 0, 0" } else { ", 1, 1" };
        let layout = rows_swizzled(128, bytes);
        let mut shared = vec![0; SHARED];
        Layout { rows: 64, depth, salt: 1, at: 0, bits, byte: &layout }.put(&mut shared);
        Layout { rows: columns.min(256), depth, salt: 2, at: B_AT, bits, byte: &layout }
            .put(&mut shared);
        let product = Product {
            name,
            columns,
            registers: columns / 2,
            a: descriptor(0, 16, 1024, 1),
            b: descriptor(B_AT, 16, 1024, 1),
            steps: 4,
            immediates,
            ..PLAIN
        };
        check(&product, &shared, depth, float);
        // What is in the accumulators is added, or thrown away.
        let begun = Product { begin: "0f40A00000", ..product };
        check(&begun, &shared, depth, |sum| float(sum + 5));
        let fresh = Product { adds: "0", ..begun };
        check(&fresh, &shared, depth, float);
        let negative = immediates.replacen("1, 1", "1, -1", 1);
        check(&Product { immediates: &negative, negated: true, ..product }, &shared, depth, float);
    }
}

#[test]
fn integers_wrap_and_have_no_immediates() {
    let layout = rows_swizzled(128, 1);
    let bits = |value: i32| vec![value as u8];
    let mut shared = vec![0; SHARED];
    Layout { rows: 64, depth: 128, salt: 1, at: 0, bits: &bits, byte: &layout }.put(&mut shared);
    Layout { rows: 128, depth: 128, salt: 2, at: B_AT, bits: &bits, byte: &layout }
        .put(&mut shared);
    let (a, b) = (descriptor(0, 16, 1024, 1), descriptor(B_AT, 16, 1024, 1));
    let product = Product {
        name: "m64n128k32.s32.s8.s8",
        columns: 128,
        registers: 64,
        a,
        b,
        steps: 4,
        immediates: "",
        ..PLAIN
    };
    check(&product, &shared, 128, |sum| sum as u32);
    let begun = Product { begin: "0x7fffffff", ..product };
    check(&begun, &shared, 128, |sum| i32::MAX.wrapping_add(sum) as u32);
}

#[test]
fn narrower_swizzles_and_none_have_their_own_layouts() {
    for (span, mode) in [(64, 2), (32, 3)] {
        let layout = rows_swizzled(span, 2);
        let (a, b) = (descriptor(0, 16, 8 * span, mode), descriptor(B_AT, 16, 8 * span, mode));
        let mut shared = vec![0; SHARED];
        let depth = span / 2;
        Layout { rows: 64, depth, salt: 1, at: 0, bits: &half, byte: &layout }.put(&mut shared);
        Layout { rows: 64, depth, salt: 2, at: B_AT, bits: &half, byte: &layout }.put(&mut shared);
        check(&Product { a, b, steps: depth / 16, ..PLAIN }, &shared, depth, float);
    }
    // Tiles of eight rows by 16 bytes: leading is the way to the next along the depth, stride to the next eight rows.
    let (leading, stride) = (144, 512);
    let tiles =
        |row: usize, k: usize| row % 8 * 16 + row / 8 * stride + k / 8 * leading + k % 8 * 2;
    let mut shared = vec![0; SHARED];
    Layout { rows: 64, depth: 16, salt: 1, at: 0, bits: &half, byte: &tiles }.put(&mut shared);
    Layout { rows: 64, depth: 16, salt: 2, at: B_AT, bits: &half, byte: &tiles }.put(&mut shared);
    let (a, b) = (descriptor(0, leading, stride, 0), descriptor(B_AT, leading, stride, 0));
    check(&Product { a, b, ..PLAIN }, &shared, 16, float);
}

/// Transposed: rows of memory are depths, of 64 swizzled numbers; leading is the way to the next 64, stride to the next eight depths.
#[test]
fn matrices_of_16_bits_may_be_transposed() {
    let (leading, stride) = (4096, 1024);
    let turned = |row: usize, k: usize| {
        row / 64 * leading
            + k / 8 * stride
            + k % 8 * 128
            + ((row / 8 % 8) ^ (k % 8)) * 16
            + row % 8 * 2
    };
    let deep = rows_swizzled(128, 2);
    let (a_deep, a_turned) = (descriptor(0, 16, 1024, 1), descriptor(0, leading, stride, 1));
    let (b_deep, b_turned) = (descriptor(B_AT, 16, 1024, 1), descriptor(B_AT, leading, stride, 1));
    for (turn_a, turn_b) in [(false, true), (true, false), (true, true)] {
        let mut shared = vec![0; SHARED];
        let mut put = |rows, salt, at, turn: bool| {
            let byte: &dyn Fn(usize, usize) -> usize = if turn { &turned } else { &deep };
            Layout { rows, depth: 16, salt, at, bits: &half, byte }.put(&mut shared);
        };
        put(64, 1, 0, turn_a);
        put(128, 2, B_AT, turn_b);
        let immediates = format!(", 1, 1, {}, {}", u8::from(turn_a), u8::from(turn_b));
        let product = Product {
            name: "m64n128k16.f32.f16.f16",
            columns: 128,
            registers: 64,
            a: if turn_a { a_turned } else { a_deep },
            b: if turn_b { b_turned } else { b_deep },
            immediates: &immediates,
            ..PLAIN
        };
        check(&product, &shared, 16, float);
    }
}

/// PTX ISA, figure "WGMMA .m64nNk16 register fragment layout for matrix A": the first two registers have depths 2·(lane mod 4) and the next, of row
/// lane / 4 and of eight rows further; the last two the same eight depths further.
#[test]
fn a_may_be_in_registers() {
    let mut shared = vec![0; SHARED];
    let layout = rows_swizzled(128, 2);
    Layout { rows: 64, depth: 16, salt: 2, at: B_AT, bits: &half, byte: &layout }.put(&mut shared);
    let mut fragments = Vec::new();
    for (thread, register) in
        (0..128).flat_map(|thread| (0..4).map(move |register| (thread, register)))
    {
        let row = thread / 32 * 16 + thread % 32 / 4 + 8 * (register % 2);
        let k = thread % 4 * 2 + 8 * (register / 2);
        fragments.extend([half(small(row, k, 1)), half(small(row, k + 1, 1))].concat());
    }
    let b = descriptor(B_AT, 16, 1024, 1);
    let product = Product { b, a_in_registers: true, immediates: ", 1, 1, 0", ..PLAIN };
    let words = product.run(&shared, &fragments).unwrap();
    for (index, word) in words.iter().enumerate() {
        let (row, column) = place_of(index / 32, index % 32);
        assert_eq!(*word, float(expected(row, column, 16)), "row {row} column {column}");
    }
}

#[test]
fn accumulators_of_16_bits_share_registers() {
    let layout = rows_swizzled(128, 2);
    let mut shared = vec![0; SHARED];
    Layout { rows: 64, depth: 16, salt: 1, at: 0, bits: &half, byte: &layout }.put(&mut shared);
    Layout { rows: 64, depth: 16, salt: 2, at: B_AT, bits: &half, byte: &layout }.put(&mut shared);
    let (a, b) = (descriptor(0, 16, 1024, 1), descriptor(B_AT, 16, 1024, 1));
    let product = Product { name: "m64n64k16.f16.f16.f16", registers: 16, a, b, ..PLAIN };
    for (index, word) in product.run(&shared, &[]).unwrap().iter().enumerate() {
        let (row, column) = place_of(index / 16, index % 16 * 2);
        let pair = [column, column + 1].map(|column| f16(expected(row, column, 16) as f32));
        assert_eq!(*word, u32::from(pair[0]) | u32::from(pair[1]) << 16, "{row} {column}");
    }
}

/// What is wrong is a fault, and which.
#[test]
fn what_goes_wrong_is_found() {
    let b = descriptor(B_AT, 16, 1024, 1);
    let product = Product { a: descriptor(0, 16, 1024, 1), b, ..PLAIN };
    let text = product.text();
    let wait = "wgmma.wait_group.sync.aligned 0;";
    let commit = "wgmma.commit_group.sync.aligned;";
    let write =
        "setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.v4.u32 [tile+16384], {%r5, %r6, %r7, %r8};";
    let (early, late) = (format!("{write} {wait}"), format!("{wait} bar.sync 0; {write}"));
    let (fence, lonely) = ("wgmma.fence.sync.aligned;", format!("{wait} {write}"));
    let touched = format!("{fence} mov.b32 %d1, %d0;");
    for (what, from, to, kind) in [
        ("nothing", "", "", None),
        ("no fence of registers", "wgmma.fence.sync.aligned;", "", Some(FaultKind::Race)),
        ("no proxy fence", "fence.proxy.async.shared::cta;", "", Some(FaultKind::Race)),
        ("no barrier", "bar.sync 0;", "", Some(FaultKind::Race)),
        ("no wait", wait, "", Some(FaultKind::InFlight)),
        ("no commit", commit, "", Some(FaultKind::InFlight)),
        (
            "a wait for all groups but one",
            wait,
            "wgmma.wait_group.sync.aligned 1;",
            Some(FaultKind::InFlight),
        ),
        (
            "a register written before the wait",
            wait,
            &format!("mov.b32 %d0, 0; {wait}"),
            Some(FaultKind::InFlight),
        ),
        ("shared memory written before the wait", wait, &early, Some(FaultKind::InFlight)),
        ("shared memory written after wait and barrier", wait, &late, None),
        ("shared memory written while others wait", wait, &lonely, Some(FaultKind::InFlight)),
        ("registers touched after the fence", fence, &touched, Some(FaultKind::Race)),
        (
            "memory nobody wrote",
            &format!("setp.lt.u32 %p1, %r3, {SHARED};"),
            "setp.lt.u32 %p1, %r3, 16384;",
            Some(FaultKind::Uninitialised),
        ),
        (
            "a warp that goes elsewhere",
            "wgmma.fence",
            "setp.lt.u32 %p2, %r1, 32; @%p2 bra END; wgmma.fence",
            Some(FaultKind::Barrier),
        ),
        (
            "lanes that go elsewhere",
            "wgmma.fence",
            "setp.eq.u32 %p2, %r1, 3; @%p2 bra END; wgmma.fence",
            Some(FaultKind::Divergence),
        ),
    ] {
        let text = text
            .replace(from, if from.is_empty() { from } else { to })
            .replace("ret;", "END: ret;");
        let outcome = run(&text, &vec![0; SHARED], 128 * product.registers);
        let kind_found = outcome.as_ref().err().map(|fault| fault.kind);
        assert_eq!(kind_found, kind, "{what}: {:?}", outcome.err());
    }
}

#[test]
fn descriptors_of_nothing_are_found() {
    let good = descriptor(0, 16, 1024, 1);
    for (what, bits, kind) in [
        ("beyond shared memory", descriptor(SHARED, 16, 1024, 1), FaultKind::Bounds),
        ("rows beyond it", descriptor(SHARED - 1024, 16, 1024, 1), FaultKind::Bounds),
        ("unknown bits", good | 1 << 60, FaultKind::Bounds),
        ("a base offset", good | 1 << 49, FaultKind::Bounds),
        ("the middle of a swizzled tile", descriptor(256, 16, 1024, 1), FaultKind::Bounds),
        ("a depth beyond the row", descriptor(112, 16, 1024, 1), FaultKind::Misaligned),
    ] {
        let fault = Product { a: bits, b: good, ..PLAIN }.run(&vec![0; SHARED], &[]).unwrap_err();
        assert_eq!(fault.kind, kind, "{what}: {fault}");
    }
}

#[test]
fn forms_that_do_not_exist_are_refused() {
    for (name, immediates) in [
        ("m64n64k16.f32.f16.bf16", ", 1, 1, 0, 0"),
        ("m64n64k32.f32.f16.f16", ", 1, 1, 0, 0"),
        ("m64n60k16.f32.f16.f16", ", 1, 1, 0, 0"),
        ("m64n264k16.f32.f16.f16", ", 1, 1, 0, 0"),
        ("m64n64k16.f32.f16.f16", ", 1, 2, 0, 0"),
        ("m64n64k16.f32.f16.f16", ", 1, 1"),
        ("m64n64k32.s32.s8.s8", ", 1, 1"),
        ("m64n64k32.f32.e4m3.e4m3", ", 1, 1, 0, 1"),
    ] {
        let text = Product { name, immediates, ..PLAIN }.text();
        assert!(Module::parse(&text).is_err(), "{name}{immediates}");
    }
}
