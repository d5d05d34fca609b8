use super::*;

#[test]
fn tabs_rows_and_column_heads_are_clicked() {
    let mut live = Live::with(OwnNvml::new("gpus16+procs"), &[], (120, 36));
    let screen = &mut live.screen;
    screen.see("15 H200");
    screen.see("╭ 0 NVIDIA H200");
    screen.click("9 H200");
    screen.see("╭ 9 NVIDIA H200");
    screen.click("9 H200");
    screen.see("Number formats");
    screen.keys("\x1b");
    screen.see_gone("Number formats");
    screen.click("Processes");
    screen.see("CPU%");
    screen.click("PID");
    screen.see("PID▲");
    screen.click("PID");
    screen.see("PID▼");
    quit(screen);
}

#[test]
fn the_wheel_moves_the_selection() {
    let mut live = Live::start("gpus16");
    let screen = &mut live.screen;
    screen.see("╭ 0 NVIDIA H200");
    screen.wheel("15 H200", true);
    screen.see("╭ 3 NVIDIA H200");
    screen.wheel("15 H200", false);
    screen.see("╭ 0 NVIDIA H200");
    quit(screen);
}

#[test]
fn the_mouse_can_be_left_to_the_terminal() {
    let mut live = Live::with(OwnNvml::new("t4"), &["--no-mouse"], (120, 36));
    live.screen.see("Tesla T4");
    quit(&mut live.screen);
    assert!(!String::from_utf8_lossy(&live.screen.raw).contains("\x1b[?1000h"));
}
