//! Finds the cause of an error on a thread of its own: the text may be long, and libraries are looked into.

use std::io;
use std::sync::Arc;

use warpscope_probes::Frame;
use warpscope_probes::rules::RuleBase;

use super::aside;
use super::mailbox::MailboxSender;
use crate::engine::explain::{Reader, explain};
use crate::io::machine;
use crate::shell::Msg;

/// Starts reading; the answer comes as an event. Facts of this machine count only if the frame `is_here`.
pub(crate) fn explain_aside(
    text: Arc<str>,
    (frame, is_here): (Frame, bool),
    post: MailboxSender,
) -> io::Result<()> {
    aside("explain", move || {
        let mut reader = Reader::default();
        reader.push(text.as_bytes());
        let digest = reader.finish();
        let variable = |name: &str| std::env::var(name).ok();
        let variable: Option<machine::Variable<'_>> = if is_here { Some(&variable) } else { None };
        let mut facts = machine::facts_for(&digest, &frame, variable);
        if is_here {
            facts.join(&machine::libraries(&digest, None));
        }
        let answer = explain(&digest, &facts, &RuleBase::shared());
        post.tell(Msg::Explained(text, Arc::new(answer)));
    })
}
