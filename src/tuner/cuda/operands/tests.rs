use super::*;

fn shape(sizes: &[(&str, usize)]) -> BTreeMap<String, String> {
    sizes.iter().map(|(name, size)| ((*name).to_owned(), size.to_string())).collect()
}

fn made(work: Work, sizes: &[(&str, usize)], dtype: &str) -> Operands {
    let function = (work == Work::Elementwise).then_some("relu");
    operands(work, function, &shape(sizes), dtype).expect("has operands")
}

fn input(made: &Operands, at: usize, element: Element) -> Vec<f64> {
    element.values(&made.inputs[at].1)
}

/// The product worked out anew from the bytes that a kernel would read.
#[test]
fn the_reference_of_a_product_is_that_of_the_stored_operands() {
    let (m, n, k) = (3, 5, 7);
    let made = made(Work::Gemm, &[("m", m), ("n", n), ("k", k)], "fp16");
    let (a, b) = (input(&made, 0, Element::F16), input(&made, 1, Element::F16));
    let c = (0..m * n).map(|at| {
        let sum: f64 = (0..k).map(|i| a[at / n * k + i] * b[i * n + at % n]).sum();
        sum as f32
    });
    let bytes: Vec<u8> = c.flat_map(f32::to_le_bytes).collect();
    assert!(made.wanted.error(Element::F32, &bytes) < 1e-6);
    assert_eq!((made.output, made.inputs[1].0), (("c", Element::F16), "b"));
}

#[test]
fn packed_weights_are_what_their_codes_and_scales_say() {
    let made = made(Work::W4a16, &[("m", 1), ("n", 2), ("k", 256)], "bf16");
    let x = input(&made, 0, Element::Bf16);
    let codes = &made.inputs[1].1;
    let scales = input(&made, 2, Element::F16);
    let y = (0..2).map(|row| {
        let one = |i: usize| {
            let byte = codes[(row * 256 + i) / 2];
            let code = if i.is_multiple_of(2) { byte & 15 } else { byte >> 4 };
            x[i] * (f64::from(code) - 8.0) * scales[(row * 256 + i) / 128]
        };
        (0..256).map(one).sum::<f64>() as f32
    });
    let bytes: Vec<u8> = y.flat_map(f32::to_le_bytes).collect();
    assert!(made.wanted.error(Element::F32, &bytes) < 1e-6);
}

/// Equal scores average the values, whatever the softmax is computed with.
#[test]
fn attention_over_one_token_is_its_value() {
    let made = made(Work::Attention, &[("batch", 2), ("heads", 2), ("seq", 1), ("dim", 4)], "fp32");
    let error = made.wanted.error(Element::F32, &made.inputs[2].1);
    assert!(error < 1e-7, "{error}");
}

#[test]
fn relu_leaves_what_is_positive() {
    let made = made(Work::Elementwise, &[("n", 1000)], "bf16");
    let x = input(&made, 0, Element::Bf16);
    let bytes: Vec<u8> = x.iter().flat_map(|x| (x.max(0.0) as f32).to_le_bytes()).collect();
    assert_eq!(made.wanted.error(Element::F32, &bytes), 0.0);
    assert!(x.iter().any(|x| *x < 0.0));
}

#[test]
fn what_has_no_operands_is_said() {
    let fp16 = ["fp16".to_owned()];
    let nk = [shape(&[("n", 4), ("k", 128)])];
    assert_eq!(check(Work::Gemv, None, &nk, &fp16), Ok(()));
    for (work, function, shapes, dtypes, part) in [
        (Work::Reference, None, &nk[..], &fp16[..], "gemm, gemv"),
        (Work::Gemm, None, &nk, &fp16, "m, n, k"),
        (Work::Elementwise, None, &nk, &fp16, "relu"),
        (Work::Elementwise, Some("sinh"), &nk, &fp16, "relu"),
        (Work::Gemv, Some("relu"), &nk, &fp16, "elementwise only"),
        (Work::Gemv, None, &nk, &["fp8".to_owned()], "fp8"),
        (Work::W4a16, None, &[shape(&[("m", 1), ("n", 4), ("k", 100)])], &fp16, "group"),
    ] {
        let error = check(work, function, shapes, dtypes).expect_err(part);
        assert!(error.contains(part), "{error}");
    }
    let huge = usize::MAX / 2;
    let huge = [shape(&[("n", huge), ("k", huge)])];
    assert!(check(Work::Gemv, None, &huge, &fp16).is_err_and(|why| why.contains("counting")));
    assert!(operands(Work::Gemv, None, &shape(&[("n", 1 << 20), ("k", 1 << 20)]), "fp16").is_err());
}
