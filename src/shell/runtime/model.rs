//! Reads a model on a thread of its own: its folder may lie on a disk that is slow or gone.

use std::io;
use std::path::Path;
use std::thread;

use warpscope_probes::model::{Model, Places};

use super::mailbox::Post;
use crate::features::compat::Msg;

/// Starts reading; the answer comes as an event.
pub(crate) fn read_aside(path: String, post: Post) -> io::Result<()> {
    let work = move || {
        let read = Model::open(Path::new(&path), &Places::of_this_user())
            .map_err(|error| error.to_string());
        post.tell(Msg::Model(path, Box::new(read)));
    };
    thread::Builder::new().name("model".into()).spawn(work).map(drop)
}
