"""Counts lines of Rust with code on them, and tells tests from the rest."""

import re
from functools import cached_property
from pathlib import PurePosixPath

# Comments and literals; of a literal the quotes stay, so that its line still counts.
TOKEN = re.compile(
    r"""(?P<line>//[^\n]*)|(?P<block>/\*)|(?P<raw>\bb?c?r(?P<hash>\#*)".*?"(?P=hash))"""
    r"""|(?P<string>"(?:[^"\\]|\\.)*")|(?P<char>'(?:[^'\\\n]|\\.[^\n']*)')""",
    re.DOTALL,
)
TEST_ATTRIBUTE = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]")
DECLARED = re.compile(r"\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;")
TEST_FILE = re.compile(r"(^|/)(tests|\w+_tests)\.rs$|(^|/)(tests|examples|fakes|fuzz|benches)/")


def keep_lines(text):
    """As many line breaks as a text has."""
    return "\n" * text.count("\n")


def filled(text):
    """A literal without what it says: a mark on each of its lines that is not blank."""
    return "\n".join('"' if line.strip() else "" for line in text.split("\n"))


def end_of_block_comment(text, at):
    """Where a comment ends; they nest."""
    depth = 0
    for mark in re.finditer(r"/\*|\*/", text[at:]):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return at + mark.end()
    return len(text)


def bare(text):
    """The code of a file, line by line, without comments and without what literals say."""
    parts, at = [], 0
    while token := TOKEN.search(text, at):
        parts.append(text[at : token.start()])
        at = token.end()
        if token["block"]:
            at = end_of_block_comment(text, token.start())
            parts.append(keep_lines(text[token.start() : at]))
        elif not token["line"]:
            parts.append(filled(token.group()))
    return "".join([*parts, text[at:]])


def end_of_item(code, at):
    """Where the item at a place ends: at its last brace, or at a semicolon outside of any bracket."""
    depth = 0
    for mark in re.finditer(r"[{}()\[\];]", code[at:]):
        if mark.group() in "{([":
            depth += 1
        elif mark.group() in "})]":
            depth -= 1
            if depth == 0 and mark.group() == "}":
                return at + mark.end() + code.startswith(";", at + mark.end())
        elif depth == 0:
            return at + mark.end()
    return len(code)


def split(code):
    """Code outside of tests, code of tests, and the names of modules declared for tests only."""
    production, tests, declared, at = [], [], [], 0
    while attribute := TEST_ATTRIBUTE.search(code, at):
        production.append(code[at : attribute.start()])
        if module := DECLARED.match(code, attribute.end()):
            declared.append(module[1])
        at = end_of_item(code, attribute.end())
        tests.append(code[attribute.start() : at])
    return "".join([*production, code[at:]]), "".join(tests), declared


def count(code):
    """Lines with something on them."""
    return sum(1 for line in code.split("\n") if line.strip())


class Package:
    """The Rust files below one folder."""

    def __init__(self, root, top, files):
        self.root, self.top = root, PurePosixPath(top)
        inside = f"{top}/" if top else ""
        self.names = [name for name in files if name.startswith(inside) and name.endswith(".rs")]

    @cached_property
    def parts(self):
        """Every file with its code, split."""
        return {name: split(bare((self.root / name).read_text(errors="replace"))) for name in self.names}

    @cached_property
    def test_files(self):
        """Files that are tests: by their names, or below a module that is declared for tests."""
        found = {name for name in self.names if TEST_FILE.search(name)}
        for name, (_, _, declared) in self.parts.items():
            path = PurePosixPath(name)
            folder = path.parent if path.name in ("mod.rs", "lib.rs", "main.rs") else path.with_suffix("")
            for module in declared:
                starts = (f"{folder / module}.rs", f"{folder / module}/")
                found.update(other for other in self.names if other.startswith(starts))
        return found

    def area(self, name):
        """The file or folder directly below the top that a file belongs to."""
        below = PurePosixPath(name).relative_to(self.top).parts
        return below[0] if len(below) > 1 else "(files)"

    def areas(self):
        """Production and test lines by area."""
        totals = {}
        for name, (production, tests, _) in self.parts.items():
            pair = totals.setdefault(self.area(name), [0, 0])
            if name in self.test_files:
                pair[1] += count(production) + count(tests)
            else:
                pair[0] += count(production)
                pair[1] += count(tests)
        return {area: tuple(pair) for area, pair in totals.items()}

    def all_lines(self):
        """Every line with code."""
        return sum(count(production) + count(tests) for production, tests, _ in self.parts.values())

    def module(self, name):
        """The module directly below the top that a file belongs to."""
        return PurePosixPath(name).relative_to(self.top).parts[0].removesuffix(".rs")

    def mutual(self):
        """Pairs of modules that name each other."""
        modules = {self.module(name) for name in self.names} - {"lib", "main"}
        edges = set()
        for name, (production, _, _) in self.parts.items():
            if name not in self.test_files:
                edges.update((self.module(name), used) for used in named(production) & modules)
        return {(one, other) for one, other in edges if one < other and (other, one) in edges}


def named(code):
    """First names of crate:: paths, those in braces too."""
    found = set(re.findall(r"\bcrate::(\w+)", code))
    for group in re.finditer(r"\bcrate::\{", code):
        inside = code[group.end() : end_of_item(code, group.end() - 1) - 1]
        while (flat := re.sub(r"\{[^{}]*\}", "", inside)) != inside:
            inside = flat
        found.update(re.findall(r"(?:^|,)\s*(\w+)", inside))
    return found
