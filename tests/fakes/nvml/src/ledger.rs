//! What processes hold on the boards and which boards they lost: written by the stand-in driver, shown by the stand-in NVML,
//! as hardware would. One file a process, named by its number, in the folder that `FAKE_LEDGER` names; without it nothing is
//! written and nothing is there.

use std::path::{Path, PathBuf};

/// What one process did to the boards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its number.
    pub process: u32,
    /// Boards and bytes it holds on them.
    pub memory: Vec<(usize, u64)>,
    /// Boards that fell off the bus under it.
    pub lost: Vec<usize>,
}

/// The folder, if there is one.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os("FAKE_LEDGER").filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// Every page there is. Memory goes with its process; a board that is lost stays so.
pub fn pages() -> Vec<Page> {
    let Some(Ok(files)) = folder().map(std::fs::read_dir) else { return Vec::new() };
    files.filter_map(|file| read(&file.ok()?.path())).collect()
}

/// Whether a board is lost.
pub fn lost(board: usize) -> bool {
    pages().iter().any(|page| page.lost.contains(&board))
}

fn read(path: &Path) -> Option<Page> {
    let process = path.file_name()?.to_str()?.parse().ok()?;
    let mut page = Page { process, ..Page::default() };
    for line in std::fs::read_to_string(path).ok()?.lines() {
        let mut words = line.split(' ');
        match (words.next()?, words.next()?.parse().ok()?, words.next()) {
            ("memory", board, Some(bytes)) => page.memory.push((board, bytes.parse().ok()?)),
            ("lost", board, None) => page.lost.push(board),
            _ => return None,
        }
    }
    if !Path::new(&format!("/proc/{process}")).exists() {
        page.memory.clear();
    }
    Some(page)
}

impl Page {
    /// The text of the file.
    pub fn text(&self) -> String {
        let memory = self.memory.iter().map(|(board, bytes)| format!("memory {board} {bytes}\n"));
        let lost = self.lost.iter().map(|board| format!("lost {board}\n"));
        memory.chain(lost).collect()
    }

    /// Puts the page in place of the one before.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        let new = folder.join(format!("{}.new", self.process));
        std::fs::write(&new, self.text())?;
        std::fs::rename(new, folder.join(self.process.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_it_was_written_and_memory_ends_with_its_process() {
        let folder = std::env::temp_dir().join(format!("ledger-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let own = std::process::id();
        let page = Page { process: own, memory: vec![(0, 5 << 30), (2, 7)], lost: vec![1] };
        page.write(&folder).expect("room");
        assert_eq!(read(&folder.join(own.to_string())), Some(page.clone()));
        // Above any number the kernel gives.
        let gone = Page { process: 4_200_002, ..page };
        gone.write(&folder).expect("room");
        let found = read(&folder.join("4200002")).expect("a page");
        assert_eq!((found.memory, found.lost), (Vec::new(), vec![1]));
        std::fs::write(folder.join("77"), "memory x\n").expect("room");
        assert_eq!(read(&folder.join("77")), None);
        std::fs::remove_dir_all(folder).expect("own folder");
    }
}
