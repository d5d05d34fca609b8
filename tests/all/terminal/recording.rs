use warpscope::io::sink::FrameReader;

use super::*;

#[test]
fn frames_are_recorded_by_a_key_and_read_back() {
    let state = tempfile::tempdir().expect("temporary folder");
    let nvml = OwnNvml::new("t4");
    let (library, home) =
        (nvml.library().display().to_string(), state.path().display().to_string());
    let env = [("WARPSCOPE_LIBRARY", library.as_str()), ("XDG_STATE_HOME", home.as_str())];
    let args = ["--no-bench", "--interval", "200ms"];
    let mut screen =
        Session::start(&Start { args: &args, env: &env, size: (120, 36), ..Start::default() });
    screen.see("T4");
    screen.keys("R");
    screen.see("rec ");
    screen.see("KiB");
    screen.keys("R");
    screen.see("warpscope replay");
    screen.see_gone("rec ");
    quit(&mut screen);
    let folder = state.path().join("warpscope/recordings");
    let files: Vec<_> = std::fs::read_dir(folder).expect("the folder").flatten().collect();
    let bytes = std::fs::read(files.first().expect("a file").path()).expect("reads");
    let mut reader = FrameReader::new(&bytes[..]);
    let frame = reader.next_frame().expect("reads").expect("a frame");
    assert_eq!((files.len(), frame.gpus.len()), (1, 1));
}

#[test]
fn a_recording_that_cannot_begin_says_why() {
    let nvml = OwnNvml::new("t4");
    let library = nvml.library().display().to_string();
    let env = [("WARPSCOPE_LIBRARY", library.as_str()), ("XDG_STATE_HOME", "/proc/nowhere")];
    let args = ["--no-bench", "--interval", "200ms"];
    let mut screen =
        Session::start(&Start { args: &args, env: &env, size: (120, 36), ..Start::default() });
    screen.see("T4");
    screen.keys("R");
    screen.see("Not recording: /proc/nowhere");
    quit(&mut screen);
}
