use std::{io, thread};

use crossterm::event::{self, Event as Input, KeyEventKind, MouseButton, MouseEventKind};

use super::{Event, MailboxSender};
use crate::shell::Msg;
use crate::widgets::Hits;

/// The hang-up signal's number: what a terminal that goes away amounts to.
const HANGUP: i32 = 1;

/// Reads the terminal on a thread of its own until the terminal or the owner goes away.
pub(crate) fn listen(post: MailboxSender) -> io::Result<()> {
    let read = move || {
        loop {
            match event::read() {
                Ok(input) => {
                    if !post.send(Event::Input(input)) {
                        return;
                    }
                }
                Err(_) => {
                    post.send(Event::End(HANGUP));
                    return;
                }
            }
        }
    };
    thread::Builder::new().name("input".into()).stack_size(256 << 10).spawn(read).map(drop)
}

/// What an input event means on the screen that was drawn last.
pub(crate) fn message(input: Input, hits: &Hits) -> Option<Msg> {
    match input {
        Input::Key(key) if key.kind != KeyEventKind::Release => Some(Msg::Key(key.into())),
        Input::Paste(text) => Some(Msg::Pasted(text)),
        Input::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                hits.at(mouse.column, mouse.row).map(Msg::Click)
            }
            MouseEventKind::ScrollUp => Some(Msg::Scroll(-3)),
            MouseEventKind::ScrollDown => Some(Msg::Scroll(3)),
            _ => None,
        },
        _ => None,
    }
}
