//! The dialog that names a model.

use super::*;
use crate::features::compat::model::{Choice, Dialog, State};

fn model(name: &str) -> Model {
    let settings = Configuration::new([("dtype", "fp32")]).expect("reads");
    Model { name: name.into(), settings, ..Model::default() }
}

#[test]
fn a_model_is_named_in_a_dialog_and_every_row_asks_about_it() {
    let mut app = app();
    let asked = [compat::Cmd::ListModels, compat::Cmd::ReadModel("/m".into())];
    assert_eq!(press(&mut app, "m / m enter"), asked.map(Cmd::Compat));
    let failed = Err("there is none".to_owned());
    update(&mut app, Msg::Compat(compat::Msg::Model("/m".into(), failed)));
    let failed = |app: &App| match &app.tabs.compat.popup {
        Some(Popup::Model(Dialog { state: State::Failed(why), .. })) => Some(why.clone()),
        _ => None,
    };
    assert_eq!(failed(&app).as_deref(), Some("there is none"));
    assert_eq!(press(&mut app, "2 enter"), [Cmd::Compat(compat::Cmd::ReadModel("/m2".into()))]);
    update(&mut app, Msg::Compat(compat::Msg::Model("/m".into(), Ok(Box::new(model("late"))))));
    assert_eq!(
        app.tabs.compat.verdicts.assumptions().model,
        None,
        "an answer nobody waits for is left out"
    );
    update(&mut app, Msg::Compat(compat::Msg::Model("/m2".into(), Ok(Box::new(model("m2"))))));
    assert_eq!(
        (&app.tabs.compat.popup, app.tabs.compat.verdicts.assumptions().model.is_some()),
        (&None, true)
    );
    assert_eq!(app.tabs.compat.verdicts.cell(0, 0).map(|cell| cell.outcome), Some(Outcome::Works));
    press(&mut app, "esc");
    assert!(app.tabs.compat.verdicts.has_model(), "esc throws no model away");
    press(&mut app, "m enter");
    assert_eq!(app.tabs.compat.verdicts.assumptions().model, None);
    assert_eq!(app.tabs.compat.verdicts.cell(0, 0).map(|cell| cell.outcome), Some(Outcome::Fails));
}

#[test]
fn an_empty_line_takes_the_model_back_and_a_closed_dialog_changes_nothing() {
    let mut app = app();
    press(&mut app, "m / a enter");
    update(&mut app, Msg::Compat(compat::Msg::Model("/a".into(), Ok(Box::new(model("a"))))));
    press(&mut app, "m / b enter esc");
    update(&mut app, Msg::Compat(compat::Msg::Model("/b".into(), Ok(Box::new(model("b"))))));
    let name = |app: &App| {
        app.tabs.compat.verdicts.assumptions().model.as_ref().map(|model| model.name.clone())
    };
    assert_eq!(name(&app).as_deref(), Some("a"));
    press(&mut app, "m enter");
    assert_eq!((name(&app), &app.tabs.compat.popup), (None, &None));
}

#[test]
fn models_found_here_are_picked_and_names_are_completed() {
    let mut app = app();
    assert_eq!(press(&mut app, "m"), [Cmd::Compat(compat::Cmd::ListModels)]);
    let choice = |name: &str| Choice { name: name.into(), detail: "2 GiB".into() };
    let found = vec![choice("llama3.1:8b"), choice("me/own-model")];
    update(&mut app, Msg::Compat(compat::Msg::Models(found.clone())));
    let read = |name: &str| [Cmd::Compat(compat::Cmd::ReadModel(name.into()))];
    assert_eq!(press(&mut app, "down down enter"), read("me/own-model"));
    assert_eq!(press(&mut app, "l l a m a 3 . 1 : tab enter"), read("llama3.1:8b"));
    press(&mut app, "esc m");
    update(&mut app, Msg::Compat(compat::Msg::Models(found)));
    assert_eq!(press(&mut app, "o w n - enter"), read("me/own-model"), "the first that matches");
    press(&mut app, "esc m");
    update(&mut app, Msg::Compat(compat::Msg::Models(Vec::new())));
    assert_eq!(
        press(&mut app, "q w e n 2 . 5 - 3 2 b - i n s t r u c t - a w q tab enter"),
        read(QWEN)
    );
}
