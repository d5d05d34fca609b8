use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::caller::{Credentials, private_group};
use super::check;
use super::policy::{Facts, Kind, Mounter, Objection, Trustees};
use crate::inspect::env::elf::tests::library;

const ME: Trustees = Trustees { user: Some(1000), private_group: Some(1000) };
const DT_NEEDED: u64 = 1;
const DT_RUNPATH: u64 = 29;

fn facts(kind: Kind, uid: u32, mode: u32) -> Facts {
    Facts { kind, uid, gid: 50, mode, device: 1, mounter: None, listed: false }
}

fn folder(uid: u32, mode: u32) -> Facts {
    facts(Kind::Folder, uid, mode)
}

/// Users 0 and 1000 against user 2000, by the rules of chmod(2), sticky(8) and rename(2).
#[test]
fn only_root_and_the_user_may_own_or_write_a_component() {
    let file = |uid, mode| facts(Kind::File, uid, mode);
    let safe = folder(0, 0o755);
    for (entry, want) in [
        (folder(0, 0o755), Ok(())),
        (folder(1000, 0o700), Ok(())),
        (folder(2000, 0o700), Err(Objection::Owner(2000))),
        (folder(65_534, 0o755), Err(Objection::Owner(65_534))),
        (folder(1000, 0o775), Err(Objection::GroupWrites(50))),
        (folder(1000, 0o757), Err(Objection::OthersWrite)),
        (folder(0, 0o1777), Ok(())),
        (folder(2000, 0o1777), Err(Objection::Owner(2000))),
        (file(0, 0o644), Ok(())),
        (file(1000, 0o755), Ok(())),
        (file(1000, 0o664), Err(Objection::GroupWrites(50))),
        (file(1000, 0o1666), Err(Objection::OthersWrite)),
        (file(2000, 0o644), Err(Objection::Owner(2000))),
        (facts(Kind::Link, 1000, 0o777), Ok(())),
        (facts(Kind::Link, 2000, 0o777), Err(Objection::Owner(2000))),
        (facts(Kind::Other, 0, 0o600), Err(Objection::NotAFile)),
    ] {
        assert_eq!(ME.enter(&safe, &entry), want, "{entry:?}");
    }
}

/// In a sticky folder nobody renames what is another's, but everybody adds to it and may mount there.
#[test]
fn of_a_shared_folder_only_own_folders_count() {
    let tmp = folder(0, 0o1777);
    assert_eq!(ME.enter(&tmp, &folder(1000, 0o700)), Ok(()));
    assert_eq!(ME.enter(&tmp, &folder(2000, 0o755)), Err(Objection::Owner(2000)));
    assert_eq!(ME.enter(&tmp, &facts(Kind::Link, 1000, 0o777)), Ok(()));
    assert_eq!(ME.enter(&tmp, &facts(Kind::File, 1000, 0o644)), Err(Objection::Shared));
    let mounted = Facts { device: 2, ..folder(0, 0o755) };
    assert_eq!(ME.enter(&tmp, &mounted), Err(Objection::Mounted));
    assert_eq!(ME.enter(&folder(0, 0o755), &mounted), Ok(()));
    assert_eq!(ME.loadable(&tmp), Err(Objection::Shared));
    assert_eq!(ME.loadable(&folder(1000, 0o755)), Ok(()));
}

/// Who mounts a file system says whose its files are.
#[test]
fn what_another_user_mounted_does_not_count_whatever_its_owner() {
    let by = |uid| Facts { mounter: Some(Mounter::User(uid)), device: 2, ..folder(0, 0o755) };
    for (uid, want) in [(0, Ok(())), (1000, Ok(())), (2000, Err(Objection::MountedBy(2000)))] {
        assert_eq!(ME.enter(&folder(0, 0o755), &by(uid)), want);
    }
    let stick = Facts { mounter: Some(Mounter::Anybody), device: 2, ..folder(0, 0o755) };
    assert_eq!(ME.enter(&folder(0, 0o755), &stick), Err(Objection::Mounted));
}

#[test]
fn a_group_of_the_users_own_may_write_unless_a_list_names_more() {
    let own = Facts { gid: 1000, ..folder(1000, 0o775) };
    assert_eq!(ME.loadable(&own), Ok(()));
    let listed = Facts { listed: true, ..own };
    assert_eq!(ME.loadable(&listed), Err(Objection::GroupWrites(1000)));
    let nobody = Trustees { user: None, private_group: None };
    assert_eq!(
        nobody.loadable(&own),
        Err(Objection::Owner(1000)),
        "a process with elevated privileges"
    );
    assert_eq!(nobody.loadable(&folder(0, 0o755)), Ok(()));
}

#[test]
fn a_private_group_has_the_users_name_and_nobody_else() {
    let passwd = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:100::/:/bin/sh\n";
    let group = "root:x:0:\nann:x:1000:\nusers:x:100:\n";
    assert_eq!(private_group(1000, passwd, group), Some(1000));
    assert_eq!(private_group(1001, passwd, group), None, "it has another name");
    assert_eq!(private_group(1002, passwd, group), None, "no such user");
    assert_eq!(private_group(1000, passwd, ""), None, "no such group");
    let own = group.replace("ann:x:1000:", "ann:x:1000:ann");
    assert_eq!(private_group(1000, passwd, &own), Some(1000));
    for members in ["bob", "ann,bob"] {
        let shared = group.replace("ann:x:1000:", &format!("ann:x:1000:{members}"));
        assert_eq!(private_group(1000, passwd, &shared), None, "{members}");
    }
    let second = format!("{group}ann2:x:1000:bob\n");
    assert_eq!(private_group(1000, passwd, &second), None, "the same number under two names");
    let primary = format!("{passwd}eve:x:1002:1000::/:/bin/sh\n");
    assert_eq!(private_group(1000, &primary, group), None, "the first group of another user");
}

#[test]
fn rights_beyond_the_users_are_seen() {
    let plain =
        Credentials { users: [1000; 2], groups: [1000; 2], capabilities: Some(0), secure: false };
    assert_eq!(plain.elevated(), None);
    let root = Credentials { users: [0; 2], capabilities: Some(u64::MAX), ..plain };
    assert_eq!(root.elevated(), None, "root has nothing more to gain");
    for elevated in [
        Credentials { users: [1000, 0], ..plain },
        Credentials { users: [0, 1000], ..plain },
        Credentials { groups: [1000, 44], ..plain },
        Credentials { capabilities: Some(1 << 19), ..plain },
        Credentials { capabilities: None, ..plain },
        Credentials { secure: true, ..plain },
        Credentials { secure: true, ..root },
    ] {
        assert!(elevated.elevated().is_some(), "{elevated:?}");
        assert_eq!(elevated.trustees(), Trustees { user: None, private_group: None });
    }
}

/// A folder with a library in `lib`, all of it the user's own.
struct Tree(TempDir);

impl Tree {
    /// Nothing where temporary folders of this machine are not the user's own.
    fn new() -> Option<Self> {
        let tree = Self(TempDir::new().expect("a folder"));
        fs::create_dir(tree.at("lib")).expect("a folder");
        tree.library("lib/libcublas.so.12", &[]);
        if let Err(why) = check(&tree.at("lib/libcublas.so.12")) {
            println!("SKIPPED: temporary folders are not trusted here: {why}");
            return None;
        }
        Some(tree)
    }

    fn at(&self, path: &str) -> PathBuf {
        let folder = self.0.path().canonicalize().expect("is there");
        if path.is_empty() { folder } else { folder.join(path) }
    }

    fn library(&self, path: &str, entries: &[(u64, &str)]) {
        fs::write(self.at(path), library(entries)).expect("writes");
        self.mode(path, 0o644);
    }

    fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).expect("own");
    }

    fn check(&self) -> Result<PathBuf, String> {
        check(&self.at("lib/libcublas.so.12")).map_err(|why| why.to_string())
    }

    #[track_caller]
    fn refused(&self, component: &str, why: &str) {
        let said = self.check().expect_err("is refused");
        let component = format!(" {} ", self.at(component).display());
        assert!(said.contains(&component) && said.contains(why), "{said}");
    }
}

#[test]
fn what_others_can_write_is_refused_by_the_component_they_can_write() {
    let Some(tree) = Tree::new() else { return };
    let path = tree.at("lib/libcublas.so.12");
    assert_eq!(tree.check(), Ok(path));
    tree.mode("lib/libcublas.so.12", 0o646);
    tree.refused("lib/libcublas.so.12", "writable by everybody: chmod o-w");
    tree.mode("lib/libcublas.so.12", 0o644);
    for mode in [0o777, 0o1777] {
        tree.mode("lib", mode);
        tree.refused("lib", if mode == 0o777 { "writable by everybody" } else { "is shared" });
    }
    tree.mode("lib", 0o755);
    tree.mode("", 0o777);
    tree.refused("", "writable by everybody");
    tree.mode("", 0o1777);
    assert!(tree.check().is_ok(), "nobody can rename what is the user's own in a sticky folder");
}

#[test]
fn links_are_followed_where_they_and_their_targets_are_trusted() {
    let Some(tree) = Tree::new() else { return };
    symlink(tree.at("lib"), tree.at("link")).expect("links");
    symlink("../lib/libcublas.so.12", tree.at("lib/libcublas.so")).expect("links");
    let found = |path: &str| check(&tree.at(path)).map_err(|why| why.to_string());
    // The folder is resolved; the name stays.
    assert_eq!(found("link/libcublas.so"), Ok(tree.at("lib/libcublas.so")));
    assert_eq!(found("link/../lib/./libcublas.so.12"), Ok(tree.at("lib/libcublas.so.12")));
    fs::create_dir(tree.at("open")).expect("a folder");
    tree.library("open/x.so", &[]);
    tree.mode("open", 0o777);
    fs::remove_file(tree.at("lib/libcublas.so.12")).expect("own");
    symlink(tree.at("open/x.so"), tree.at("lib/libcublas.so.12")).expect("links");
    tree.refused("open", "writable by everybody");
    tree.mode("open", 0o1777);
    tree.refused("open", "is shared");
    symlink("loop", tree.at("loop")).expect("links");
    assert!(found("loop/x.so").is_err_and(|why| why.contains("cannot be checked")));
    assert!(check(Path::new("lib/x.so")).is_err_and(|why| why.to_string().contains("relative")));
    let contained =
        Path::new("/proc/self/root").join(tree.at("open/x.so").strip_prefix("/").expect("is"));
    assert!(check(&contained).is_err_and(|why| why.to_string().contains("/proc")), "{contained:?}");
}

/// The loader takes dependencies from the library's folder and from its run path.
#[test]
fn what_would_be_loaded_along_is_held_to_the_same() {
    let Some(tree) = Tree::new() else { return };
    tree.library("lib/libcublasLt.so.12", &[]);
    assert!(tree.check().is_ok());
    tree.mode("lib/libcublasLt.so.12", 0o666);
    tree.refused("lib/libcublasLt.so.12", "writable by everybody");
    fs::remove_file(tree.at("lib/libcublasLt.so.12")).expect("own");
    for place in ["$ORIGIN/../more", "${ORIGIN}/../more/new"] {
        tree.library("lib/libcublas.so.12", &[(DT_NEEDED, "libmore.so"), (DT_RUNPATH, place)]);
        let _ = fs::create_dir(tree.at("more"));
        tree.mode("more", 0o777);
        tree.refused("more", "writable by everybody");
        tree.mode("more", 0o755);
        assert!(tree.check().is_ok(), "{place}");
    }
    tree.library(
        "lib/libcublas.so.12",
        &[(DT_NEEDED, "libmore.so"), (DT_RUNPATH, "$ORIGIN/../more")],
    );
    tree.library("more/libmore.so", &[]);
    tree.mode("more/libmore.so", 0o666);
    tree.refused("more/libmore.so", "writable by everybody");
    for (needs, place) in
        [("a.so", "."), ("a.so", ":/usr/lib"), ("a.so", "/$LIB"), ("./a.so", "/usr/lib")]
    {
        tree.library("lib/libcublas.so.12", &[(DT_NEEDED, needs), (DT_RUNPATH, place)]);
        tree.refused("lib/libcublas.so.12", "depends on the process");
    }
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    let Some(tree) = Tree::new() else { return };
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can give files to another user");
        return;
    }
    let give = |path: &str, uid| chown(tree.at(path), Some(uid), Some(uid)).expect("root may");
    for part in ["lib/libcublas.so.12", "lib", ""] {
        give(part, 65_534);
        tree.refused(part, "belongs to uid 65534");
        give(part, 0);
        assert!(tree.check().is_ok());
    }
    tree.mode("lib", 0o775);
    chown(tree.at("lib"), None, Some(4711)).expect("root may");
    tree.refused("lib", "writable by group 4711: chmod g-w");
    symlink(tree.at("lib"), tree.at("link")).expect("links");
    std::os::unix::fs::lchown(tree.at("link"), Some(65_534), None).expect("root may");
    let said = check(&tree.at("link/libcublas.so.12")).expect_err("is refused").to_string();
    assert!(said.contains("symbolic link") && said.contains("uid 65534"), "{said}");
}
