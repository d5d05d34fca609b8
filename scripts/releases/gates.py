"""Candidates for `gates.csv`: where the code of a release refuses or chooses by the compute capability.

A check is the same one while its function and its expression stay, whatever file they move to.
"""

import ast
import re
from dataclasses import dataclass

from history import History, Release, releases

COLUMNS = ["framework", "scope", "expression", "effect", "before", "first_tag", "last_tag", "after", "message", "source"]
LEFT_OUT = re.compile(r"(^|/)(tests?|benchmarks?|examples?|docs|tools|3rdparty|third_party|scripts|\.github)/|test_\w+\.py$")
CODE = re.compile(r"\.(py|cu|cuh|cpp|cc|h|hpp)$")
HINT = re.compile(r"capabilit|sm_?\d\d|sm_version|is_(?:blackwell|hopper|ampere|ada)|compute_cap|\bSM ?\d\d|__CUDA_ARCH__|\bmajor\b")
ASKS = re.compile(r"\bcapability *(?:[<>]|\[|\()|(?:device|compute|min|minimum|cuda|gpu|nv)_capabilit|get_capabilit|DeviceCapability|\bis_\w*sm_?\d|_sm_?\d{2,3}\w*\(|sm_version|compute_cap|is_(?:blackwell|hopper|ampere|ada)\w*\(|\b(?:cc_)?major\b|cuda_arch")
MINIMUM = re.compile(r"^(get_min(imum)?_capability|supports_compute_capability|min_capability)$")
CHECK = re.compile(r"\b((?:STD_)?TORCH_CHECK|AT_ERROR|NVTE_CHECK|NVTE_ERROR|GGML_ABORT|FLASHINFER_ERROR|throw std::\w+)\s*\(([^;]{1,500}?)\)\s*;", re.S)
NAMES_GPU = re.compile(r"capabilit|\bsm_?\d|\bSM ?\d\d|Ampere|Hopper|Turing|Volta|Blackwell|\bmajor\b|is_sm\d")


@dataclass(frozen=True)
class Found:
    scope: str
    expression: str
    effect: str
    message: str
    line: int


class Checks(ast.NodeVisitor):
    """The checks in one file of Python."""

    def __init__(self):
        self.scope: list[str] = []
        self.found: list[Found] = []

    def keep(self, node, expression: str, effect: str, message: str):
        one_line = re.sub(r"\s+", " ", expression)[:200]
        self.found.append(Found(".".join(self.scope), one_line, effect, re.sub(r"\s+", " ", message)[:240], node.lineno))

    def named(self, node):
        self.scope.append(node.name)
        if MINIMUM.match(node.name) and not isinstance(node, ast.ClassDef):
            for one in ast.walk(node):
                if isinstance(one, ast.Return) and one.value is not None:
                    self.keep(one, f"return {ast.unparse(one.value)}", "minimum", "")
        self.generic_visit(node)
        self.scope.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = named

    def visit_If(self, node):
        test = ast.unparse(node.test)
        if ASKS.search(test):
            effect = effect_of(node.body)
            self.keep(node, test, effect, words(node.body[:3]) if effect else "")
        self.generic_visit(node)

    def visit_Assert(self, node):
        if ASKS.search(test := ast.unparse(node.test)):
            self.keep(node, test, "assert", words([node.msg] if node.msg else []))


def effect_of(body: list) -> str:
    """What a branch does to the one who is in it."""
    kinds = {ast.Raise: "raise", ast.Return: "return", ast.Assert: "assert"}
    for statement in body:
        if effect := kinds.get(type(statement)):
            return effect
        if isinstance(statement, ast.Expr) and re.search(r"warn|error|info", ast.unparse(statement)):
            return "warn"
    return ""


def words(nodes: list) -> str:
    strings = (one.value for node in nodes for one in ast.walk(node) if isinstance(one, ast.Constant))
    return "".join(one for one in strings if isinstance(one, str))


def checks(path: str, text: str) -> list[Found]:
    if not HINT.search(text):
        return []
    if not path.endswith(".py"):
        return native(path, text)
    visitor = Checks()
    try:
        visitor.visit(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return []
    return visitor.found


def native(path: str, text: str) -> list[Found]:
    found = []
    for match in CHECK.finditer(text):
        if NAMES_GPU.search(match[2]):
            expression = re.sub(r"\s+", " ", match[2])
            message = "".join(re.findall(r'"([^"]*)"', expression))
            found.append(Found(path.rsplit("/", 1)[-1], expression[:200], "raise", message[:240], text.count("\n", 0, match.start()) + 1))
    return found


def candidates(history: History, framework: dict) -> list[dict]:
    """Every check of a framework with the releases on both sides of it."""
    found, read = releases(history, framework), {}
    seen: dict[tuple, list] = {}
    for at, release in enumerate(found):
        for path, one in checks_of(history, release, read):
            first = seen.setdefault((one.scope, one.expression), [at, at, one, path])
            first[1] = at
    return [row(framework, found, *spot) for spot in sorted(seen.values(), key=lambda spot: (spot[3], spot[2].line))]


def checks_of(history: History, release: Release, read: dict):
    for path, blob in history.paths(release.ref, ["*"]).items():
        if CODE.search(path) and not LEFT_OUT.search(path):
            if (blob, path) not in read:
                read[blob, path] = checks(path, history.text(blob))
                history.texts.pop(blob, None)
            yield from ((path, one) for one in read[blob, path])


def row(framework: dict, found: list[Release], first: int, last: int, one: Found, path: str) -> dict:
    label = [release.label for release in found]
    ended = last + 1 < len(label)
    ends = [label[first - 1] if first else "", label[first], label[last] if ended else "", label[last + 1] if ended else ""]
    source = f"{framework['name']}@{label[first]}:{path}:{one.line}"
    return dict(zip(COLUMNS, [framework["name"], one.scope, one.expression, one.effect, *ends, one.message, source]))
