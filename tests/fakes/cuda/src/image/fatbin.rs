//! Fat binaries: a header, then entries of PTX and cubins, each with its target.

use warpscope_kernels::{Sm, Suffix};

pub(super) const MAGIC: u32 = 0xba55_ed50;
/// What `nvcc` puts in front in a host program: a pointer to the fat binary proper.
pub(super) const WRAPPER: u32 = 0x4662_43b1;

const PTX: u16 = 1;
const CUBIN: u16 = 2;
const COMPRESSED: u64 = 0x1000 | 0x2000 | 0x8000;
const ARCH: u64 = 0x10_0000;
const FAMILY: u64 = 0x20_0000;

/// One image of a fat binary.
pub(super) struct Entry<'a> {
    pub(super) is_ptx: bool,
    pub(super) target: Sm,
    /// Its bytes, unless they are compressed.
    pub(super) payload: Option<&'a [u8]>,
}

/// Size by the header's own account.
pub(super) fn length(header: &[u8; 16]) -> Option<usize> {
    let body = u64::from_le_bytes(header.last_chunk().copied()?);
    let head = u16::from_le_bytes([header[6], header[7]]);
    usize::try_from(body).ok()?.checked_add(head.into()).filter(|size| *size <= 1 << 30)
}

/// The entries, in order.
pub(super) fn entries(bytes: &[u8]) -> Option<Vec<Entry<'_>>> {
    let header = bytes.first_chunk::<16>()?;
    let mut rest =
        bytes.get(usize::from(u16::from_le_bytes([header[6], header[7]]))..length(header)?)?;
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let u32_at = |at: usize| Some(u32::from_le_bytes(rest.get(at..)?.first_chunk().copied()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(rest.get(at..)?.first_chunk().copied()?));
        let kind = u16::from_le_bytes(*rest.first_chunk()?);
        let head = u32_at(4)? as usize;
        let padded = usize::try_from(u64_at(8)?).ok()?;
        let end = head.checked_add(padded).filter(|end| *end > 0)?;
        let (sm, flags) = (u32_at(28)?, u64_at(40)?);
        let suffix = match flags {
            _ if flags & ARCH != 0 => Suffix::Arch,
            _ if flags & FAMILY != 0 => Suffix::Family,
            _ => Suffix::None,
        };
        let target = Sm { major: u8::try_from(sm / 10).ok()?, minor: (sm % 10) as u8, suffix };
        let body = rest.get(head..end)?;
        let payload = (flags & COMPRESSED == 0).then_some(body);
        if matches!(kind, PTX | CUBIN) {
            entries.push(Entry { is_ptx: kind == PTX, target, payload });
        }
        rest = rest.get(end..)?;
    }
    Some(entries)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A fat binary of uncompressed images.
    pub(crate) fn fatbin(images: &[(bool, Sm, Vec<u8>)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (is_ptx, target, payload) in images {
            let mut head = [0_u8; 64];
            head[0] = if *is_ptx { 1 } else { 2 };
            head[4] = 64;
            head[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
            head[28] = target.major * 10 + target.minor;
            body.extend_from_slice(&head);
            body.extend_from_slice(payload);
        }
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend_from_slice(&[1, 0, 16, 0]);
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    #[test]
    fn no_bytes_make_it_panic_or_hang() {
        let whole = fatbin(&[(true, Sm::new(7, 0), b"ptx\0".to_vec())]);
        assert_eq!(entries(&whole).map(|entries| entries.len()), Some(1));
        for end in 0..whole.len() {
            assert!(entries(&whole[..end]).is_none());
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0xff;
            let _ = entries(&changed);
        }
    }
}
