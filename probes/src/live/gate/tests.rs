use super::super::Answer;
use super::*;

#[test]
fn the_first_wrong_word_is_named_and_all_are_counted() {
    let bytes =
        |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    assert_eq!(difference(&bytes(&[1, 2, 3]), &[1, 2, 3]), None);
    let told = difference(&bytes(&[1, 9, 3, 8]), &[1, 2, 3, 4]).expect("differs");
    assert_eq!(told, "word 1 is 0x00000009 where 0x00000002 is right; 2 of 4 are wrong");
}

fn refusal_of(code: u32, log: &str) -> Found {
    let call = "cuModuleLoadDataEx".to_owned();
    let error = MachineError::Driver { call, code, name: code.to_string() };
    refused("the bfloat16 product (mma.bf16)", Sm::new(7, 5), Err(error), log)
}

/// What users of Triton on a T4 read is what the driver's compiler says.
#[test]
fn a_refusal_is_told_in_the_compilers_words() {
    let log = "ptxas application ptx input, line 9; error   : Feature '.bf16' requires .target sm_80 or higher\n";
    let found = refusal_of(218, log);
    assert_eq!(found.answer, Answer::Fails);
    assert_eq!(
        found.detail,
        "the driver's compiler refuses the bfloat16 product (mma.bf16) for sm_75: Feature '.bf16' requires .target sm_80 or higher"
    );
}

/// A compiler that is missing, too old or switched off says nothing of the instruction.
#[test]
fn a_compiler_that_cannot_be_asked_is_no_evidence() {
    for code in [2, 221, 222, 223, 999] {
        assert_eq!(refusal_of(code, "").answer, Answer::Unknown, "{code}");
    }
}

/// The lowest text that has an entry can be taken apart, and nothing in it leads outside.
#[test]
fn every_gate_stands_alone() {
    for probe in crate::live::probes() {
        let crate::live::Subject::Instruction(gate) = probe.subject else { continue };
        let image = source(&gate).unwrap_or_else(|| panic!("{}", probe.id));
        let text = image.text().expect("is PTX");
        let alone = alone(&text, gate.entry, Sm::new(7, 5), Isa::new(8, 8)).expect(probe.id);
        assert_eq!(alone.matches(".entry").count(), 1, "{}", probe.id);
        assert_eq!(alone.matches('{').count(), alone.matches('}').count(), "{}", probe.id);
        assert!(!alone.contains(".extern") && !alone.contains("call"), "{}", probe.id);
    }
}
