"""Releases in a git history: which there are, when they were made, what their files say."""

import fnmatch
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from versions import order, plain

TAG = r"^v?(\d+(?:\.\d+)+(?:\.?post\d+)?)$"


@dataclass(frozen=True)
class Release:
    version: str
    date: str
    ref: str
    """What the source of a fact names: the tag, or the commit where a project has none."""
    label: str


class History:
    """One mirrored repository."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.texts: dict[str, str] = {}
        self.reader = None

    def git(self, *words: str) -> str:
        run = subprocess.run(["git", "--git-dir", str(self.folder), *words], capture_output=True, check=True)
        return run.stdout.decode("utf8", "replace")

    def paths(self, ref: str, globs: list[str]) -> dict[str, str]:
        """The files of a release that fit a pattern, with their blobs, in the order of the patterns."""
        blobs = {}
        for line in self.git("ls-tree", "-r", ref).splitlines():
            meta, path = line.split("\t", 1)
            mode, kind, blob = meta.split()
            if kind == "blob" and mode != "120000":
                blobs[path] = blob
        found = (path for glob in globs for path in sorted(blobs) if fnmatch.fnmatchcase(path, glob))
        return {path: blobs[path] for path in found}

    def text(self, blob: str) -> str:
        if blob not in self.texts:
            self.texts[blob] = self._read(blob).decode("utf8", "replace")
        return self.texts[blob]

    def _read(self, blob: str) -> bytes:
        if self.reader is None:
            command = ["git", "--git-dir", str(self.folder), "cat-file", "--batch"]
            self.reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.reader.stdin.write(blob.encode() + b"\n")
        self.reader.stdin.flush()
        head = self.reader.stdout.readline().split()
        if head[-1] == b"missing":
            return b""
        return self.reader.stdout.read(int(head[2]) + 1)[:-1]

    def close(self):
        if self.reader is not None:
            self.reader.stdin.close()
            self.reader.wait()


def releases(history: History, framework: dict) -> list[Release]:
    """All releases of a framework, the oldest first."""
    find = {"tags": tagged, "bump": bumped, "branch point": branched, "count": counted}
    found = find[framework.get("by", "tags")](history, framework)
    since = order(framework.get("since", "0"))
    kept = {release.version: release for release in found if order(release.version) >= since}
    return sorted(kept.values(), key=lambda release: order(release.version))


def tagged(history: History, framework: dict):
    pattern = re.compile(framework.get("tag", TAG))
    dates = history.git("for-each-ref", "refs/tags", "--format=%(refname:strip=2) %(*committerdate:short)%(committerdate:short)")
    for line in dates.splitlines():
        tag, date = line.rsplit(" ", 1)
        if (match := pattern.match(tag)) and tag not in framework.get("strays", []):
            yield Release(plain(match[1]), date, f"refs/tags/{tag}", tag)


def versions_of(history: History, framework: dict):
    """Commits that touch the file of the version, with the version there, the oldest first."""
    path, pattern = framework["version_file"], re.compile(framework["version"])
    log = history.git("log", "--reverse", "--format=%H %cs", framework.get("ref", "HEAD"), "--", path)
    for line in log.splitlines():
        commit, date = line.split()
        blob = history.paths(commit, [path]).get(path)
        if blob and (match := pattern.search(history.text(blob))):
            yield commit, date, match[1]


def bumped(history: History, framework: dict):
    """A release is the commit that first names its version."""
    seen = set()
    for commit, date, version in versions_of(history, framework):
        if version not in seen:
            seen.add(version)
            yield Release(version, date, commit, commit[:9])


def branched(history: History, framework: dict):
    """A release branches off before the commit with which the development version moves past it."""
    before = None
    for commit, date, version in versions_of(history, framework):
        if before and order(version) > order(before):
            yield Release(before, date, f"{commit}^", commit[:9])
        before = version


def counted(history: History, framework: dict):
    """The number of a build is the count of commits: the last of each month, and those on both sides of a change to a file of interest."""
    ref = framework["ref"]
    commits = history.git("log", "--reverse", "--first-parent", "--format=%H %cs", ref).splitlines()
    offset = 1 + int(history.git("rev-list", "--count", ref)) - len(commits)
    globs = {glob for key in ("pins", "archs") for glob in framework[key]}
    changes = set(history.git("log", "--first-parent", "--format=%H %cs", ref, "--", *sorted(globs)).splitlines())
    months = {line.split()[1][:7]: at for at, line in enumerate(commits)}
    touched = {at for at, line in enumerate(commits) if line in changes}
    for at in sorted({*months.values(), *touched, *(at - 1 for at in touched if at > 0)}):
        commit, date = commits[at].split()
        yield Release(str(at + offset), date, commit, f"b{at + offset}")
