use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::files;

/// Names of user ids, from `/etc/passwd`, read when an id is first met. Users of a directory
/// service are not in it and keep their number: asking the service could block for seconds.
pub(super) struct Users {
    passwd: PathBuf,
    names: HashMap<u32, String>,
}

impl Users {
    pub(super) fn new(root: &Path) -> Self {
        Self { passwd: root.join("etc/passwd"), names: HashMap::new() }
    }

    /// The name, or the number where there is none.
    pub(super) fn name(&mut self, uid: u32) -> String {
        let passwd = &self.passwd;
        let look_up = || look_up(passwd, uid).unwrap_or_else(|| uid.to_string());
        self.names.entry(uid).or_insert_with(look_up).clone()
    }
}

fn look_up(passwd: &Path, uid: u32) -> Option<String> {
    let text = files::text(passwd, 1 << 20);
    text.value()?.lines().find_map(|line| {
        let mut columns = line.split(':');
        let name = columns.next().filter(|name| !name.is_empty())?;
        let id: u32 = columns.nth(1)?.parse().ok()?;
        (id == uid).then(|| name.to_owned())
    })
}
