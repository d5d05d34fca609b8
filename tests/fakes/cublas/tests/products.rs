//! Both libraries, loaded as programs load them, on the stand-in driver through the device layer of the program.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "calls functions of C libraries that are found by name")]

use std::collections::BTreeMap;
use std::ffi::{CString, c_int, c_uint, c_void};
use std::process::Command;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use half::{bf16, f16};
use stage::{CUBLAS, CUBLAS_LT, Stage, said, tell};
use warpscope_kernels::cuda::{Cap, Cuda, CudaMachine};
use warpscope_kernels::gpu::{BufferId, Machine};
use warpscope_kernels::{nearest_bf16, nearest_f16};

type Pointer = *mut c_void;

/// Formats by their numbers in `library_types.h`.
const F32: c_uint = 0;
const F16: c_uint = 2;
const I8: c_uint = 3;
const I32: c_uint = 10;
const BF16: c_uint = 14;
const E4M3: c_uint = 28;
/// What is computed in, by `cublas_api.h`.
const IN_F16: c_uint = 64;
const IN_F32: c_uint = 68;
const IN_I32: c_uint = 72;

/// A library, by its name on the loader's path.
struct Library(Pointer);

impl Library {
    /// The library of this name, or of this name and the next major version.
    fn open(name: &str) -> Self {
        for name in [name.to_owned(), name.replace(".12", ".13")] {
            let name = CString::new(name).expect("a name");
            // SAFETY: the stand-ins run nothing when they are loaded.
            let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
            if !library.is_null() {
                return Self(library);
            }
        }
        panic!("{name} is on the stage");
    }

    /// # Safety
    ///
    /// `F` is the type of the function.
    unsafe fn function<F: Copy>(&self, name: &str) -> F {
        let text = CString::new(name).expect("a name");
        // SAFETY: the library is open.
        let found = unsafe { libc::dlsym(self.0, text.as_ptr()) };
        assert!(!found.is_null(), "{name}");
        assert_eq!(size_of::<F>(), size_of::<Pointer>());
        // SAFETY: by the contract; a function is an address.
        unsafe { std::mem::transmute_copy(&found) }
    }
}

type Create = unsafe extern "C" fn(*mut Pointer) -> c_uint;
type SetStream = unsafe extern "C" fn(Pointer, Pointer) -> c_uint;
type GetVersion = unsafe extern "C" fn(Pointer, *mut c_int) -> c_uint;
#[rustfmt::skip]
type GemmEx = unsafe extern "C" fn(
    Pointer, c_uint, c_uint, c_int, c_int, c_int, Pointer, u64, c_uint, c_int, u64, c_uint, c_int, Pointer, u64, c_uint, c_int,
    c_uint, c_int,
) -> c_uint;
type DescribeProduct = unsafe extern "C" fn(*mut Pointer, c_uint, c_uint) -> c_uint;
type SetAttribute = unsafe extern "C" fn(Pointer, c_uint, Pointer, usize) -> c_uint;
type DescribeMatrix = unsafe extern "C" fn(*mut Pointer, c_uint, u64, u64, i64) -> c_uint;
#[rustfmt::skip]
type Guess = unsafe extern "C" fn(
    Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, c_int, *mut [u64; 12], *mut c_int,
) -> c_uint;
#[rustfmt::skip]
type Matmul = unsafe extern "C" fn(
    Pointer, Pointer, Pointer, u64, Pointer, u64, Pointer, Pointer, u64, Pointer, u64, Pointer, *const [u64; 12], Pointer, usize,
    Pointer,
) -> c_uint;

/// A call: its name here, whether through cuBLASLt, format of A and B and of C, compute type, m, n, k.
type Call = (&'static str, bool, c_uint, c_uint, c_uint, [u32; 3]);

const CALLS: &[Call] = &[
    ("half", false, F16, F16, IN_F32, [64, 64, 64]),
    ("half in half", false, F16, F16, IN_F16, [64, 8, 16]),
    ("half to float", false, F16, F32, IN_F32, [7, 5, 3]),
    ("brain", false, BF16, BF16, IN_F32, [64, 64, 64]),
    ("float", false, F32, F32, IN_F32, [33, 17, 9]),
    ("bytes of 16", false, I8, I32, IN_I32, [64, 64, 64]),
    ("bytes of 4", false, I8, I32, IN_I32, [20, 20, 20]),
    ("bytes of 1", false, I8, I32, IN_I32, [21, 21, 21]),
    ("lt half", true, F16, F16, IN_F32, [64, 64, 64]),
    ("lt bytes", true, I8, I32, IN_I32, [64, 64, 64]),
    ("lt eight", true, E4M3, BF16, IN_F32, [64, 64, 64]),
    ("lt eight askew", true, E4M3, BF16, IN_F32, [64, 64, 24]),
];

/// The call that failed for users of Latte. As many multiplications as it takes, it is done once.
const LATTE: Call = ("latte", false, F16, F16, IN_F32, [4096, 120, 4096]);

/// A number that every format holds.
fn number(row: u32, column: u32) -> i32 {
    (row * 5 + column * 3) as i32 % 4 - 1
}

fn bytes_of(kind: c_uint) -> usize {
    match kind {
        F32 | I32 => 4,
        F16 | BF16 => 2,
        _ => 1,
    }
}

fn encoded(kind: c_uint, value: i32) -> Vec<u8> {
    match kind {
        F32 => (value as f32).to_le_bytes().to_vec(),
        F16 => f16::from_f32(value as f32).to_le_bytes().to_vec(),
        BF16 => bf16::from_f32(value as f32).to_le_bytes().to_vec(),
        I8 => vec![value as i8 as u8],
        E4M3 => vec![match value {
            -1 => 0xb8,
            1 => 0x38,
            2 => 0x40,
            _ => 0,
        }],
        _ => unreachable!("no operand has it"),
    }
}

fn decoded(kind: c_uint, raw: &[u8]) -> f64 {
    match (kind, raw) {
        (F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).into(),
        (I32, &[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]).into(),
        (F16, &[a, b]) => f16::from_le_bytes([a, b]).into(),
        (BF16, &[a, b]) => bf16::from_le_bytes([a, b]).into(),
        _ => f64::NAN,
    }
}

/// Columns of an operand, k long each.
fn operand(machine: &mut CudaMachine, kind: c_uint, columns: u32, k: u32) -> BufferId {
    let table: BTreeMap<i32, Vec<u8>> =
        (-1..3).map(|value| (value, encoded(kind, value))).collect();
    let values = (0..columns).flat_map(|column| (0..k).map(move |row| number(row, column)));
    let bytes: Vec<u8> = values.flat_map(|value| table[&value].iter().copied()).collect();
    let buffer = machine.allocate(bytes.len() as u64).expect("room");
    machine.write(buffer.into(), &bytes).expect("a copy");
    buffer
}

/// The libraries with a handle of each.
struct Both {
    blas: Library,
    handle: Pointer,
    lt: Library,
    lt_handle: Pointer,
}

impl Both {
    fn open(machine: &CudaMachine) -> Result<Self, c_uint> {
        let (blas, lt) = (Library::open(CUBLAS), Library::open(CUBLAS_LT));
        let (mut handle, mut lt_handle) = (null_mut(), null_mut());
        // SAFETY: these are the functions' types; the places are written.
        unsafe {
            let codes = [
                blas.function::<Create>("cublasCreate_v2")(&raw mut handle),
                lt.function::<Create>("cublasLtCreate")(&raw mut lt_handle),
            ];
            if codes != [0, 0] {
                return Err(codes[0]);
            }
            let set = blas.function::<SetStream>("cublasSetStream_v2");
            assert_eq!(set(handle, machine.stream_pointer()), 0);
            let mut version = 0;
            let get = blas.function::<GetVersion>("cublasGetVersion_v2");
            assert_eq!(get(handle, &raw mut version), 0);
            tell(format_args!("version: {version}"));
        }
        Ok(Self { blas, handle, lt, lt_handle })
    }

    /// # Safety
    ///
    /// The places are of memory that is large enough.
    unsafe fn gemm_ex(&self, call: &Call, places: [u64; 3]) -> c_uint {
        let (_, _, from, to, compute, [m, n, k]) = *call;
        let [m, n, k] = [m, n, k].map(|size| size as c_int);
        let ([a, b, c], one, zero) = (places, scale(compute, 1), scale(compute, 0));
        let (one, zero) = (one.as_ptr().cast_mut().cast(), zero.as_ptr().cast_mut().cast());
        // SAFETY: by the contract.
        unsafe {
            let gemm = self.blas.function::<GemmEx>("cublasGemmEx");
            gemm(
                self.handle,
                1,
                0,
                m,
                n,
                k,
                one,
                a,
                from,
                k,
                b,
                from,
                k,
                zero,
                c,
                to,
                m,
                compute,
                99,
            )
        }
    }

    /// # Safety
    ///
    /// As `gemm_ex`.
    unsafe fn matmul(&self, call: &Call, places: [u64; 3], stream: Pointer) -> c_uint {
        let (_, _, from, to, compute, [m, n, k]) = *call;
        let ([a, b, c], one, zero) = (places, scale(compute, 1), scale(compute, 0));
        let (one, zero) = (one.as_ptr().cast_mut().cast(), zero.as_ptr().cast_mut().cast());
        let [mut it, mut of_a, mut of_b, mut of_c, mut wish] = [null_mut(); 5];
        let scale = if compute == IN_I32 { I32 } else { F32 };
        let mut transposed = 1_u32;
        let (mut best, mut found) = ([0; 12], 0);
        // SAFETY: these are the functions' types; what they write is large enough.
        unsafe {
            let describe = self.lt.function::<DescribeMatrix>("cublasLtMatrixLayoutCreate");
            let made = [
                self.lt.function::<DescribeProduct>("cublasLtMatmulDescCreate")(
                    &raw mut it,
                    compute,
                    scale,
                ),
                self.lt.function::<SetAttribute>("cublasLtMatmulDescSetAttribute")(
                    it,
                    3,
                    (&raw mut transposed).cast(),
                    4,
                ),
                describe(&raw mut of_a, from, k.into(), m.into(), k.into()),
                describe(&raw mut of_b, from, k.into(), n.into(), k.into()),
                describe(&raw mut of_c, to, m.into(), n.into(), m.into()),
                self.lt.function::<Create>("cublasLtMatmulPreferenceCreate")(&raw mut wish),
            ];
            assert_eq!(made, [0; 6]);
            let guess = self.lt.function::<Guess>("cublasLtMatmulAlgoGetHeuristic");
            let code = guess(
                self.lt_handle,
                it,
                of_a,
                of_b,
                of_c,
                of_c,
                wish,
                1,
                &raw mut best,
                &raw mut found,
            );
            assert_eq!(found, c_int::from(code == 0), "as many ways as the answer says");
            if code != 0 {
                return code;
            }
            let matmul = self.lt.function::<Matmul>("cublasLtMatmul");
            let (handle, best) = (self.lt_handle, &raw const best);
            matmul(
                handle,
                it,
                one,
                a,
                of_a,
                b,
                of_b,
                zero,
                c,
                of_c,
                c,
                of_c,
                best,
                null_mut(),
                0,
                stream,
            )
        }
    }
}

/// A number in the format of alpha and beta.
fn scale(compute: c_uint, value: i32) -> Vec<u8> {
    match compute {
        IN_I32 => value.to_le_bytes().to_vec(),
        IN_F16 => encoded(F16, value),
        _ => encoded(F32, value),
    }
}

/// Whether the result is what integers give, each rounded to the format.
fn is_right(machine: &mut CudaMachine, call: &Call, result: BufferId) -> bool {
    let (_, _, _, to, _, [m, n, k]) = *call;
    let size = bytes_of(to);
    let mut raw = vec![0; m as usize * n as usize * size];
    machine.read(result.into(), &mut raw).expect("a copy");
    // Each column is one of four, and so is each row.
    let sum = |row: u32, column: u32| {
        (0..k).map(|term| number(term, row) * number(term, column)).sum::<i32>()
    };
    let sums: Vec<i32> = (0..16).map(|at| sum(at % 4, at / 4)).collect();
    raw.chunks_exact(size).enumerate().all(|(at, raw)| {
        let (row, column) = (at as u32 % m, at as u32 / m);
        let want = f64::from(sums[(row % 4 + column % 4 * 4) as usize]);
        let want = match to {
            F16 => nearest_f16(want).into(),
            BF16 => nearest_bf16(want).into(),
            _ => want,
        };
        decoded(to, raw).to_bits() == want.to_bits()
    })
}

fn run(machine: &mut CudaMachine, both: &Both, call: &Call) -> String {
    let (_, lt, from, to, _, [m, n, k]) = *call;
    let (a, b) = (operand(machine, from, m, k), operand(machine, from, n, k));
    let c = machine.allocate(u64::from(m * n) * bytes_of(to) as u64).expect("room");
    let places = [a, b, c].map(|buffer| machine.address(buffer).expect("an address"));
    // SAFETY: the buffers are as large as the call says.
    let code = unsafe {
        if lt {
            both.matmul(call, places, machine.stream_pointer())
        } else {
            both.gemm_ex(call, places)
        }
    };
    let told = match (code, machine.wait()) {
        (0, Ok(())) if is_right(machine, call, c) => "right".to_owned(),
        (0, Ok(())) => "wrong".to_owned(),
        (code, Ok(())) => code.to_string(),
        (_, Err(error)) => error.to_string(),
    };
    for buffer in [a, b, c] {
        machine.free(buffer).expect("it was taken");
    }
    told
}

/// Not a test of its own: what the others start on their stages.
#[test]
#[ignore = "started by the other tests on a stage"]
fn on_stage() {
    let cuda = Cuda::open().expect("the stand-in");
    let uuid = cuda.devices().expect("a device").swap_remove(0).0;
    let cap = Cap { arena_bytes: 1 << 30, stop: Arc::new(AtomicBool::new(false)) };
    let mut machine = cuda.machine(&uuid, cap).expect("a context");
    match Both::open(&machine) {
        Err(code) => tell(format_args!("handle: {code}")),
        Ok(both) => {
            let latte = std::env::var_os("STAGE_LATTE").map(|_| &LATTE);
            for call in CALLS.iter().chain(latte) {
                tell(format_args!("{}: {}", call.0, run(&mut machine, &both, call)));
                if machine.ended().is_some() {
                    break;
                }
            }
        }
    }
}

/// Functions of the driver that take one handle and give another, or a mode.
type Handle2 = unsafe extern "C" fn(Pointer, *mut Pointer) -> c_uint;
type BeginCapture = unsafe extern "C" fn(Pointer, c_uint) -> c_uint;
type Instantiate = unsafe extern "C" fn(*mut Pointer, Pointer, u64) -> c_uint;
type LaunchGraph = unsafe extern "C" fn(Pointer, Pointer) -> c_uint;

/// Not a test of its own: a product that is captured, and done when the graph is launched.
#[test]
#[ignore = "started by the other tests on a stage"]
fn captured_on_stage() {
    let cuda = Cuda::open().expect("the stand-in");
    let uuid = cuda.devices().expect("a device").swap_remove(0).0;
    let cap = Cap { arena_bytes: 1 << 30, stop: Arc::new(AtomicBool::new(false)) };
    let mut machine = cuda.machine(&uuid, cap).expect("a context");
    let both = Both::open(&machine).expect("handles");
    let call = &CALLS[0];
    let (_, _, from, to, _, [m, n, k]) = *call;
    let (a, b) = (operand(&mut machine, from, m, k), operand(&mut machine, from, n, k));
    let c = machine.allocate(u64::from(m * n) * bytes_of(to) as u64).expect("room");
    let places = [a, b, c].map(|buffer| machine.address(buffer).expect("an address"));
    let driver = Library::open(stage::CUDA);
    let stream = machine.stream_pointer();
    let (mut graph, mut ready) = (null_mut(), null_mut());
    // SAFETY: these are the functions' types; handles are alive, places are written, buffers large enough.
    let codes = unsafe {
        [
            driver.function::<BeginCapture>("cuStreamBeginCapture_v2")(stream, 1),
            both.gemm_ex(call, places),
            driver.function::<Handle2>("cuStreamEndCapture")(stream, &raw mut graph),
            driver.function::<Instantiate>("cuGraphInstantiateWithFlags")(&raw mut ready, graph, 0),
        ]
    };
    tell(format_args!("codes: {codes:?}"));
    tell(format_args!("captured: {}", is_right(&mut machine, call, c)));
    // SAFETY: likewise.
    let launched = unsafe { driver.function::<LaunchGraph>("cuGraphLaunch")(ready, stream) };
    machine.wait().expect("it ran");
    tell(format_args!("launched: {launched} {}", is_right(&mut machine, call, c)));
}

#[test]
fn a_product_that_is_captured_is_done_when_its_graph_is_launched() {
    let told = told(&mut Stage::new("h200").again("captured_on_stage"));
    let of = |name: &str| told[name].as_str();
    assert_eq!((of("codes"), of("captured"), of("launched")), ("[0, 0, 0, 0]", "false", "0 true"));
}

fn play(stage: &Stage) -> BTreeMap<String, String> {
    told(&mut stage.again("on_stage"))
}

fn told(command: &mut Command) -> BTreeMap<String, String> {
    let output = command.output().expect("the test binary starts");
    let lines = said(&output).into_iter();
    let pair =
        |line: String| line.split_once(": ").map(|(name, told)| (name.to_owned(), told.to_owned()));
    let told: BTreeMap<String, String> = lines.filter_map(pair).collect();
    assert!(!told.is_empty(), "{output:?}");
    told
}

/// What refuses where; everything else must be right.
#[test]
fn products_are_right_or_refused_by_device() {
    const ALL: &[(&str, &[(&str, &str)])] = &[
        (
            "p100",
            &[
                ("brain", "15"),
                ("bytes of 16", "8"),
                ("bytes of 4", "8"),
                ("bytes of 1", "8"),
                ("lt bytes", "8"),
                ("lt eight", "15"),
            ],
        ),
        ("gtx1060", &[("brain", "15"), ("bytes of 1", "15"), ("lt eight", "15")]),
        ("v100", &[("bytes of 1", "15"), ("lt eight", "15")]),
        ("t4", &[("bytes of 1", "15"), ("lt eight", "15")]),
        ("rtx4090", &[("bytes of 1", "15")]),
        ("h200", &[("bytes of 1", "15")]),
        ("rtx5090", &[("bytes of 1", "15"), ("bytes of 4", "15")]),
    ];
    for (board, refused) in ALL {
        let told = play(&Stage::new(board));
        assert_eq!(told["version"], "120804");
        for call in CALLS {
            let name = call.0;
            let refused = refused.iter().find(|refused| refused.0 == name).map(|refused| refused.1);
            let want = if name == "lt eight askew" { "15" } else { refused.unwrap_or("right") };
            assert_eq!(told[name], want, "{board} {name}");
        }
    }
}

#[test]
fn a_library_for_newer_devices_or_drivers_gives_no_handle() {
    let told = |board, driver, version| play(&Stage::new(board).driver(driver).cublas(version));
    assert_eq!(told("v100", 13000, "version:13.0")["handle"], "8");
    assert_eq!(told("t4", 12080, "version:13.0")["handle"], "1");
    assert_eq!(told("t4", 13000, "version:13.0")["version"], "130000");
}

/// The combination is one of the guide's table, whatever the device, so that it fails elsewhere says something of the install.
#[test]
fn the_call_of_latte_works_on_a_2080_ti_like_device() {
    let stage = Stage::new("t4");
    assert_eq!(told(stage.again("on_stage").env("STAGE_LATTE", "1"))["latte"], "right");
}

#[test]
fn calls_fail_as_the_scenario_says() {
    let told = play(
        &Stage::new("h200").cublas("latte+cublasLtMatmul/16f=13+cublasGemmEx/16bf@64x64x64=14"),
    );
    for (name, want) in [
        ("half", "15"),
        ("brain", "14"),
        ("float", "right"),
        ("lt half", "13"),
        ("lt eight", "right"),
    ] {
        assert_eq!(told[name], want, "{name}");
    }
}

#[test]
fn a_board_that_dies_under_a_product_ends_the_context() {
    let told = play(&Stage::new("t4").fault("ecc"));
    assert_eq!(told["half"], "cuStreamSynchronize returned 214 (CUDA_ERROR_ECC_UNCORRECTABLE)");
}
