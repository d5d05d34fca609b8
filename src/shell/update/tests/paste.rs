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

#[test]
fn a_word_is_typed_where_one_types_and_an_error_is_explained_even_there() {
    let mut app = filled();
    for keys in [vec!["2", "/"], vec![":"], vec!["w"]] {
        keys.iter().for_each(|key| drop(press(&mut app, key)));
        let before = format!("{:?}", (&app.overlay, app.tabs.get(app.tab).filter()));
        assert!(paste(&mut app, "flash\u{7}").is_empty(), "{keys:?}");
        let after = format!("{:?}", (&app.overlay, app.tabs.get(app.tab).filter()));
        assert!(after.contains("\"flash\"") && after != before, "{keys:?}: {after}");
        asked(&paste(&mut app, ERROR));
        press(&mut app, "esc");
        press(&mut app, "esc");
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
