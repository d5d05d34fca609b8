//! What the files beside an installed package say: METADATA, RECORD, INSTALLER, `direct_url.json`, PKG-INFO, `version.py`.
//!
//! Formats: PyPA "Recording installed projects", "Core metadata", "Direct URL". Pure functions over text; whatever is too long or
//! makes no sense is left out.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde::Deserialize;

use crate::text::printable;

/// Longest name or version believed.
const LONGEST: usize = 256;

/// Requirements kept of one package.
const MOST_REQUIREMENTS: usize = 1024;

/// What METADATA or PKG-INFO says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) requires: Vec<String>,
}

impl Metadata {
    /// Reads the header fields; the description below them is not looked at.
    pub(super) fn parse(text: &str) -> Self {
        let mut metadata = Self::default();
        let headers = text.trim_start_matches('\u{feff}').lines();
        for line in headers.take_while(|line| !line.is_empty()) {
            // A line that begins with a blank continues the one before; none of the three fields is ever folded.
            let Some((key, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match key {
                _ if value.len() > 4 * LONGEST => {}
                "Name" if metadata.name.is_empty() => metadata.name = short(value),
                "Version" if metadata.version.is_empty() => metadata.version = short(value),
                "Requires-Dist" if metadata.requires.len() < MOST_REQUIREMENTS => {
                    metadata.requires.push(printable(value));
                }
                _ => {}
            }
        }
        metadata
    }

    /// Name and version from a folder's name: `torch-2.8.0+cu128.dist-info`, `PyJWT-2.6.0-py3.11.egg-info`.
    pub(super) fn from_folder(folder: &str) -> Self {
        let stem = folder.rsplit_once('.').map_or(folder, |(stem, _)| stem);
        let (name, rest) = stem.split_once('-').unwrap_or((stem, ""));
        let version = rest.split('-').next().unwrap_or_default();
        Self { name: short(name), version: short(version), requires: Vec::new() }
    }

    /// Fills what is missing from another.
    pub(super) fn or(mut self, other: Self) -> Self {
        if self.name.is_empty() {
            self.name = other.name;
        }
        if self.version.is_empty() {
            self.version = other.version;
        }
        self
    }
}

/// The unconditional part of setuptools' `requires.txt`.
pub(super) fn requires_txt(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with('['));
    let lines = lines.filter(|line| !line.is_empty() && line.len() <= 4 * LONGEST);
    lines.take(MOST_REQUIREMENTS).map(printable).collect()
}

/// A name as PEP 503 compares it: lower case, runs of `-`, `_` and `.` as one `-`.
pub fn normalized(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if plain.ends_with('-') => {}
            '-' | '_' | '.' => plain.push('-'),
            c => plain.extend(c.to_lowercase()),
        }
    }
    plain
}

/// Public and local part of a version: `2.8.0+cu128`.
pub(super) fn split_version(version: &str) -> (String, Option<String>) {
    match version.split_once('+') {
        Some((public, local)) => (public.to_owned(), Some(local.to_owned())),
        None => (version.to_owned(), None),
    }
}

/// The path of one line of RECORD, which is CSV: `path,hash,size`, quoted where the path holds a comma.
pub(super) fn record_path(line: &str) -> Option<String> {
    let Some(quoted) = line.strip_prefix('"') else {
        return line.split(',').next().filter(|path| !path.is_empty()).map(str::to_owned);
    };
    let mut path = String::new();
    let mut rest = quoted.chars();
    while let Some(c) = rest.next() {
        if c != '"' {
            path.push(c);
        } else if rest.next() == Some('"') {
            path.push('"');
        } else {
            return Some(path).filter(|path| !path.is_empty());
        }
    }
    None
}

/// The size one line of RECORD gives; its last column. The hash before it is not compared: that reads every byte, some seconds for each
/// gigabyte, where the tables of device code are a few pages, and what is cut short or missing shows in the size.
pub(super) fn record_size(line: &str) -> Option<u64> {
    line.rsplit(',').next()?.parse().ok()
}

/// Whether a file may hold device code or be loaded: shared libraries of every system, and device code by itself.
pub(super) fn is_library(name: &str) -> bool {
    const ENDS: &[&str] = &[".so", ".pyd", ".dll", ".dylib", ".cubin", ".fatbin", ".ptx"];
    if ENDS.iter().any(|end| name.ends_with(end)) {
        return true;
    }
    let numbered = name.rsplit_once(".so.").map(|(_, version)| version);
    numbered.is_some_and(|version| {
        version.starts_with(|c: char| c.is_ascii_digit())
            && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
    })
}

/// Where a package came from when not from an index, as `direct_url.json` says it.
#[derive(Deserialize)]
pub(super) struct DirectUrl {
    url: String,
    #[serde(default)]
    dir_info: DirInfo,
    #[serde(default)]
    vcs_info: VcsInfo,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DirInfo {
    editable: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct VcsInfo {
    commit_id: String,
}

impl DirectUrl {
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// A folder, an archive, a repository.
    pub(super) fn source(&self) -> String {
        let url = without_credentials(&self.url);
        printable(&match self.vcs_info.commit_id.as_str() {
            _ if self.dir_info.editable => format!("{url} (editable)"),
            "" => url,
            commit => format!("{url}@{commit}"),
        })
    }

    /// The folder of a project that is installed where it lies (PEP 660).
    pub(super) fn editable(&self) -> Option<PathBuf> {
        let path = self.url.strip_prefix("file://").filter(|_| self.dir_info.editable)?;
        Some(PathBuf::from(decoded(path)?)).filter(|path| path.is_absolute())
    }
}

/// A path as a URL writes it: `/my%20project`.
fn decoded(path: &str) -> Option<OsString> {
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    Some(OsString::from_vec(bytes))
}

/// A URL without the user and password some write into it.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// What a framework's `version.py` says of the build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Build {
    pub(super) version: Option<String>,
    pub(super) cuda: Option<String>,
    /// Whether it says that there is none.
    pub(super) without_cuda: bool,
    pub(super) git: Option<String>,
}

impl Build {
    /// Reads `__version__ = '2.8.0+cu128'`, `cuda: Optional[str] = '12.8'`, `git_version = '…'`.
    pub(super) fn parse(text: &str) -> Self {
        let mut build = Self::default();
        for line in text.lines() {
            let Some((left, value)) = line.split_once('=') else { continue };
            let name = left.split(':').next().unwrap_or_default().trim();
            build.without_cuda |= name == "cuda" && value.trim() == "None";
            let place = match name {
                "__version__" => &mut build.version,
                "cuda" => &mut build.cuda,
                "git_version" => &mut build.git,
                _ => continue,
            };
            *place = string(value).or(place.take());
        }
        build
    }
}

/// A Python string literal without escapes.
fn string(value: &str) -> Option<String> {
    let value = value.trim();
    let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (text, _) = value[1..].split_once(quote)?;
    Some(short(text)).filter(|text| !text.is_empty())
}

fn short(text: &str) -> String {
    let text = text.trim();
    if text.chars().nth(LONGEST).is_some() { String::new() } else { printable(text) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_the_headers_and_not_the_description() {
        let text = "Metadata-Version: 2.4\nName: Flash_Attn\nVersion: 2.8.3+cu12torch2.8\nSummary: x\n folded: y\nRequires-Dist: torch==2.8.0\nRequires-Dist: einops; extra == 'test'\n\nName: other\nRequires-Dist: evil\n";
        let metadata = Metadata::parse(text);
        assert_eq!(
            (metadata.name.as_str(), metadata.version.as_str()),
            ("Flash_Attn", "2.8.3+cu12torch2.8")
        );
        assert_eq!(metadata.requires, ["torch==2.8.0", "einops; extra == 'test'"]);
    }

    #[test]
    fn escape_sequences_and_floods_do_not_pass() {
        let text = format!("Name: a\x1b[2Jb\nVersion: {}\n", "9".repeat(1000));
        let metadata = Metadata::parse(&text);
        assert_eq!((metadata.name.as_str(), metadata.version.as_str()), ("a\u{fffd}[2Jb", ""));
    }

    #[test]
    fn folders_tell_name_and_version() {
        for (folder, name, version) in [
            ("torch-2.8.0+cu128.dist-info", "torch", "2.8.0+cu128"),
            ("PyJWT-2.6.0-py3.11.egg-info", "PyJWT", "2.6.0"),
            ("wheel.egg-info", "wheel", ""),
        ] {
            let found = Metadata::from_folder(folder);
            assert_eq!((found.name.as_str(), found.version.as_str()), (name, version));
        }
    }

    /// The example of the specification "Name normalization": all of these are one name.
    #[test]
    fn names_are_compared_as_pep_503_says() {
        for name in [
            "friendly-bard",
            "Friendly-Bard",
            "FRIENDLY-BARD",
            "friendly.bard",
            "friendly_bard",
            "friendly--bard",
            "FrIeNdLy-._.-bArD",
        ] {
            assert_eq!(normalized(name), "friendly-bard");
        }
    }

    #[test]
    fn record_lines_are_csv() {
        for (line, path) in [
            ("torch/lib/libtorch.so,sha256=x,12", Some("torch/lib/libtorch.so")),
            ("\"a,b.so\",sha256=x,12", Some("a,b.so")),
            ("\"a\"\"b.so\",,", Some("a\"b.so")),
            ("torch/__pycache__/x.pyc,,", Some("torch/__pycache__/x.pyc")),
            ("\"open", None),
            (",,", None),
            ("", None),
        ] {
            assert_eq!(record_path(line).as_deref(), path, "{line}");
        }
    }

    #[test]
    fn tells_libraries_from_other_files() {
        for name in [
            "a.so",
            "libcublas.so.12",
            "libnccl.so.2.27.3",
            "libgomp-a34b3233.so.1",
            "_C.pyd",
            "x.cubin",
            "_C.abi3.so",
        ] {
            assert!(is_library(name), "{name}");
        }
        for name in ["a.py", "a.so.py", "a.so.", "so", "a.json", "a.so.txt.bak/"] {
            assert!(!is_library(name), "{name}");
        }
    }

    /// The examples of the specification "Direct URL", and a password.
    #[test]
    fn sources_are_named_without_passwords() {
        for (json, source) in [
            (
                r#"{"url":"file:///home/user/project","dir_info":{"editable":true}}"#,
                "file:///home/user/project (editable)",
            ),
            (
                r#"{"url":"https://github.com/pypa/pip.git","vcs_info":{"vcs":"git","requested_revision":"1.3.1","commit_id":"7921be1537eac1e97bc40179a57f0349c2aee67d"}}"#,
                "https://github.com/pypa/pip.git@7921be1537eac1e97bc40179a57f0349c2aee67d",
            ),
            (r#"{"url":"https://me:secret@host/x.whl","archive_info":{}}"#, "https://host/x.whl"),
        ] {
            assert_eq!(DirectUrl::parse(json).map(|one| one.source()).as_deref(), Some(source));
        }
        assert!(DirectUrl::parse("[]").is_none());
    }

    /// As PyTorch's `tools/generate_torch_version.py` writes it.
    #[test]
    fn torch_tells_its_build_as_text() {
        let text = "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']\n__version__ = '2.8.0+cu128'\ndebug = False\ncuda: Optional[str] = '12.8'\ngit_version = 'a1cb3cc05d46d198467bebbb6e8fba50a325d4e7'\nhip: Optional[str] = None\nxpu: Optional[str] = None\n";
        let build = Build::parse(text);
        assert_eq!(build.version.as_deref(), Some("2.8.0+cu128"));
        assert_eq!(build.cuda.as_deref(), Some("12.8"));
        assert_eq!(build.git.as_deref(), Some("a1cb3cc05d46d198467bebbb6e8fba50a325d4e7"));
        let bare = Build::parse("cuda: Optional[str] = None\n__version__ = '2.8.0+cpu'");
        assert_eq!((bare.cuda, bare.without_cuda, build.without_cuda), (None, true, false));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in ".{0,400}", line in "[\"',a-z/.\n:=; -]{0,200}") {
            for text in [&text, &line] {
                let metadata = Metadata::parse(text);
                prop_assert!(!metadata.name.chars().any(char::is_control));
                record_path(text);
                DirectUrl::parse(text).map(|one| one.editable());
                Build::parse(text);
                requires_txt(text);
                Metadata::from_folder(text);
                prop_assert_eq!(normalized(&normalized(text)), normalized(text));
            }
        }
    }
}
