use super::*;
use crate::engine::explain::{Answer, Reader, explain};

const ERROR: &str = "Traceback (most recent call last):\n  File \"a.py\", line 1\nImportError: libcudnn.so.9: cannot open shared object file: No such file or directory";

fn paste(app: &mut App, text: &str) -> Vec<Cmd> {
    update(app, Msg::Pasted(text.to_owned()))
}

fn asked(cmds: &[Cmd]) -> Arc<str> {
    match cmds {
        [Cmd::Explain(text)] => Arc::clone(text),
        other => panic!("not asked: {other:?}"),
    }
}

fn answer(text: &str) -> Arc<Answer> {
    let mut reader = Reader::default();
    reader.push(text.as_bytes());
    Arc::new(explain(&reader.finish(), &Default::default(), RuleBase::builtin()))
}

#[test]
fn a_pasted_error_is_explained_and_its_fix_copied() {
    let mut app = filled();
    let text = asked(&paste(&mut app, ERROR));
    assert!(press(&mut app, "y").is_empty(), "nothing to copy before the answer");
    update(&mut app, Msg::Explained(text, answer(ERROR)));
    let copied = press(&mut app, "y");
    assert!(matches!(&copied[..], [Cmd::Copy(fix)] if fix.contains("cudnn")), "{copied:?}");
    press(&mut app, "esc");
    assert_eq!(app.overlay, None);
}

#[test]
fn an_answer_to_an_earlier_text_is_not_shown() {
    let mut app = filled();
    let first = asked(&paste(&mut app, ERROR));
    asked(&paste(&mut app, "RuntimeError: something else"));
    update(&mut app, Msg::Explained(first, answer(ERROR)));
    assert!(press(&mut app, "y").is_empty(), "the second text has no answer yet");
}

fn after(keys: &[&str]) -> App {
    let mut app = filled();
    keys.iter().for_each(|key| drop(press(&mut app, key)));
    app
}

#[test]
fn a_word_is_typed_where_one_types_and_an_error_is_explained_even_there() {
    for keys in [&["2", "/"][..], &[":"], &["w"], &["?", "/"], &["1", "enter", "/"], &["2", "m"]] {
        let mut app = after(keys);
        let typed = |app: &App| {
            let filter = app.tabs.get(app.tab).filter();
            format!("{} {:?} {filter:?}", popup(app), app.tabs.compat.popup)
        };
        assert!(!typed(&app).contains("\"flash\""));
        assert!(paste(&mut app, "flash\u{7}").is_empty(), "{keys:?}");
        assert!(typed(&app).contains("\"flash\""), "{keys:?}: {}", typed(&app));
        asked(&paste(&mut app, ERROR));
    }
}

#[test]
fn a_word_presses_no_key_of_what_is_open() {
    for keys in [
        &["4", "K"][..],
        &["4", "K", "enter"],
        &["4", "enter"],
        &["1", "enter"],
        &["o"],
        &["H"],
        &["?"],
        &["n"],
    ] {
        let mut app = after(keys);
        assert!(app.has_popup(), "{keys:?}");
        let before = app.shared.display.changed.clone();
        assert_eq!(asked(&paste(&mut app, "yw<>q")).as_ref(), "yw<>q", "{keys:?}");
        assert_eq!(app.shared.display.changed, before);
    }
}

#[test]
fn keys_in_a_pasted_text_do_nothing() {
    let mut app = filled();
    assert_eq!(asked(&paste(&mut app, "q")).as_ref(), "q");
    assert!(paste(&mut app, " \n").is_empty());
    assert_eq!(
        app.toast.as_ref().map(|(said, _)| said.as_str()),
        Some("The pasted text is empty.")
    );
    press(&mut app, "e");
    assert_eq!(app.overlay, None);
}

#[test]
fn a_long_path_is_typed_and_a_long_sentence_explained() {
    let mut app = after(&["2", "m"]);
    let path = format!("/srv/{}/model.gguf", "x".repeat(90));
    assert_eq!((paste(&mut app, &path), &app.overlay), (Vec::new(), &None));
    asked(&paste(&mut app, &"no such thing ".repeat(9)));
}
