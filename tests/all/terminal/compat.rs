use std::fs;

use super::*;

const LINK: &str = "\x1b]8;;";
const SOURCE: &str = "https://github.com/InternLM/lmdeploy/issues/3035";

/// A dashboard that shows why LMDeploy does not run on a GTX 1060: what it cites is on GitHub.
fn why(env: &[(&str, &str)]) -> Session {
    let nvml = OwnNvml::new("nodevice");
    let library = nvml.library().display().to_string();
    let env: Vec<_> =
        [("WARPSCOPE_LIBRARY", library.as_str())].iter().chain(env).copied().collect();
    let args = ["--no-bench", "--gpu", "GTX 1060 6GB", "--tab", "compat"];
    let mut screen =
        Session::start(&Start { args: &args, env: &env, size: (120, 36), ..Start::default() });
    screen.see("GTX 1060");
    screen.keys("/PyTorch");
    screen.see_gone("vLLM");
    screen.keys("\r");
    screen.see("/PyTorch");
    screen.keys("\r");
    screen.see("Evidence");
    screen
}

#[test]
fn sources_are_links_and_none_is_left_open() {
    let mut screen = why(&[]);
    screen.see("lmdeploy/issues/3035");
    quit(&mut screen);
    let raw = String::from_utf8_lossy(&screen.raw);
    assert!(raw.contains(&format!("{LINK}{SOURCE}\x07")), "no link to {SOURCE}");
    // Each link is closed before the frame ends, and so before anybody else writes.
    for frame in raw.split("\x1b[?2026h").skip(1) {
        let frame = frame.split("\x1b[?2026l").next().unwrap_or_default();
        let last = frame.rsplit_once(LINK).map(|(_, rest)| rest);
        assert!(last.is_none_or(|rest| rest.starts_with('\x07')), "{frame:?}");
    }
}

#[test]
fn no_links_where_they_are_not_wanted_or_not_known() {
    for env in [[("NO_COLOR", "1")], [("TERM", "linux")]] {
        let mut screen = why(&env);
        screen.see("lmdeploy/issues/3035");
        quit(&mut screen);
        assert!(!String::from_utf8_lossy(&screen.raw).contains(LINK), "{env:?}");
    }
}

#[test]
fn heads_fold_by_click_and_columns_are_chosen() {
    let mut live = Live::start("t4+v100");
    let screen = &mut live.screen;
    screen.keys("2");
    screen.see("TurboMind · fp16");
    screen.click("LMDeploy");
    screen.see_gone("TurboMind · fp16");
    screen.see("▸ LMDeploy");
    screen.click("1 V100");
    screen.see("1 V100 SXM2 16GB  ");
    screen.click("LMDeploy");
    screen.see("TurboMind · fp16");
    quit(screen);
}

#[test]
fn a_model_is_read_from_its_folder_and_a_wrong_path_is_explained() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let model = folder.path().join("glm-4-9b");
    fs::create_dir(&model).expect("a folder");
    let config = r#"{"model_type": "glm4", "torch_dtype": "bfloat16"}"#;
    fs::write(model.join("config.json"), config).expect("writes");
    let mut live = Live::start("t4");
    let screen = &mut live.screen;
    screen.keys("2");
    screen.see("What runs where");
    screen.keys("m");
    screen.see("tab complete");
    screen.keys("/nowhere\r");
    screen.see("name a model's folder");
    screen.keys("\x1b");
    screen.see_gone("tab complete");
    screen.keys(&format!("m{}\r", model.display()));
    screen.see("What runs where for glm-4-9b");
    screen.keys("m\r");
    screen.see_gone("What runs where for");
    quit(screen);
}
