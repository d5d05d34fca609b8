use super::*;
use crate::tuner::read_output;

fn run(words: &[&str]) -> Result<String, String> {
    run_kernel(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
}

#[test]
fn every_kernel_of_this_cpu_says_a_line_that_reads_back_and_is_right() {
    for spec in KERNELS {
        let (dtype, word) =
            (format!("dtype={}", spec.format), format!("kernel={}", last_word(spec)));
        let line = run(&[&dtype, &word, "n=9", "k=256", "block=4", "samples=3"]);
        if !spec.is_usable() {
            assert!(line.expect_err("needs more").contains("cannot run"));
            continue;
        }
        let said = read_output(&line.expect("runs")).expect("reads");
        assert_eq!((said.times.len(), said.flops), (3, Some(2.0 * 9.0 * 256.0)));
        assert!(said.error.is_some_and(|error| error < TOLERANCE), "{}: {said:?}", spec.id);
    }
}

#[test]
fn a_wrong_output_has_a_large_error_and_a_missing_one_is_nan() {
    let format = Format::Fp32;
    let grid = Grid::new(1, [3, 128], -6);
    let spec = find(format, "portable").expect("is everywhere");
    let work = Product { spec, matrix: Matrix::from_grid(&grid, format), block: 3 };
    let x = inputs(128, format);
    let mut y = vec![0.0; 3];
    work.run(&x, &mut y);
    assert!(work.error(&x, &y) < TOLERANCE);
    y[1] += 0.1 * y[1].abs().max(1.0);
    assert!(work.error(&x, &y) > TOLERANCE);
    y[2] = f32::NAN;
    assert!(work.error(&x, &y).is_nan());
}

#[test]
fn what_the_kernels_cannot_do_is_said() {
    let shape = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
        all.iter().map(|(name, size)| ((*name).to_owned(), (*size).to_owned())).collect()
    };
    let fp32 = ["fp32".to_owned()];
    let good = shape(&[("n", "4"), ("k", "128")]);
    assert_eq!(check(Work::Gemv, std::slice::from_ref(&good), &fp32), Ok(()));
    assert!(check(Work::Gemm, std::slice::from_ref(&good), &fp32).is_err());
    assert!(check(Work::Gemv, &[good], &["fp8".to_owned()]).is_err());
    for bad in
        [&[("n", "4")][..], &[("n", "4"), ("k", "100")], &[("n", "4"), ("k", "128"), ("m", "2")]]
    {
        assert!(check(Work::Gemv, &[shape(bad)], &fp32).is_err(), "{bad:?}");
    }
    assert!(why_missing("int4", "f16c").is_some_and(|why| why.contains("no kernel")));
}
