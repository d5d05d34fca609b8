//! The two directives at the beginning of PTX.

use warpscope_kernels::Sm;

/// `.version` and `.target`.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) version: (u8, u8),
    pub(super) target: Sm,
}

/// Reads them; comments may stand before.
pub(super) fn read(text: &str) -> Option<Header> {
    let mut rest = text;
    let version = directive(&mut rest, ".version")?;
    let target = directive(&mut rest, ".target")?;
    let (major, minor) = version.split_once('.')?;
    Some(Header {
        version: (major.parse().ok()?, minor.parse().ok()?),
        target: target.parse().ok()?,
    })
}

/// The word after a directive, which must be the next thing.
fn directive<'a>(rest: &mut &'a str, name: &str) -> Option<&'a str> {
    let after = skip(rest).strip_prefix(name)?.trim_start();
    let end = after.find(|c: char| c.is_whitespace() || c == ',')?;
    let (word, others) = after.split_at(end);
    // What else a target line says, as in `.target sm_70, debug`.
    *rest = if others.starts_with(',') { others.split_once('\n')?.1 } else { others };
    Some(word)
}

/// Past white space and comments.
fn skip(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let after = if let Some(comment) = rest.strip_prefix("//") {
            comment.split_once('\n').map_or("", |split| split.1)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |split| split.1)
        } else {
            return rest;
        };
        rest = after.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_compiler_writes_and_nothing_else() {
        let read = |text| read(text).map(|it| (it.version, it.target.to_string()));
        let want = |version, target: &str| Some((version, target.to_owned()));
        assert_eq!(read("//\n// x\n//\n\n.version 8.8\n.target sm_90a\n"), want((8, 8), "sm_90a"));
        assert_eq!(
            read("/* .version 1 */ .version 6.3 .target sm_70, debug\n.x"),
            want((6, 3), "sm_70")
        );
        for wrong in
            ["", ".version 8", ".version 8.8\n", ".target sm_70\n.version 6.0\n", "// .version"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
