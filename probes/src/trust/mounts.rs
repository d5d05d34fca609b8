//! Who mounted a file system. Whose files are on it is what the file system says, and who mounts it has made that up where they like.

use std::path::Path;

use rustix::fs::{fstatfs, major, minor};

use super::policy::Mounter;

/// `FUSE_SUPER_MAGIC` of linux/fuse_fs_i.h.
const FUSE: u64 = 0x6573_5546;
/// Where users in front of the machine mount disks and images of their own, by udisks for one.
const REMOVABLE: [&str; 2] = ["/media", "/run/media"];

/// Who mounted what is found at a path, where that is not the system.
pub(super) fn mounter(
    path: &Path,
    descriptor: impl std::os::fd::AsFd,
    device: u64,
) -> Option<Mounter> {
    if REMOVABLE.iter().any(|folder| path.starts_with(folder)) {
        return Some(Mounter::Anybody);
    }
    let found = fstatfs(descriptor);
    if found.is_ok_and(|found| found.f_type as u64 != FUSE) {
        return None;
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    of_fuse(&mounts, &format!("{}:{}", major(device), minor(device)))
}

/// The user who serves a file system of FUSE, by `/proc/self/mountinfo`; anybody where that is not told.
fn of_fuse(mounts: &str, device: &str) -> Option<Mounter> {
    let mut on_device = mounts.lines().filter(|line| line.split(' ').nth(2) == Some(device));
    let Some((_, about)) = on_device.find_map(|line| line.split_once(" - ")) else {
        return Some(Mounter::Anybody);
    };
    let mut words = about.split(' ');
    // A share of the host of a virtual machine: only root mounts it.
    if words.next() == Some("virtiofs") {
        return None;
    }
    let options = words.nth(1).unwrap_or_default();
    let user = options.split(',').find_map(|option| option.strip_prefix("user_id="));
    let user = user.and_then(|user| user.parse().ok());
    Some(user.map_or(Mounter::Anybody, Mounter::User))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as `proc_pid_mountinfo(5)` describes them, options as the kernel's fuse documentation does.
    #[test]
    fn a_file_system_of_fuse_is_its_users() {
        let mounts = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
90 22 0:51 / /home/eve/x rw,nosuid,nodev shared:9 - fuse.sshfs eve@host: rw,user_id=1001,group_id=1001,allow_other
91 22 0:52 / /data rw - fuse.glusterfs a:/b rw,user_id=0,group_id=0,default_permissions,allow_other
92 22 0:53 / /share rw - virtiofs share rw
93 22 0:54 / /odd rw - fuse x rw,user_id=me
";
        let of = |device| of_fuse(mounts, device);
        assert_eq!(of("0:51"), Some(Mounter::User(1001)));
        assert_eq!(of("0:52"), Some(Mounter::User(0)));
        assert_eq!(of("0:53"), None);
        assert_eq!(of("0:54"), Some(Mounter::Anybody));
        assert_eq!(of("0:99"), Some(Mounter::Anybody), "nothing is known of it");
    }

    #[test]
    fn disks_of_users_are_theirs_and_the_system_is_nobodys() {
        let root = std::fs::File::open("/").expect("is there");
        let of = |path: &str| mounter(Path::new(path), &root, 0);
        assert_eq!(of("/media/eve/stick"), Some(Mounter::Anybody));
        assert_eq!(of("/run/media/eve/stick"), Some(Mounter::Anybody));
        assert_eq!(of("/mediatheque"), of("/"));
    }
}
