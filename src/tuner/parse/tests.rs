use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::tuner::{Candidate, Check, Code, JobArgument, Libraries, Numbers};

const GOOD: &str = r#"name = "sum"
source = ["sum.sh", "src/*.c"]
build = ["cc", "-DB={block}", "-o", "{build}/sum", "sum.c"]
run = ["{build}/sum", "{n}", "{dtype}", "{output}"]
dtypes = ["fp32"]
samples = 12
timeout = "1500ms"
early_stop = 1.5
baseline = { block = 64 }

[contract]
kind = "gemv"
reference = ["./reference", "{n}", "{output}"]
output = "f32"
rel = 1e-3

[[shape]]
n = 1024
k = 128

[params]
block = [32, 64]
"#;

#[test]
fn everything_of_a_spec_is_understood() {
    let spec = parse("sum.toml", GOOD).expect("a spec");
    assert_eq!((spec.name.as_str(), spec.kind, spec.samples), ("sum", Kind::Command, 12));
    assert_eq!(spec.timeout, Duration::from_millis(1500));
    assert_eq!(spec.early_stop, Some(1.5));
    assert_eq!(spec.params["block"], ["32", "64"]);
    assert_eq!(spec.baseline.as_ref().map(ToString::to_string), Some("block=64".to_owned()));
    assert_eq!(spec.shapes[0]["k"], "128");
    let Check::Output(_, accuracy, Numbers::F32) = &spec.contract.check else { panic!("{spec:?}") };
    assert_eq!((accuracy.abs, accuracy.rel), (0.0, 1e-3));
}

/// The good spec with one line replaced, what is said of it, and on which line.
#[test]
fn mistakes_are_named_with_their_line() {
    for (from, to, line, part) in [
        ("samples = 12", "sampels = 12", 6, "sampels"),
        ("samples = 12", "samples = 0", 6, "must be 1 to"),
        ("timeout = \"1500ms\"", "timeout = \"soon\"", 7, "10s"),
        ("early_stop = 1.5", "early_stop = 0.5", 8, "1.05"),
        ("baseline = { block = 64 }", "baseline = { block = 65 }", 9, "value of the grid"),
        ("kind = \"gemv\"", "kind = \"gemvv\"", 12, "gemm, gemv"),
        ("rel = 1e-3", "rel = -1", 15, "zero or above"),
        ("rel = 1e-3", "tolerance = 1e-3", 15, "abs and rel"),
        ("block = [32, 64]", "block = []", 22, "no values"),
        ("block = [32, 64]", "block = [32, 32]", 22, "twice"),
        ("block = [32, 64]", "dtype = [32, 64]", 22, "cannot be a parameter"),
        ("\"{n}\", \"{dtype}\", \"{output}\"]", "\"{blok}\", \"{output}\"]", 4, "{blok}"),
        ("\"{dtype}\", \"{output}\"", "\"{dtype}\"", 4, "{output}"),
        (
            "[\"./reference\", \"{n}\", \"{output}\"]",
            "[\"r\", \"{block}\", \"{output}\"]",
            13,
            "{block}",
        ),
        ("\"{build}/sum\", \"{n}\"", "\"./sum\", \"{n}\"", 4, "folder of each candidate"),
        ("\"-DB={block}\"", "\"-DB={n}\"", 3, "{n} has no value"),
        ("run = [", "run = [\"\", ", 4, "empty"),
        ("name = \"sum\"", "name = \"../sum\"", 1, "`name`"),
        ("name = \"sum\"", "", 1, "name"),
        ("name = \"sum\"", "name = \"sum\"; kind = 3", 1, ""),
        ("k = 128", "k = 128\n[[shape]]\nn = 1024", 20, "other sizes"),
        ("n = 1024", "block = 1024", 4, "name of something else"),
        ("output = \"f32\"", "output = \"f16\"", 14, "text, f32 or f64"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = parse("sum.toml", &GOOD.replace(from, to)).expect_err(to);
        assert!(error.message.contains(part), "{to}: {error}");
        assert_eq!(error.line, line, "{to}: {error}");
        assert!(error.to_string().starts_with(&format!("sum.toml:{line}: ")), "{error}");
    }
}

fn small(more: &str) -> Result<Spec, SpecError> {
    parse("s", &format!("name = \"s\"\n{more}"))
}

const KERNEL: &str = r#"
kind = "cu"
source = "k.cu"
entry = "gemv_{dtype}"
options = ["-DROWS={rows}"]
dtypes = ["fp16"]
[contract]
kind = "gemv"
[[shape]]
n = 1000
k = 128
[launch]
grid = ["ceil_div(n, rows)"]
block = [32, "rows"]
shared = "rows * 4"
args = ["w", "x", "y", "n", "k as u64", 0.5]
[params]
rows = [3, 4]
"#;

#[test]
fn the_launch_of_a_kernel_is_worked_out_for_each_candidate() {
    let spec = small(KERNEL).expect("a spec");
    assert_eq!((spec.kind, &spec.contract.check), (Kind::Cuda(Code::Cu), &Check::Format));
    let values = [("n", "1000"), ("k", "128"), ("rows", "3"), ("dtype", "fp16")];
    let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let candidate = Candidate {
        folder: Path::new("/home/me"),
        name: "k",
        work: spec.contract.work,
        dtype: "fp16",
        shape: &spec.shapes[0],
        values: &values,
        samples: 5,
        energy: false,
        device: None,
        libraries: &Libraries::default(),
    };
    let job = spec.cuda.expect("a kernel").job(&candidate).expect("a job");
    assert_eq!((job.grid, job.block, job.shared), ([334, 1, 1], [32, 3, 1], 12));
    assert_eq!(
        (job.entry.as_str(), job.options.as_slice()),
        ("gemv_fp16", &["-DROWS=3".to_owned()][..])
    );
    assert_eq!(job.file, Path::new("/home/me/k.cu"));
    let operand = |name: &str| JobArgument::Operand(name.to_owned());
    let numbers = [JobArgument::U32(1000), JobArgument::U64(128), JobArgument::F32(0.5)];
    assert_eq!(job.arguments[..3], ["w", "x", "y"].map(operand));
    assert_eq!(job.arguments[3..], numbers);
}

#[test]
fn images_are_sources_where_no_build_makes_them() {
    let image = "kind = \"ptx\"\nimage = \"gemv_{rows}_{dtype}.ptx\"\nsource = [\"a.cu\"]";
    let kernel = KERNEL
        .replace("kind = \"cu\"\nsource = \"k.cu\"", image)
        .replace("options = [\"-DROWS={rows}\"]\n", "");
    assert_eq!(small(&kernel).expect("a spec").sources, ["a.cu", "gemv_*_*.ptx"]);
    let built = format!("build = [\"make\", \"{{rows}}\"]\n{kernel}");
    assert_eq!(small(&built).expect("a spec").sources, ["a.cu"]);
}

#[test]
fn what_is_wrong_with_a_kernel_is_named() {
    for (from, to, part) in [
        ("entry = \"gemv_{dtype}\"", "", "`entry` and `[launch]`"),
        ("source = \"k.cu\"", "", "must name one file"),
        ("source = \"k.cu\"", "source = \"k.cu\"\nrun = [\"x\"]", "is launched"),
        ("source = \"k.cu\"", "source = \"k.cu\"\nimage = \"x\"", "ptx and cubin"),
        ("kind = \"cu\"", "kind = \"ptx\"", "compiler of kind"),
        ("kind = \"cu\"", "kind = \"metal\"", "cu, ptx, cubin"),
        ("kind = \"gemv\"", "kind = \"gemv\"\nreference = [\"x\"]", "fp64"),
        ("kind = \"gemv\"", "kind = \"gemm\"", "`a` is not passed"),
        ("k = 128", "", "n, k"),
        ("kind = \"gemv\"", "kind = \"reference\"", "is checked by"),
        ("\"fp16\"", "\"fp8\"", "no operands in fp8"),
        ("n, rows", "n, rowz", "rowz has no value"),
        ("n, rows", "n rows", "expected"),
        ("\"y\", ", "", "`y` is not passed"),
        ("grid = [", "grid = [1, 1, 1, ", "x, y and z"),
        ("-DROWS={rows}", "-DROWS={cols}", "{cols}"),
    ] {
        assert!(KERNEL.contains(from), "{from}");
        let error = small(&KERNEL.replace(from, to)).expect_err(to);
        assert!(error.message.contains(part), "{to}: {error}");
    }
    let error = small("run = [\"x\"]\nentry = \"k\"\n[contract]\nkind = \"gemm\"\ntolerance = 1\n");
    assert!(error.expect_err("no kernel").message.contains("cu, ptx, cubin"));
}

#[test]
fn a_spec_that_cannot_tell_right_from_wrong_is_refused() {
    let error = small("run = [\"x\"]\n[contract]\nkind = \"gemm\"\n").expect_err("no check");
    assert!(error.message.contains("nothing defines a correct result"), "{error}");
    let spec =
        small("run = [\"x\"]\n[contract]\nkind = \"gemm\"\ntolerance = 1e-3\n").expect("checks");
    assert_eq!(spec.contract.check, Check::Error(1e-3));
    let text = "run = [\"x\"]\n[contract]\nkind = \"gemm\"\nreference = [\"y\"]\n";
    assert!(matches!(small(text).expect("checks").contract.check, Check::Checksum(..)));
}

#[test]
fn a_shell_is_used_where_it_is_asked_for_and_nowhere_else() {
    let contract = "[contract]\nkind = \"gemm\"\ntolerance = 1\n";
    let error = small(&format!("run = \"x | y\"\n{contract}")).expect_err("no shell");
    assert!(error.message.contains("shell = true"), "{error}");
    let spec = small(&format!("run = \"x | y\"\nshell = true\n{contract}")).expect("a shell");
    assert_eq!(spec.run.words(), ["sh", "-c", "x | y"]);
    assert!(small(&format!("run = [\"x\"]\nshell = true\n{contract}")).is_err());
}

#[test]
fn the_kernels_of_warpscope_need_no_command() {
    let text = "kind = \"cpu\"\ndtypes = [\"fp32\", \"bf16\"]\nshape = [{ n = 64, k = 256 }]\n[contract]\nkind = \"gemv\"\n";
    let spec = small(text).expect("a spec");
    assert!(spec.params["kernel"].contains(&"portable".to_owned()));
    assert!(spec.cpu_roof && spec.device.as_deref() == Some("cpu"));
    for (more, line, part) in [
        ("[params]\nunroll = [1]", 8, "kernel ("),
        ("[params]\nkernel = [\"mmx\"]", 8, "portable"),
        ("reference = [\"x\"]", 7, "fp64"),
    ] {
        let error = small(&format!("{text}{more}\n")).expect_err(more);
        assert!(error.message.contains(part) && error.line == line, "{error}");
    }
}

#[test]
fn a_grid_beyond_reason_is_refused_uncounted() {
    let values: Vec<String> = (0..200).map(|value| value.to_string()).collect();
    let row = |name| format!("{name} = [{}]\n", values.join(","));
    let rows: String = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(row).concat();
    let error = small(&format!(
        "run = [\"x\"]\ncontract = {{ kind = \"gemm\", tolerance = 1 }}\n[params]\n{rows}"
    ));
    assert!(error.expect_err("too many").message.contains("200000 combinations"));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        let _ = parse("f", &text);
    }

    #[test]
    fn no_cut_makes_it_panic(at in 0..GOOD.len()) {
        let _ = parse("f", &GOOD[..at]);
    }
}
