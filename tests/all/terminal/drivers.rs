use std::time::Duration;

use super::*;

#[test]
fn the_first_frame_does_not_wait_for_the_driver() {
    let mut live = Live::start("t4+hang:nvmlInit_v2:10");
    let screen = &mut live.screen;
    screen.see("Asking the NVIDIA driver");
    screen.see("has not answered yet");
    screen.keys("?");
    screen.see("Leave warpscope.");
    screen.keys("\x1b");
    screen.see_gone("Leave warpscope.");
    quit(screen);
}

#[test]
fn a_call_that_hangs_is_said_and_keys_still_work() {
    let mut live = Live::start("t4");
    live.screen.see("Tesla T4");
    live.nvml.set("t4+hang:nvmlDeviceGetCount_v2:600");
    live.screen.see("driver stopped answering");
    live.screen.see("are shown dim");
    let screen = &mut live.screen;
    screen.see("Tesla T4");
    screen.keys("4");
    screen.see(" 0 processes");
    screen.keys("n");
    screen.see("persistence mode");
    screen.keys("\x1b");
    screen.see_gone("persistence mode");
    quit(screen);
}

/// GPUs whose power is shown, of eight H100.
fn with_power(screen: &str) -> usize {
    screen.matches("/700 W").count()
}

fn see_with_power(screen: &mut Session, count: usize) {
    let seen = screen.wait(Duration::from_secs(120), |text| with_power(text) == count);
    seen.expect("power of every GPU");
}

#[test]
fn a_gpu_that_hangs_from_the_start_is_named_and_the_others_are_live() {
    let hanging = OwnNvml::new("h100*8+hang:3@all:600");
    let mut live = Live::with(hanging, &[], (200, 60));
    live.screen.see("GPU 3 has not answered for");
    live.screen.see("the others are live");
    live.screen.see("has not answered yet");
    see_with_power(&mut live.screen, 7);
    live.screen.keys("n");
    live.screen.see("persistence mode");
    live.screen.keys("\x1b");
    live.nvml.set("h100*8");
    live.screen.see_gone("the others are live");
    see_with_power(&mut live.screen, 8);
    quit(&mut live.screen);
}

#[test]
fn a_gpu_that_hangs_later_keeps_its_values_and_keys_still_work() {
    let mut live = Live::with(OwnNvml::new("h100*8"), &[], (200, 60));
    see_with_power(&mut live.screen, 8);
    live.nvml.set("h100*8+hang:3@nvmlDeviceGetPowerUsage:600");
    live.screen.see("GPU 3 NVIDIA H100 80GB HBM3 has not answered for");
    assert_eq!(with_power(&live.screen.text()), 8);
    live.screen.keys("4");
    live.screen.see(" 0 processes");
    live.screen.keys("1");
    live.nvml.set("h100*8");
    live.screen.see_gone("has not answered for");
    quit(&mut live.screen);
}

#[test]
fn a_driver_that_is_unloaded_is_lost_and_not_absent_in_the_header() {
    let mut live = Live::start("t4");
    live.screen.see("driver 580.82.07");
    live.nvml.set("nodriver");
    live.screen.see("driver lost");
    live.screen.see("Tesla T4");
    quit(&mut live.screen);
}

#[test]
fn every_one_of_eighty_keys_is_answered_while_the_driver_hangs() {
    let mut live = Live::start("t4");
    live.screen.see("Tesla T4");
    live.nvml.set("t4+hang:nvmlDeviceGetCount_v2:600");
    live.screen.see("has stopped answering");
    for _ in 0..40 {
        live.screen.keys("4");
        live.screen.see(" 0 processes");
        live.screen.keys("1");
        live.screen.see("has stopped answering");
        live.screen.see_gone(" 0 processes");
    }
    quit(&mut live.screen);
}

#[test]
fn a_library_that_crashes_aborts_or_exits_is_a_line_on_the_screen_and_comes_back() {
    let rows = [
        ("crash", "management library crashed (SIGSEGV); restarting it in"),
        ("abort", "management library crashed (SIGABRT); restarting it in"),
        ("exit", "management library ended its process with code 0; restarting it in"),
    ];
    for (fault, sentence) in rows {
        let mut live = Live::start("t4");
        live.screen.see("MHz");
        live.nvml.set(&format!("t4+{fault}:nvmlDeviceGetUtilizationRates"));
        live.screen.see(sentence);
        live.screen.see("Tesla T4");
        live.screen.keys("n");
        live.screen.see("the last known");
        live.screen.keys("\x1b");
        live.screen.see_gone("the last known");
        live.nvml.set("t4");
        live.screen.see_gone("restarting it in");
        live.screen.see("Tesla T4");
        quit(&mut live.screen);
    }
}

#[test]
fn a_library_that_crashes_at_once_is_said_by_a_snapshot_too() {
    let nvml = OwnNvml::new("t4+crash:nvmlInit_v2");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_warpscope"))
        .args(["snapshot", "--json"])
        .env("WARPSCOPE_LIBRARY", nvml.library())
        .output()
        .expect("starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("NVIDIA's management library crashed (SIGSEGV)"), "{said}");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_library_that_is_replaced_in_place_is_survived() {
    let mut live = Live::start("t4");
    live.screen.see("MHz");
    let library = live.nvml.library();
    let whole = std::fs::read(&library).expect("the copy");
    let file = std::fs::File::options().write(true).open(&library).expect("the copy");
    file.set_len(0).expect("is cut");
    live.screen.see("management library crashed (SIGBUS)");
    live.screen.see("Tesla T4");
    std::fs::write(&library, whole).expect("is whole again");
    live.screen.see_gone("crashed (SIGBUS)");
    live.screen.see("MHz");
    quit(&mut live.screen);
}

#[test]
fn a_gpu_that_is_lost_comes_back_without_a_restart() {
    let mut live = Live::start("t4x2");
    live.screen.see("1 Tesla T4");
    live.screen.see("MHz");
    live.nvml.set("t4x2+lost:1");
    live.screen.see("lost:");
    live.nvml.set("t4x2");
    live.screen.see_gone("lost:");
    live.screen.see("1 Tesla T4");
    quit(&mut live.screen);
}

#[test]
fn an_xid_error_interrupts_and_stays_among_the_notices() {
    let mut live = Live::start("t4x2");
    live.screen.see("MHz");
    live.nvml.set("t4x2+xid:0@31+xid:1@79");
    live.screen.see("GPU 1: Xid 79: GPU has fallen off the bus");
    live.screen.keys("n");
    live.screen.see("Xid 79");
    live.screen.keys("n");
    quit(&mut live.screen);
}

#[test]
fn a_gpu_that_appears_later_is_shown() {
    let mut live = Live::start("t4");
    live.screen.see("0 Tesla T4");
    live.nvml.set("t4+v100");
    live.screen.see("1 Tesla V100");
    quit(&mut live.screen);
}

#[test]
fn each_way_to_have_no_driver_has_its_sentence_its_way_out_and_what_if_gpus() {
    let rows = [
        ("nodriver", "its kernel module is not loaded", "modprobe nvidia"),
        ("noperm", "may not use the NVIDIA devices", "usermod -aG video"),
        ("mismatch", "of different versions", "reboot"),
        ("nodevice", "counts no GPU", "lspci -d 10de:"),
    ];
    for (scenario, sentence, way_out) in rows {
        let mut live = Live::start(scenario);
        explained(&mut live.screen, sentence, way_out);
    }
    let env = [("WARPSCOPE_LIBRARY", "/nowhere/libnvidia-ml.so.1")];
    let mut screen =
        Session::start(&Start { args: &["--no-bench"], env: &env, ..Start::default() });
    explained(&mut screen, "libnvidia-ml.so.1 was not found", "Install the NVIDIA driver");
}

fn explained(screen: &mut Session, sentence: &str, way_out: &str) {
    screen.see(sentence);
    screen.see("what-if");
    for name in ["GTX 1060", "V100", "T4", "RTX 2080 Ti", "A10", "H200"] {
        screen.see(name);
    }
    screen.keys("n");
    screen.see(way_out);
    quit(screen);
}

#[test]
fn a_driver_that_is_loaded_later_is_found_without_a_restart() {
    let mut live = Live::start("nodriver");
    live.screen.see("kernel module is not loaded");
    live.nvml.set("t4");
    live.screen.see("Tesla T4");
    live.screen.see("MHz");
    quit(&mut live.screen);
}

#[test]
fn functions_an_old_driver_lacks_leave_their_values_out() {
    let lacking = [
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetGpmSupport",
        "nvmlDeviceGetSupportedClocksEventReasons",
    ];
    let known: Vec<&str> = lacking.into_iter().filter(|name| exported(name)).collect();
    assert!(!known.is_empty(), "the stand-in exports some of them");
    let nvml = OwnNvml::without("rtx3090+driver:470.256.02", &known);
    let mut live = Live::with(nvml, &[], (120, 36));
    live.screen.see("RTX 3090");
    live.screen.see("470.256.02");
    live.screen.see("24.0 GiB");
    quit(&mut live.screen);
}

fn exported(function: &str) -> bool {
    let image = std::fs::read(crate::fake::nvml_dir().join(crate::fake::LIBRARY));
    let name = [function.as_bytes(), b"\0"].concat();
    image.expect("the stand-in").windows(name.len()).any(|window| window == name)
}

#[test]
fn sixteen_gpus_fit_one_screen() {
    let mut live = Live::start("gpus16");
    live.screen.see("15 H200");
    for index in 0..16 {
        live.screen.see(&format!("{index} H200"));
    }
    quit(&mut live.screen);
}

#[test]
fn instances_of_a_divided_gpu_are_among_its_details() {
    let mut live = Live::with(OwnNvml::new("h100+mig:0"), &[], (120, 100));
    live.screen.see("H100");
    live.screen.keys("\r");
    live.screen.see("Number formats");
    // With all of its links the page is longer than the screen.
    live.screen.keys("\x1b[F");
    live.screen.see("MIG 3g.40gb");
    quit(&mut live.screen);
}
