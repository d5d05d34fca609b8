use super::*;
use crate::Trace;
use crate::memory::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn panics(bytes: &[u8], trace: &mut Trace) {
    trace.count("length", bytes.len());
    assert!(!bytes.contains(&b'!'), "an exclamation mark");
}

fn takes_memory(bytes: &[u8], _: &mut Trace) {
    if bytes.len() > 3 {
        drop(std::hint::black_box(vec![1_u8; 65 << 20]));
    }
}

fn takes_time(bytes: &[u8], _: &mut Trace) {
    let start = Instant::now();
    while bytes.first() == Some(&b'x') && start.elapsed() < Duration::from_millis(1500) {
        std::hint::spin_loop();
    }
}

fn target(run: fn(&[u8], &mut Trace)) -> &'static Target {
    Box::leak(Box::new(Target { group: "planted", name: "planted", seeds: &[], run }))
}

fn failure(run: fn(&[u8], &mut Trace), bytes: &[u8]) -> Option<attempt::Failure> {
    attempt(target(run), bytes).failure
}

#[test]
fn a_panic_is_found_made_small_and_written_down() {
    let folder = scratch::fresh_folder("findings");
    let mut current = Current::create(&folder.join("current")).expect("a file");
    let time = Duration::from_secs(2);
    let [report] = &hunt(&[target(panics)], time, 7, &folder, &mut current)[..] else {
        panic!("one target, one report")
    };
    let [file] = report.findings.as_slice() else { panic!("{report:?}") };
    assert_eq!(std::fs::read(file).expect("is written"), b"!");
    assert!(report.to_string().starts_with("FAILED planted"), "{report}");
    assert!(report.features > 3 && report.kept > 3, "{report:?}");
}

#[test]
fn a_panic_says_where_and_what() {
    let failure = failure(panics, b"a!").expect("fails");
    assert!(failure.cause.contains("tests.rs:"), "{failure:?}");
    assert!(failure.message.contains("an exclamation mark"), "{failure:?}");
    assert_eq!(super::tests::failure(panics, b"a"), None);
}

#[test]
fn too_much_time_of_the_processor_is_a_failure() {
    assert_eq!(failure(takes_time, b"y"), None);
    // A machine too busy to give the thread one second in one and a half lets it pass.
    if let Some(failure) = failure(takes_time, b"x") {
        assert_eq!(failure.cause, "time");
    }
}

#[test]
fn too_much_memory_is_a_failure() {
    assert_eq!(failure(takes_memory, b"few"), None);
    let failure = failure(takes_memory, b"more").expect("fails");
    assert_eq!(failure.cause, "memory");
}
