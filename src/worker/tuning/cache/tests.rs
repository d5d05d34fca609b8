use super::super::choice::Judged;
use super::super::situation::Clocks;
use super::*;
use crate::worker::protocol::TurnClocks;

fn cube(side: u32) -> Shape {
    Shape { m: side, n: side, k: side, ..Shape::default() }
}

fn situation() -> Situation {
    Situation {
        uuid: "GPU-1".to_owned(),
        driver: Some("580.65.06".to_owned()),
        kernels: "0123456789abcdef".to_owned(),
        clocks: Clocks { power_limit_w: Some(700), ..Clocks::default() },
    }
}

fn choice(kernel: &str, side: u32, chosen: Option<&str>) -> Choice {
    let candidate = Judged {
        clocks: TurnClocks::default(),
        variant: "large".to_owned(),
        median_ns: Some(9e3),
        ratio: Some(0.9),
        counts_from: Some(0.01),
        call: None,
        why: String::new(),
        wrong: false,
    };
    Choice {
        kernel: kernel.to_owned(),
        shape: cube(side),
        usual: "small".to_owned(),
        usual_ns: Some(1e4),
        candidates: vec![candidate],
        chosen: chosen.map(str::to_owned),
    }
}

fn cache(choices: &[Choice]) -> TuningCache {
    let mut cache = TuningCache::default();
    cache.keep(&situation(), ("Toy", 5), choices).expect("is kept");
    cache
}

fn chosen<'a>(cache: &'a TuningCache, now: &Situation) -> &'a Entry {
    let Lookup::Chosen(entry) = cache.lookup(now) else { panic!("{:?}", cache.lookup(now)) };
    entry
}

#[test]
fn what_is_written_reads_back() {
    let cache = cache(&[choice("gemm.f16", 4096, Some("large"))]);
    let text = serde_json::to_string(&cache).expect("serialises");
    assert_eq!(TuningCache::parse(&text), Ok(cache));
}

#[test]
fn a_choice_counts_in_its_very_situation() {
    let cache = cache(&[choice("gemm.f16", 4096, Some("large"))]);
    let entry = chosen(&cache, &situation());
    assert_eq!(entry.tuned().choose("gemm.f16", cube(4096)), Some("large"));
    assert_eq!(entry.tuned[0].ratio, Some(0.9));
    let another = Situation { uuid: "GPU-2".to_owned(), ..situation() };
    assert_eq!(cache.lookup(&another), Lookup::Untuned);
    let clocks = Clocks { power_limit_w: None, ..situation().clocks };
    for (now, want) in [
        (
            Situation { driver: Some("580.82.07".to_owned()), ..situation() },
            "driver 580.65.06 → 580.82.07",
        ),
        (Situation { driver: None, ..situation() }, "driver 580.65.06 → unknown"),
        (Situation { kernels: "fedc".to_owned(), ..situation() }, "the kernels have changed"),
        (Situation { clocks, ..situation() }, "power limit 700 W → unknown"),
        (
            Situation {
                driver: Some("590.1".to_owned()),
                clocks: Clocks { graphics_mhz: Some(1410), ..situation().clocks },
                ..situation()
            },
            "driver 580.65.06 → 590.1, application clock unknown → 1410 MHz",
        ),
    ] {
        assert_eq!(cache.lookup(&now), Lookup::Ignored(want.to_owned()));
    }
}

#[test]
fn who_goes_back_finds_the_choices_made_there() {
    let mut cache = cache(&[choice("gemm.f16", 4096, Some("large"))]);
    let cool = Clocks { power_limit_w: Some(500), ..Clocks::default() };
    let cool = Situation { clocks: cool, ..situation() };
    let small = [choice("gemm.f16", 4096, Some("small"))];
    cache.keep(&cool, ("Toy", 6), &small).expect("is kept");
    assert_eq!(chosen(&cache, &situation()).tuned[0].variant, "large");
    assert_eq!(chosen(&cache, &cool).tuned[0].variant, "small");
}

#[test]
fn a_later_choice_takes_the_place_of_the_one_at_the_same_size() {
    let mut cache = cache(&[
        choice("gemm.f16", 2048, Some("large")),
        choice("gemm.f16", 4096, Some("large")),
        choice("gemv.f16", 4096, Some("large")),
    ]);
    let anew = [choice("gemm.f16", 4096, Some("small")), choice("gemv.f16", 4096, None)];
    cache.keep(&situation(), ("Toy", 7), &anew).expect("is kept");
    let entry = chosen(&cache, &situation());
    let left: Vec<_> =
        entry.tuned.iter().map(|kept| (&*kept.kernel, kept.shape.m, &*kept.variant)).collect();
    assert_eq!(left, [("gemm.f16", 2048, "large"), ("gemm.f16", 4096, "small")]);
    assert_eq!((cache.entries.len(), entry.at_ms, entry.overruled()), (1, 7, 1));
}

/// 4096 was measured and keeps the usual variant; without a word of it the choice at 8192 would hold there too.
#[test]
fn a_choice_does_not_reach_over_to_a_size_that_was_measured() {
    let both = [choice("gemm.f16", 4096, Some("small")), choice("gemm.f16", 8192, Some("large"))];
    let tuned = chosen(&cache(&both), &situation()).tuned();
    assert_eq!(tuned.choose("gemm.f16", cube(8192)), Some("large"));
    assert_eq!(tuned.choose("gemm.f16", cube(4096)), Some("small"));
    let none = [choice("gemm.f16", 4096, Some("small")), choice("gemm.f16", 8192, Some("small"))];
    let cache = cache(&none);
    assert!(chosen(&cache, &situation()).tuned().is_empty(), "the kernel goes on choosing");
}

#[test]
fn the_oldest_situations_are_forgotten() {
    let mut cache = TuningCache::default();
    for number in 0..=MOST_ENTRIES as u64 {
        let uuid = format!("GPU-{number}");
        let situation = Situation { uuid, ..situation() };
        let large = [choice("gemm.f16", 4096, Some("large"))];
        cache.keep(&situation, ("Toy", number), &large).expect("is kept");
    }
    assert_eq!((cache.entries.len(), cache.entries[0].at_ms), (MOST_ENTRIES, 1));
}

#[test]
fn files_of_others_are_refused_with_a_reason() {
    let good = serde_json::to_string(&cache(&[choice("gemm.f16", 4096, Some("large"))]));
    let good = good.expect("serialises");
    for (text, why) in [
        (String::new(), "EOF"),
        ("[]".to_owned(), "invalid length"),
        ("{}".to_owned(), "missing field `schema`"),
        (good[..good.len() / 2].to_owned(), "EOF"),
        (good.replace("\"schema\":1", "\"schema\":2"), "format 2; this warpscope reads 1"),
        (good.replace("\"large\"", "\"\\u001b[2J\""), "entry 1: \"\\u{1b}[2J\" is no name"),
        (good.replace("\"large\"", &format!("{:?}", "x".repeat(65))), "is no name"),
        (good.replace("GPU-1", "GPU 1"), "is no name"),
        (good.replace("4096", "-1"), "invalid value"),
        (good.replace("0.9", "1e999"), "out of range"),
    ] {
        let error = TuningCache::parse(&text).expect_err(&text);
        assert!(error.contains(why) && error.len() < 300, "{why}: {error}");
    }
}

#[test]
fn what_could_not_be_read_back_is_not_kept() {
    let mut cache = cache(&[choice("gemm.f16", 4096, Some("large"))]);
    let before = cache.clone();
    let error = cache.keep(&situation(), ("Toy", 6), &[choice("a b", 4096, Some("large"))]);
    assert_eq!((error, &cache), (Err("\"a b\" is no name".to_owned()), &before));
    let nameless = Choice { usual: String::new(), ..choice("gemm.f16", 4096, Some("")) };
    let over_nameless = Choice { usual: String::new(), ..choice("gemv.f16", 4096, Some("large")) };
    cache.keep(&situation(), ("Toy", 6), &[nameless, over_nameless]).expect("is kept");
    let text = serde_json::to_string(&cache).expect("serialises");
    let again = TuningCache::parse(&text).expect("reads back");
    let kernels: Vec<_> = again.entries[0].tuned.iter().map(|kept| &*kept.kernel).collect();
    assert_eq!(kernels, ["gemv.f16"], "what has no name cannot be asked for");
}
