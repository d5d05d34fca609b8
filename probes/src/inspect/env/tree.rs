//! A file system in memory: what is kept of a container image while its layers are read.
//!
//! Only what tells of environments is in it, so that an image of many gigabytes fits; the same finders then walk it as walk a disk.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A file, of which the contents are kept only where they tell something.
    File {
        bytes: u64,
        contents: Option<Rc<[u8]>>,
        /// Which layer it is in.
        layer: usize,
        /// Where its contents begin there.
        offset: u64,
    },
    Link(PathBuf),
    Folder,
}

/// Entries by path; a folder is there when something is in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    nodes: BTreeMap<PathBuf, Node>,
}

impl Tree {
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Puts an entry in, and the folders above it.
    pub(super) fn put(&mut self, path: &Path, node: Node) {
        if !matches!(node, Node::Folder) {
            self.remove(path);
        }
        for above in path.ancestors().skip(1) {
            match self.nodes.get(above) {
                Some(Node::Folder) => break,
                // A link to a folder may stand above; whatever else stood there has been replaced.
                Some(Node::Link(_)) => {}
                _ => drop(self.nodes.insert(above.to_owned(), Node::Folder)),
            }
        }
        self.nodes.insert(path.to_owned(), node);
    }

    /// Takes an entry out, and everything below it.
    pub(super) fn remove(&mut self, path: &Path) {
        self.nodes.remove(path);
        self.remove_below(path);
    }

    /// Takes everything below a folder out.
    pub(super) fn remove_below(&mut self, path: &Path) {
        let below: Vec<_> = self.below(path).map(|(path, _)| path.clone()).collect();
        for path in below {
            self.nodes.remove(&path);
        }
    }

    pub(super) fn get(&self, path: &Path) -> Option<&Node> {
        self.nodes.get(path)
    }

    /// Files and where they are.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&PathBuf, &Node)> {
        self.nodes.iter()
    }

    fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = (&'a PathBuf, &'a Node)> {
        // Paths are ordered by component, so what is below a folder follows it at once.
        let from = (std::ops::Bound::Excluded(path), std::ops::Bound::Unbounded);
        self.nodes.range::<Path, _>(from).take_while(move |(below, _)| below.starts_with(path))
    }

    /// Names in a folder.
    pub(super) fn list(&self, folder: &Path) -> Vec<OsString> {
        let direct = self.below(folder).filter(|(path, _)| path.parent() == Some(folder));
        direct.filter_map(|(path, _)| path.file_name().map(OsString::from)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Node {
        Node::File { bytes: 1, contents: None, layer: 0, offset: 0 }
    }

    #[test]
    fn folders_come_and_go_with_what_is_in_them() {
        let mut tree = Tree::default();
        for path in ["/a/b/c", "/a/b.c", "/a-x/y", "/a/d"] {
            tree.put(Path::new(path), file());
        }
        assert_eq!(tree.list(Path::new("/a")), ["b", "b.c", "d"]);
        assert_eq!(tree.list(Path::new("/")), ["a", "a-x"]);
        tree.remove(Path::new("/a/b"));
        assert_eq!(tree.list(Path::new("/a")), ["b.c", "d"]);
        tree.remove_below(Path::new("/a"));
        assert_eq!(tree.get(Path::new("/a")), Some(&Node::Folder));
        assert_eq!(tree.list(Path::new("/a-x")), ["y"]);
        tree.put(Path::new("/a-x"), file());
        assert_eq!(tree.get(Path::new("/a-x/y")), None, "a file has replaced the folder");
    }
}
