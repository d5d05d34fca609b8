use super::*;

fn idle() -> Around {
    Around {
        power_w: Some(70.0),
        used_bytes: Some(1 << 30),
        arena_bytes: 256 << 20,
        ..Around::default()
    }
}

fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// What the table can say happened.
enum Do {
    Idle,
    Comes(u32),
    Busy,
    Seen(bool),
    Wish(Wish),
    Took(u64),
    Dies,
    Works,
    GivesWay,
    Now,
}

/// A course told what happens, line by line: second, what, orders, and the first words of the stage.
fn walk(wish: Wish, lines: &[(u64, Do, &[&str], &str)]) {
    let mut course = Course::new(wish, Allowance::default());
    for (second, what, orders, stage) in lines {
        let cue = match what {
            Do::Idle => Cue::Frame(idle()),
            Do::Comes(pid) => {
                let who = Some(Hindrance::Process(*pid));
                Cue::Frame(Around { hindrance: who.clone(), intrusion: who, ..idle() })
            }
            Do::Busy => Cue::Frame(Around { hindrance: Some(Hindrance::Busy(40)), ..idle() }),
            Do::Seen(seen) => Cue::Seen(*seen),
            Do::Wish(wish) => Cue::Wish(*wish),
            Do::Took(ms) => Cue::Finished(Duration::from_millis(*ms)),
            Do::Dies => Cue::Died("was killed by signal 9".into()),
            Do::Works => Cue::Working,
            Do::GivesWay => Cue::GaveWay("busy: process 9 computes on it".into()),
            Do::Now => Cue::Now,
        };
        let told: Vec<String> = course
            .take(seconds(*second), cue)
            .iter()
            .map(|order| match order {
                Order::Pulse { arena_bytes } => format!("pulse {}", arena_bytes >> 20),
                Order::Stop => "stop".into(),
                Order::End => "end".into(),
                Order::Kill => "kill".into(),
            })
            .collect();
        assert_eq!(told, *orders, "at {second} s");
        let now = match course.stage() {
            Stage::Off(why) => format!("off: {why}"),
            Stage::Armed { since } => format!("armed since {}", since.as_secs()),
            Stage::Pulse { .. } => "pulse".into(),
            Stage::Cool { until, why } => format!("cool until {}: {why}", until.as_secs()),
        };
        assert!(now.starts_with(stage), "at {second} s: {now:?}, not {stage:?}");
    }
}

#[test]
fn a_gpu_idle_for_ten_seconds_is_measured_and_rests_fifty_times_as_long() {
    walk(
        Wish::Auto,
        &[
            (0, Do::Idle, &[], "off: measures while the Bench tab is open"),
            (1, Do::Seen(true), &[], "off"),
            (2, Do::Idle, &[], "armed since 2"),
            (11, Do::Idle, &[], "armed since 2"),
            (12, Do::Idle, &["pulse 256"], "pulse"),
            (13, Do::Took(100), &[], "cool until 18: keeps to 2 % of its time"),
            (17, Do::Idle, &[], "cool until 18"),
            (18, Do::Idle, &["pulse 256"], "pulse"),
            (18, Do::Took(1), &[], "cool until 20"),
        ],
    );
}

#[test]
fn whoever_comes_has_the_gpu_at_once_and_is_left_alone_longer_each_time() {
    walk(
        Wish::On,
        &[
            (0, Do::Seen(true), &[], "off"),
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["pulse 256"], "pulse"),
            (10, Do::Comes(9), &["stop", "end"], "cool until 40: busy: process 9 computes on it"),
            (11, Do::Dies, &[], "cool until 40: busy"),
            (12, Do::Took(3), &[], "cool until 40: busy"),
            (40, Do::Comes(9), &[], "off: busy: process 9 computes on it"),
            (50, Do::Idle, &[], "armed since 50"),
            (60, Do::Idle, &["pulse 256"], "pulse"),
            (60, Do::Comes(9), &["stop", "end"], "cool until 120: busy"),
            (121, Do::Idle, &[], "armed since 121"),
            (131, Do::Idle, &["pulse 256"], "pulse"),
            (131, Do::Dies, &[], "cool until 251: was killed by signal 9"),
        ],
    );
}

#[test]
fn a_gpu_in_use_is_not_touched_and_use_starts_the_ten_seconds_again() {
    walk(
        Wish::On,
        &[
            (0, Do::Busy, &[], "off: busy: 40 % in use"),
            (1, Do::Idle, &[], "armed since 1"),
            (9, Do::Busy, &[], "off: busy"),
            (10, Do::Idle, &[], "armed since 10"),
            (19, Do::Idle, &[], "armed since 10"),
            (20, Do::Idle, &["pulse 256"], "pulse"),
        ],
    );
}

#[test]
fn a_child_lives_a_minute_and_then_the_gpu_rests_ten() {
    walk(
        Wish::Auto,
        &[
            (0, Do::Seen(true), &[], "off"),
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["pulse 256"], "pulse"),
            (11, Do::Took(20), &[], "cool until 13"),
            (70, Do::Idle, &["pulse 256"], "pulse"),
            (70, Do::Took(20), &["end"], "cool until 670: measured for 60 s"),
            (80, Do::Idle, &[], "cool until 670"),
            (81, Do::Now, &[], "off: asked for"),
            (82, Do::Idle, &[], "armed since 82"),
        ],
    );
}

#[test]
fn what_is_looked_at_and_wanted_on_is_measured_on() {
    walk(
        Wish::On,
        &[
            (0, Do::Seen(true), &[], "off"),
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["pulse 256"], "pulse"),
            (100, Do::Took(20), &[], "cool until 102"),
            (102, Do::Idle, &["pulse 256"], "pulse"),
            (103, Do::Seen(false), &[], "pulse"),
            (103, Do::Took(20), &["end"], "cool until 703: measured for 60 s"),
        ],
    );
}

#[test]
fn leaving_the_tab_or_turning_it_off_gives_everything_back() {
    walk(
        Wish::Auto,
        &[
            (0, Do::Seen(true), &[], "off"),
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["pulse 256"], "pulse"),
            (10, Do::Seen(false), &["end"], "off: measures while the Bench tab is open"),
            (11, Do::Dies, &[], "off: measures"),
            (12, Do::Seen(true), &[], "off"),
            (12, Do::Idle, &[], "armed since 12"),
            (22, Do::Idle, &["pulse 256"], "pulse"),
            (22, Do::Wish(Wish::Off), &["end"], "off: off"),
            (23, Do::Idle, &[], "off: off"),
        ],
    );
}

#[test]
fn a_pulse_that_does_not_end_is_killed() {
    walk(
        Wish::On,
        &[
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["pulse 256"], "pulse"),
            (45, Do::Idle, &[], "pulse"),
            (46, Do::Idle, &["kill"], "cool until 76: it did not stop in time and was killed"),
        ],
    );
}

#[test]
fn a_pulse_that_brings_news_is_waited_for() {
    walk(
        Wish::On,
        &[
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["pulse 256"], "pulse"),
            (40, Do::Works, &[], "pulse"),
            (75, Do::Idle, &[], "pulse"),
            (76, Do::Idle, &["kill"], "cool until 106"),
            (77, Do::Works, &[], "cool until 106"),
        ],
    );
}

#[test]
fn a_child_that_gave_way_is_not_started_again_at_once() {
    walk(
        Wish::On,
        &[
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["pulse 256"], "pulse"),
            (11, Do::GivesWay, &["end"], "cool until 41: busy: process 9 computes on it"),
            (12, Do::Dies, &[], "cool until 41: busy"),
            (13, Do::GivesWay, &[], "cool until 41: busy"),
            (42, Do::Idle, &[], "armed since 42"),
        ],
    );
}

#[test]
fn a_clock_that_was_set_back_is_no_reason_to_panic() {
    walk(
        Wish::On,
        &[
            (100, Do::Idle, &[], "armed since 100"),
            (50, Do::Idle, &[], "armed since 100"),
            (110, Do::Idle, &["pulse 256"], "pulse"),
            (20, Do::Idle, &[], "pulse"),
            (20, Do::Took(10), &[], "cool until 22"),
        ],
    );
}

#[test]
fn where_processes_are_hidden_power_and_memory_tell() {
    let mut course = Course::new(Wish::On, Allowance::default());
    let frame = |power, used| {
        let around = Around { blind: true, power_w: Some(power), used_bytes: Some(used), ..idle() };
        Cue::Frame(around)
    };
    course.take(seconds(0), frame(70.0, 1 << 30));
    course.take(seconds(5), frame(71.0, 1 << 30));
    assert!(matches!(course.stage(), Stage::Armed { .. }));
    course.take(seconds(6), frame(71.0, (1 << 30) + (100 << 20)));
    assert_eq!(*course.stage(), Stage::Off("busy: its memory in use changes".into()));
    course.take(seconds(7), frame(120.0, 1 << 30));
    assert_eq!(*course.stage(), Stage::Off("busy: it draws more than when idle".into()));
    course.take(seconds(8), frame(70.0, 1 << 30));
    assert_eq!(*course.stage(), Stage::Armed { since: seconds(8) });
}

#[test]
fn the_budget_is_kept_whatever_a_pulse_takes() {
    for took_ms in [1, 40, 200, 900, 60_000] {
        let mut course = Course::new(Wish::On, Allowance::default());
        course.take(seconds(0), Cue::Seen(true));
        course.take(seconds(0), Cue::Frame(idle()));
        course.take(seconds(10), Cue::Frame(idle()));
        let took = Duration::from_millis(took_ms);
        course.take(seconds(11), Cue::Finished(took));
        let Stage::Cool { until, .. } = course.stage() else { panic!("rests") };
        let rest = *until - seconds(11);
        assert!(rest >= REST.0 && rest <= REST.1);
        assert!(took.as_secs_f64() <= 0.02 * rest.as_secs_f64() || rest == REST.1);
    }
}
