use super::*;

fn idle() -> Conditions {
    Conditions {
        power_w: Some(70.0),
        used_bytes: Some(1 << 30),
        memory_bytes: 256 << 20,
        ..Conditions::default()
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
    Mode(BenchMode),
    Took(u64),
    Dies,
    Pauses,
    Now,
}

/// A scheduler told what happens, line by line: second, what, actions, and the first words of the stage.
fn walk(mode: BenchMode, lines: &[(u64, Do, &[&str], &str)]) {
    let mut scheduler = Scheduler::gpu(mode, Budget::default());
    for (second, what, actions, stage) in lines {
        let event = match what {
            Do::Idle => Event::Frame(idle()),
            Do::Comes(pid) => {
                let who = Some(Blocker::Process(*pid));
                Event::Frame(Conditions { blocker: who.clone(), contention: who, ..idle() })
            }
            Do::Busy => Event::Frame(Conditions { blocker: Some(Blocker::Busy(40)), ..idle() }),
            Do::Seen(seen) => Event::Seen(*seen),
            Do::Mode(mode) => Event::Mode(*mode),
            Do::Took(ms) => Event::Finished(Duration::from_millis(*ms)),
            Do::Dies => Event::Died("was killed by signal 9".into()),
            Do::Pauses => Event::Paused("busy: process 9 computes on it".into()),
            Do::Now => Event::Now,
        };
        let told: Vec<String> = scheduler
            .handle(seconds(*second), event)
            .iter()
            .map(|action| match action {
                Action::Burst { memory_bytes } => format!("burst {}", memory_bytes >> 20),
                Action::End => "end".into(),
            })
            .collect();
        assert_eq!(told, *actions, "at {second} s");
        let now = match scheduler.stage() {
            Stage::Off(why) => format!("off: {why}"),
            Stage::Armed { since } => format!("armed since {}", since.as_secs()),
            Stage::Burst { .. } => "burst".into(),
            Stage::Cooldown { until, why } => format!("cool until {}: {why}", until.as_secs()),
        };
        assert!(now.starts_with(stage), "at {second} s: {now:?}, not {stage:?}");
    }
}

#[test]
fn a_gpu_idle_for_ten_seconds_is_measured_and_rests_fifty_times_as_long() {
    walk(
        BenchMode::Auto,
        &[
            (0, Do::Idle, &[], "off: measures while the Bench tab is open"),
            (1, Do::Seen(true), &[], "off"),
            (2, Do::Idle, &[], "armed since 2"),
            (11, Do::Idle, &[], "armed since 2"),
            (12, Do::Idle, &["burst 256"], "burst"),
            (13, Do::Took(100), &[], "cool until 18: keeps to 2% of its time"),
            (17, Do::Idle, &[], "cool until 18"),
            (18, Do::Idle, &["burst 256"], "burst"),
            (18, Do::Took(1), &[], "cool until 20"),
        ],
    );
}

#[test]
fn whoever_comes_has_the_gpu_at_once_and_is_left_alone_longer_each_time() {
    walk(
        BenchMode::On,
        &[
            (0, Do::Seen(true), &[], "off"),
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["burst 256"], "burst"),
            (10, Do::Comes(9), &["end"], "cool until 40: busy: process 9 computes on it"),
            (11, Do::Dies, &[], "cool until 40: busy"),
            (12, Do::Took(3), &[], "cool until 40: busy"),
            (40, Do::Comes(9), &[], "off: busy: process 9 computes on it"),
            (50, Do::Idle, &[], "armed since 50"),
            (60, Do::Idle, &["burst 256"], "burst"),
            (60, Do::Comes(9), &["end"], "cool until 120: busy"),
            (121, Do::Idle, &[], "armed since 121"),
            (131, Do::Idle, &["burst 256"], "burst"),
            (131, Do::Dies, &["end"], "cool until 251: was killed by signal 9"),
        ],
    );
}

#[test]
fn a_gpu_in_use_is_not_touched_and_use_starts_the_ten_seconds_again() {
    walk(
        BenchMode::On,
        &[
            (0, Do::Busy, &[], "off: busy: 40% in use"),
            (1, Do::Idle, &[], "armed since 1"),
            (9, Do::Busy, &[], "off: busy"),
            (10, Do::Idle, &[], "armed since 10"),
            (19, Do::Idle, &[], "armed since 10"),
            (20, Do::Idle, &["burst 256"], "burst"),
        ],
    );
}

#[test]
fn a_child_lives_a_minute_and_then_the_gpu_rests_ten() {
    walk(
        BenchMode::Auto,
        &[
            (0, Do::Seen(true), &[], "off"),
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["burst 256"], "burst"),
            (11, Do::Took(20), &[], "cool until 13"),
            (70, Do::Idle, &["burst 256"], "burst"),
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
        BenchMode::On,
        &[
            (0, Do::Seen(true), &[], "off"),
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["burst 256"], "burst"),
            (100, Do::Took(20), &[], "cool until 102"),
            (102, Do::Idle, &["burst 256"], "burst"),
            (103, Do::Seen(false), &[], "burst"),
            (103, Do::Took(20), &["end"], "cool until 703: measured for 60 s"),
        ],
    );
}

#[test]
fn leaving_the_tab_or_turning_it_off_gives_everything_back() {
    walk(
        BenchMode::Auto,
        &[
            (0, Do::Seen(true), &[], "off"),
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["burst 256"], "burst"),
            (10, Do::Seen(false), &["end"], "off: measures while the Bench tab is open"),
            (11, Do::Dies, &[], "off: measures"),
            (12, Do::Seen(true), &[], "off"),
            (12, Do::Idle, &[], "armed since 12"),
            (22, Do::Idle, &["burst 256"], "burst"),
            (22, Do::Mode(BenchMode::Off), &["end"], "off: paused by key"),
            (23, Do::Idle, &[], "off: paused by key"),
        ],
    );
}

#[test]
fn a_child_that_gave_way_is_not_started_again_at_once() {
    walk(
        BenchMode::On,
        &[
            (0, Do::Idle, &[], "armed"),
            (10, Do::Idle, &["burst 256"], "burst"),
            (11, Do::Pauses, &["end"], "cool until 41: busy: process 9 computes on it"),
            (12, Do::Dies, &[], "cool until 41: busy"),
            (13, Do::Pauses, &[], "cool until 41: busy"),
            (42, Do::Idle, &[], "armed since 42"),
        ],
    );
}

#[test]
fn a_clock_that_was_set_back_is_no_reason_to_panic() {
    walk(
        BenchMode::On,
        &[
            (100, Do::Idle, &[], "armed since 100"),
            (50, Do::Idle, &[], "armed since 100"),
            (110, Do::Idle, &["burst 256"], "burst"),
            (20, Do::Idle, &[], "burst"),
            (20, Do::Took(10), &[], "cool until 22"),
        ],
    );
}

#[test]
fn where_processes_are_hidden_power_and_memory_tell() {
    let mut scheduler = Scheduler::gpu(BenchMode::On, Budget::default());
    let frame = |power, used| {
        let around =
            Conditions { blind: true, power_w: Some(power), used_bytes: Some(used), ..idle() };
        Event::Frame(around)
    };
    scheduler.handle(seconds(0), frame(70.0, 1 << 30));
    scheduler.handle(seconds(5), frame(71.0, 1 << 30));
    assert!(matches!(scheduler.stage(), Stage::Armed { .. }));
    scheduler.handle(seconds(6), frame(71.0, (1 << 30) + (100 << 20)));
    assert_eq!(*scheduler.stage(), Stage::Off("busy: its memory in use changes".into()));
    scheduler.handle(seconds(7), frame(120.0, 1 << 30));
    assert_eq!(*scheduler.stage(), Stage::Off("busy: it draws more than when idle".into()));
    scheduler.handle(seconds(8), frame(70.0, 1 << 30));
    assert_eq!(*scheduler.stage(), Stage::Armed { since: seconds(8) });
}

/// An H100 that somebody holds a context on rests in P0 at 99 W (github.com/vllm-project/vllm/issues/55169), after 66 W.
#[test]
fn what_a_gpu_draws_at_rest_may_rise_for_good() {
    let mut scheduler = Scheduler::gpu(BenchMode::On, Budget::default());
    let frame = |power| Event::Frame(Conditions { power_w: Some(power), ..idle() });
    scheduler.handle(seconds(0), frame(66.0));
    scheduler.handle(seconds(60), frame(99.0));
    assert_eq!(*scheduler.stage(), Stage::Off("busy: it draws more than when idle".into()));
    scheduler.handle(seconds(601), frame(99.0));
    assert_eq!(*scheduler.stage(), Stage::Armed { since: seconds(601) });
}

#[test]
fn the_budget_is_kept_whatever_a_burst_takes() {
    for took_ms in [1, 40, 200, 900, 60_000] {
        let mut scheduler = Scheduler::gpu(BenchMode::On, Budget::default());
        scheduler.handle(seconds(0), Event::Seen(true));
        scheduler.handle(seconds(0), Event::Frame(idle()));
        scheduler.handle(seconds(10), Event::Frame(idle()));
        let took = Duration::from_millis(took_ms);
        scheduler.handle(seconds(11), Event::Finished(took));
        let Stage::Cooldown { until, .. } = scheduler.stage() else { panic!("rests") };
        let rest = *until - seconds(11);
        assert!(rest >= COOLDOWN.0 && took.as_secs_f64() <= 0.02 * rest.as_secs_f64() + 1e-9);
        assert_eq!(scheduler.has_worker(), rest <= COOLDOWN.1, "nobody holds a GPU that long");
    }
}

/// A burst of two seconds keeps to a share, however small, and none is measured for nothing.
#[test]
fn small_shares_are_kept_and_printed() {
    for (share, rest_s, words) in [
        (1.0, 2.0, "keeps to 100% of its time"),
        (0.125, 16.0, "keeps to 12% of its time"),
        (0.02, 100.0, "keeps to 2% of its time"),
        (0.0005, 4000.0, "keeps to 0.05% of its time"),
        (0.000_012, 2.0 / 0.000_012, "keeps to 0.0012% of its time"),
    ] {
        let budget = Budget { share, ..Budget::default() };
        let mut scheduler = Scheduler::gpu(BenchMode::On, budget);
        scheduler.handle(seconds(0), Event::Frame(idle()));
        scheduler.handle(seconds(10), Event::Frame(idle()));
        scheduler.handle(seconds(12), Event::Finished(seconds(2)));
        let Stage::Cooldown { until, why } = scheduler.stage() else { panic!("rests") };
        let rest = until.as_secs_f64() - 12.0;
        assert!((rest - rest_s).abs() < 1e-6 * rest_s, "{share}: {rest}");
        assert_eq!(why, words);
    }
    for mode in [BenchMode::Off, BenchMode::Ask, BenchMode::Auto, BenchMode::On] {
        let budget = Budget { share: 0.0, ..Budget::default() };
        let mut scheduler = Scheduler::gpu(mode, budget);
        for event in [Event::Seen(true), Event::Now, Event::Frame(idle())] {
            assert_eq!(scheduler.handle(seconds(0), event), []);
        }
        assert_eq!(scheduler.handle(seconds(60), Event::Frame(idle())), []);
        assert_eq!(*scheduler.stage(), Stage::Off("its share of the time is 0".into()), "{mode:?}");
    }
}

#[test]
fn nothing_is_measured_on_a_gpu_before_the_user_says_so() {
    walk(
        BenchMode::Ask,
        &[
            (0, Do::Seen(true), &[], "off"),
            (1, Do::Idle, &[], "off: measured once you allow it"),
            (20, Do::Idle, &[], "off"),
            (21, Do::Mode(BenchMode::On), &[], "off"),
            (22, Do::Idle, &[], "armed since 22"),
        ],
    );
}

#[test]
fn who_asks_gets_one_session_where_none_is_wanted() {
    for (mode, off) in [
        (BenchMode::Off, "off: off; b starts it"),
        (BenchMode::Ask, "off: measured once you allow it"),
    ] {
        walk(
            mode,
            &[
                (0, Do::Seen(true), &[], off),
                (1, Do::Idle, &[], off),
                (2, Do::Now, &[], "off: asked for"),
                (3, Do::Idle, &[], "armed since 3"),
                (13, Do::Idle, &["burst 256"], "burst"),
                (14, Do::Took(20), &[], "cool until 16"),
                (16, Do::Idle, &["burst 256"], "burst"),
                (73, Do::Took(20), &["end"], "cool until 673: measured for 60 s"),
                (74, Do::Idle, &[], off),
                (674, Do::Idle, &[], off),
                (675, Do::Now, &[], "off: asked for"),
                (676, Do::Idle, &[], "armed"),
                (686, Do::Idle, &["burst 256"], "burst"),
                (687, Do::Seen(false), &["end"], off),
                (688, Do::Seen(true), &[], off),
                (689, Do::Idle, &[], off),
            ],
        );
    }
}

#[test]
fn who_asks_for_a_gpu_in_use_hears_why_it_waits() {
    walk(
        BenchMode::Off,
        &[
            (0, Do::Comes(9), &[], "off: off; b starts it"),
            (1, Do::Now, &[], "off: busy: process 9 computes on it"),
            (2, Do::Idle, &[], "armed since 2"),
            (12, Do::Idle, &["burst 256"], "burst"),
            (13, Do::Comes(9), &["end"], "cool until 43: busy"),
            (14, Do::Idle, &[], "off: off; b starts it"),
        ],
    );
}

#[test]
fn the_cpu_keeps_to_a_hundredth_of_a_core_while_nobody_looks() {
    let mut cpu = Scheduler::cpu(BenchMode::Ask);
    let frame = || Event::Frame(Conditions::default());
    let burst = [Action::Burst { memory_bytes: 0 }];
    assert_eq!(cpu.handle(seconds(1), frame()), burst);
    assert_eq!(cpu.handle(seconds(2), Event::Finished(seconds(1))), []);
    assert_eq!(cpu.handle(seconds(101), frame()), [], "a second of work in a hundred");
    assert_eq!(cpu.handle(seconds(102), frame()), burst);
    assert_eq!(cpu.handle(seconds(103), Event::Finished(seconds(1))), []);
    assert_eq!(cpu.handle(seconds(104), Event::Seen(true)), burst, "whoever looks need not wait");
    assert_eq!(cpu.handle(seconds(105), Event::Finished(seconds(1))), burst);
    assert_eq!(cpu.handle(seconds(106), Event::Seen(false)), []);
}

/// The CPU needs no rest while it is looked at, only leave; its worker keeps to a budget by itself.
#[test]
fn the_cpu_is_measured_burst_after_burst_unless_on_battery_or_paused() {
    let mut cpu = Scheduler::cpu(BenchMode::Off);
    let plugged = || Event::Frame(Conditions::default());
    let battery = || Some(Blocker::Battery);
    let unplugged = || {
        Event::Frame(Conditions {
            blocker: battery(),
            contention: battery(),
            ..Conditions::default()
        })
    };
    let burst = [Action::Burst { memory_bytes: 0 }];
    let off = |why: &str| Stage::Off(why.to_owned());
    assert_eq!(cpu.handle(seconds(0), Event::Seen(true)), []);
    assert_eq!(cpu.handle(seconds(0), plugged()), []);
    assert_eq!(*cpu.stage(), off("off; b starts it"));
    assert_eq!(cpu.handle(seconds(1), Event::Mode(BenchMode::Auto)), burst);
    assert_eq!(cpu.handle(seconds(2), Event::Finished(seconds(1))), burst);
    assert_eq!(cpu.handle(seconds(500), plugged()), [], "a long burst is left alone");
    assert_eq!(cpu.handle(seconds(501), unplugged()), [Action::End]);
    assert_eq!(cpu.handle(seconds(540), unplugged()), []);
    assert_eq!(*cpu.stage(), off("on battery"));
    assert_eq!(cpu.handle(seconds(541), plugged()), burst);
    assert_eq!(cpu.handle(seconds(542), Event::Mode(BenchMode::Off)), [Action::End]);
    assert_eq!(cpu.handle(seconds(543), plugged()), []);
    assert_eq!(*cpu.stage(), off("paused by key; b continues"));
    assert_eq!(cpu.handle(seconds(544), Event::Mode(BenchMode::Auto)), burst);
    assert_eq!(cpu.handle(seconds(545), Event::Died("signal".into())), [Action::End]);
    assert!(matches!(cpu.stage(), Stage::Cooldown { .. }));
    assert_eq!(cpu.handle(seconds(546), Event::Mode(BenchMode::Auto)), burst, "by key at once");
}
