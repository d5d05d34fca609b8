"""What one file says about pins and architectures."""

import re
from collections.abc import Iterator

PACKAGES = (
    "torch",
    "triton",
    "transformers",
    "flash-attn",
    "flashinfer",
    "xformers",
    "sgl-kernel",
    "vllm",
    "bitsandbytes",
    "accelerate",
)
BOUND = r"(?:[=<>!~]=?=?\s*[\d.*]+\w*)"
CUDA = (
    r"^\s*ARG\s+(?:CUDA_VERSION|CUDA)=\"?(\d+\.\d+(?:\.\d+)?)",
    r"nvidia/cuda:(\d+\.\d+(?:\.\d+)?)",
    r"MAIN_CUDA_VERSION[\"']?,?\s*=?\s*[\"'](\d+\.\d+)",
)
CUDA_MATRIX = r"(?:cuda|cuda[-_]version|toolkit_short_version)[\"']?\s*:\s*(\[[^\]]+\]|[\"']?\d+\.\d+[.\d]*)"
TORCH = (
    r"TORCH_SUPPORTED_VERSION_CUDA\s+\"?(\d+\.\d+\.\d+)",
    r"ARG\s+(?:PY)?TORCH_VERSION=\"?(\d+\.\d+(?:\.\d+)?)",
)
TORCH_MATRIX = r"(?:torch|pytorch|torch[-_]version)[\"']?\s*:\s*(\[[^\]]+\]|[\"']?\d+\.\d+\.\d+)"
VERSION = r"\d+\.\d+(?:\.\d+)?"

ARCH = r"\d{2,3}[af]?|\d{1,2}\.\d[af]?"
WORD = rf"(?<![\w.])(?:sm_|compute_)?({ARCH})(-real|-virtual|\+PTX)?(?![\w.])|\+PTX"
NAME = r"\w*(?:ARCH|cudaarch|arch_list|CAPABILIT|capability|_archs)\w*"
VALUE = r"\$\{\{[^\n]*\}\}|\{[^{}]*\}|\([^()]*\)|\[[^\[\]]*\]|\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'#({\[]+"
NAMED = (
    rf"(?:set|list)\s*\(\s*(?:APPEND\s+)?({NAME}|\w*CUDA_ARCHITECTURES)\s+([^()]*)\)",
    r"(?:cuda_archs_loose_intersection|cuda_archs_exact\w*)\s*\(\s*(\w+)\s+(\"[^\"]*\")",
    rf"({NAME})[\"']?\]?\s*(?:=|:|,)\s*(?:set\()?({VALUE})",
)
GENCODE = r"(?:arch=)?(compute_\d{2,3}[af]?),?\s*code=\[?(?:\\?\")?((?:sm|compute)_\d{2,3}[af]?)"


def pins(path: str, text: str) -> Iterator[tuple[str, str]]:
    """The first pin of each package in a file, and every toolkit it names."""
    text = without_comments(text)
    for package in PACKAGES:
        if value := requirement(package, text):
            yield package, value
    if torch := [*found(TORCH, text), *matrix(TORCH_MATRIX, path, text)]:
        yield "torch", in_order(torch)
    if toolkits := [*found(CUDA, text), *matrix(CUDA_MATRIX, path, text)]:
        yield "cuda", in_order(toolkits)


def without_comments(text: str) -> str:
    return re.sub(r"^\s*(?:#|//).*$", "", text, flags=re.M)


def requirement(package: str, text: str) -> str | None:
    name = package.replace("-", "[-_]") + ("(?:[-_]python)?" if package == "flashinfer" else "")
    pattern = rf"(?:^|[\"'\s\[]){name}(?:\[[\w,-]+\])?\s*({BOUND}(?:\s*,\s*{BOUND})*)"
    match = re.search(pattern, text, re.M)
    match = match or re.search(rf"^{name}\s*=\s*(?:{{\s*version\s*=\s*)?\"([\^~=<>\d][^\"]*)\"", text, re.M)
    return re.sub(r"\s+", "", match[1]) if match else None


def found(patterns: tuple[str, ...], text: str) -> list[str]:
    return [match[1] for pattern in patterns for match in re.finditer(pattern, text, re.M)]


def matrix(pattern: str, path: str, text: str) -> list[str]:
    """The versions a workflow builds for."""
    if ".github/" not in path:
        return []
    lists = re.finditer(pattern, text, re.M)
    return [version for match in lists for version in re.findall(VERSION, match[1])]


def in_order(values: list[str]) -> str:
    return " ".join(sorted(set(values), key=lambda value: [int(part) for part in value.split(".")]))


def archs(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Each list of architectures in a file: its name, and its values where it is set more than once."""
    lists: dict[str, list[str]] = {}
    text = without_comments(text)
    for match in sorted(
        (match for pattern in NAMED for match in re.finditer(pattern, text)), key=lambda match: match.start()
    ):
        for value in map(normal, alternatives(match[2])):
            if value and value not in lists.setdefault(match[1], []):
                lists[match[1]].append(value)
    if pairs := [f"{image.removeprefix('sm_')}" for _, image in re.findall(GENCODE, text)]:
        lists["gencode"] = [" ".join(sorted(set(pairs), key=arch_order))]
    for name, values in lists.items():
        yield name, " | ".join(values)


def alternatives(value: str) -> list[str]:
    """The lists between which an expression of a workflow chooses."""
    return re.findall(r"(?:&&|\|\|)\s*('[^']*')", value) if value.startswith("${{") else [value]


def normal(values: str) -> str:
    """The architectures of a list, or nothing where it holds anything else; a leading + where it adds to another list."""
    own = re.sub(r"\$\{?\w+\}?|CACHE STRING.*|PARENT_SCOPE", "", values, flags=re.S)
    if re.sub(WORD, "", own).strip(" \t\n\r\"',;{}()[]\\"):
        return ""
    words = [match[1] + (match[2] or "") if match[1] else "+PTX" for match in re.finditer(WORD, own)]
    if not words or not all(plausible(word) for word in words):
        return ""
    return ("+ " if "$" in values else "") + " ".join(words)


def plausible(word: str) -> bool:
    """An architecture, not another number: 5.0 to 12.9, or 50 to 129."""
    if word == "+PTX":
        return True
    number = float(re.match(r"[\d.]+", word)[0])
    return 3 <= number < 13 if "." in word else 30 <= number < 130


def arch_order(word: str) -> tuple:
    number = re.search(r"\d+", word)
    return (word.startswith("compute"), int(number[0]), word)
