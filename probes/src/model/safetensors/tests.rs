use proptest::prelude::*;

use super::*;

fn file(header: &str) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes
}

fn read(header: &str) -> Result<Weights, String> {
    Weights::read(file(header).as_slice())
}

#[test]
fn tensors_are_summed_by_type() {
    let weights = read(
        r#"{"__metadata__":{"format":"pt"},
            "a.weight":{"dtype":"BF16","shape":[16,2],"data_offsets":[0,64]},
            "a.scale":{"dtype":"F32","shape":[1],"data_offsets":[64,68]},
            "a.qweight":{"dtype":"I32","shape":[50],"data_offsets":[68,268]}}   "#,
    )
    .expect("reads");
    assert_eq!((weights.tensors, weights.bytes()), (3, 268));
    assert_eq!(weights.words(), "3: I32, BF16, F32");
    // Packed integers are no type a checkpoint was saved in.
    assert_eq!(weights.checkpoint_dtype(), Some("bf16"));
}

#[test]
fn an_empty_model_has_no_type() {
    let weights = read("{}").expect("reads");
    assert_eq!((weights.bytes(), weights.checkpoint_dtype()), (0, None));
}

#[test]
fn hostile_headers_are_refused_in_words() {
    for (bytes, words) in [
        (u64::MAX.to_le_bytes().to_vec(), "no safetensors file"),
        (99_999_999_u64.to_le_bytes().to_vec(), "ends within"),
        (vec![1, 2, 3], "ends within"),
        (file("[]"), "not understood"),
        (file(r#"{"a":{"dtype":"F32","data_offsets":[8,0]}}"#), "ends before it begins"),
        (file(r#"{"a":{"dtype":"F32\u001b[2J","data_offsets":[0,4]}}"#), "no word"),
        (file(r#"{"a":{"dtype":"F32"}}"#), "data_offsets"),
        (
            file(
                r#"{"a":{"dtype":"F32","data_offsets":[0,18446744073709551615]},
                    "b":{"dtype":"F32","data_offsets":[0,18446744073709551615]}}"#,
            ),
            "too large",
        ),
    ] {
        let error = Weights::read(bytes.as_slice()).expect_err(words);
        assert!(error.contains(words), "{error} / {words}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        length in any::<u64>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..256),
    ) {
        let mut claimed = length.to_le_bytes().to_vec();
        claimed.extend(&bytes);
        let _ = Weights::read(claimed.as_slice());
        let mut honest = (bytes.len() as u64).to_le_bytes().to_vec();
        honest.extend(&bytes);
        let _ = Weights::read(honest.as_slice());
    }

    #[test]
    fn sums_are_those_of_the_tensors(sizes in proptest::collection::vec(0_u64..1 << 40, 0..20)) {
        let tensors = sizes.iter().enumerate().map(|(place, size)| {
            format!(r#""t{place}":{{"dtype":"F16","shape":[],"data_offsets":[7,{}]}}"#, 7 + size)
        });
        let header = format!("{{{}}}", tensors.collect::<Vec<_>>().join(","));
        let weights = read(&header).expect("reads");
        prop_assert_eq!(weights.bytes(), sizes.iter().sum::<u64>());
    }
}
