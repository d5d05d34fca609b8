//! Reads models on threads of their own: their folders may lie on a disk that is slow or gone.

use std::io;
use std::path::{Path, PathBuf};

use warpscope_probes::model::{Listed, Model, Places};

use super::aside;
use super::mailbox::MailboxSender;
use super::recording::state_folder;
use crate::features::compat::Msg;
use crate::features::compat::model::Choice;
use crate::features::compat::served::{Peak, Served};
use crate::io::sink::{recent_models, state_file};
use crate::widgets::format;

/// The file of what models were seen to take.
const SERVED: &str = "served.json";

/// Starts reading; the answer comes as an event. A model that was read is remembered.
pub(crate) fn read_aside(name: String, post: MailboxSender) -> io::Result<()> {
    aside("model", move || {
        let read = Model::open(Path::new(&name), &Places::of_this_user());
        if let (Ok(_), Some(file)) = (&read, remembered()) {
            // A list that cannot be kept costs nothing but the list.
            let _ = recent_models::remember(&file, &name);
        }
        let read = read.map(Box::new).map_err(|error| error.to_string());
        post.tell(Msg::Model(name, read));
    })
}

/// Starts looking for models; those asked about before come first.
pub(crate) fn list_aside(post: MailboxSender) -> io::Result<()> {
    aside("models", move || {
        let before = remembered().map(|file| recent_models::read(&file)).unwrap_or_default();
        let found = Model::list(&Places::of_this_user());
        let detail = |name: &String| found.iter().find(|one| one.name == *name).map(detail_of);
        let again = before.iter().map(|name| Choice {
            name: name.clone(),
            detail: detail(name).unwrap_or_else(|| "asked about before".to_owned()),
        });
        let new = found.iter().filter(|one| !before.contains(&one.name));
        let new = new.map(|one| Choice { name: one.name.clone(), detail: detail_of(one) });
        post.tell(Msg::Models(again.chain(new).collect()));
        let served = state_folder().map(|folder| state_file::read_list(&folder.join(SERVED)));
        post.tell(Msg::Served(served.unwrap_or_default()));
    })
}

/// Keeps what models were seen to take.
pub(crate) fn keep_aside(peaks: Vec<Peak>) -> io::Result<()> {
    aside("served", move || {
        let Some(file) = state_folder().map(|folder| folder.join(SERVED)) else { return };
        let all = Served::new(state_file::read_list(&file)).with(peaks);
        // A list that cannot be kept costs nothing but the list.
        let _ = state_file::write(&file, &all.peaks());
    })
}

/// `18.1 GiB safetensors, ~/.cache/huggingface/...`.
fn detail_of(one: &Listed) -> String {
    format!("{} {}, {}", format::bytes(one.bytes as f64), one.format, one.path.display())
}

/// The file in which models asked about are remembered.
fn remembered() -> Option<PathBuf> {
    Some(state_folder()?.join("models.json"))
}
