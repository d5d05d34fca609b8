//! Reads a model on a thread of its own: its folder may lie on a disk that is slow or gone.

use std::io;
use std::path::PathBuf;
use std::thread;

use warpscope_probes::model::Model;

use super::mailbox::MailboxSender;
use crate::features::compat::Msg;

/// Starts reading; the answer comes as an event.
pub(crate) fn read_aside(path: String, post: MailboxSender) -> io::Result<()> {
    let work = move || {
        let read = Model::read(&at_home(&path)).map_err(|error| error.to_string());
        post.tell(Msg::Model(path, read));
    };
    thread::Builder::new().name("model".into()).spawn(work).map(drop)
}

/// The path with a leading `~` replaced, as a shell does.
fn at_home(path: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(path),
    }
}
