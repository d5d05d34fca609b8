//! Archives around inputs, and inputs of several files.

/// Parts of an input of several files: each begins with a line `@@ NAME`. Names are unique only if the input makes them so.
pub(crate) fn sections(bytes: &[u8]) -> Vec<(&str, &[u8])> {
    const MARK: &[u8] = b"@@ ";
    let starts = |at: usize| (at == 0 || bytes[at - 1] == b'\n') && bytes[at..].starts_with(MARK);
    let starts: Vec<usize> = (0..bytes.len()).filter(|at| starts(*at)).collect();
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    let part = |(start, end): (&usize, usize)| {
        let part = &bytes[start + MARK.len()..end];
        let line = part.iter().position(|byte| *byte == b'\n').unwrap_or(part.len());
        let name = std::str::from_utf8(&part[..line]).ok()?;
        Some((name, part.get(line + 1..).unwrap_or_default()))
    };
    starts.iter().zip(ends).filter_map(part).collect()
}

/// Appends a member to a tar archive.
pub(crate) fn put(tar: &mut Vec<u8>, name: &str, contents: &[u8]) {
    let mut header = [0; 512];
    let name = &name.as_bytes()[..name.len().min(100)];
    header[..name.len()].copy_from_slice(name);
    header[124..136].copy_from_slice(format!("{:011o}\0", contents.len()).as_bytes());
    header[156] = b'0';
    header[257..263].copy_from_slice(b"ustar\0");
    checksum(&mut header);
    tar.extend(header);
    tar.extend(contents);
    tar.resize(tar.len().next_multiple_of(512), 0);
}

/// What `docker save` writes of an image of one layer.
pub(crate) fn image(layer: &[u8]) -> Vec<u8> {
    let mut tar = Vec::new();
    put(
        &mut tar,
        "manifest.json",
        br#"[{"Config":"c.json","RepoTags":["a:1"],"Layers":["layer"]}]"#,
    );
    put(&mut tar, "c.json", br#"{"architecture":"amd64","config":{"Env":["PATH=/v/bin"]}}"#);
    put(&mut tar, "layer", layer);
    tar
}

/// Makes the checksums of a mutated archive right again, so that its readers come past them.
pub(crate) fn mend(tar: &mut [u8]) {
    let mut at = 0;
    while let Some(header) = tar.get_mut(at..at + 512) {
        checksum(header);
        let digits = header[124..136].iter().take_while(|byte| byte.is_ascii_digit());
        let size = digits.fold(0_usize, |size, digit| (size << 3) + usize::from(digit & 7));
        at = at.saturating_add(512).saturating_add(size.next_multiple_of(512));
    }
}

fn checksum(header: &mut [u8]) {
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_split_at_its_marks() {
        let parts = sections(b"lost\n@@ a/b\none\n@@ \n@@ c\nx @@ y\n@@ d");
        let want: [(&str, &[u8]); 4] =
            [("a/b", b"one\n"), ("", b""), ("c", b"x @@ y\n"), ("d", b"")];
        assert_eq!(parts, want);
    }

    #[test]
    fn mending_gives_back_the_checksums_that_were_written() {
        let whole = image(&[7; 600]);
        let mut torn = whole.clone();
        for header in [0, 1024, 2048] {
            torn[header + 148..header + 156].fill(b'x');
        }
        assert_ne!(torn, whole);
        mend(&mut torn);
        assert_eq!(torn, whole);
        mend(&mut torn[..700]);
    }
}
