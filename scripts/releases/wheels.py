"""What device code published wheels hold: each is fetched, read by `warpscope inspect` and deleted."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from metadata import required
from versions import order

COLUMNS = ["package", "first", "last", "platform", "library", "archs", "ptx", "wheel"]
NOTHING = ("", {}, {})

# Tags that pip takes for a platform; none where it is that of this machine.
PLATFORMS = {
    "linux x86_64": [],
    "linux aarch64": ["linux_aarch64", "manylinux2014_aarch64"] + [f"manylinux_2_{minor}_aarch64" for minor in range(17, 40)],
}


def coverage(package: str, versions: list[str], platform: str, warpscope: Path) -> tuple[list[dict], dict[str, dict]]:
    """Rows by library for the releases, the oldest first, that differ; those between two that agree are taken to agree with them.
    Beside them what each wheel that was read requires."""
    read: dict[str, tuple] = {}

    def scan(at: int) -> tuple:
        version = versions[at]
        if version not in read:
            read[version] = scanned(package, version, platform, warpscope)
            print(f"{package} {version} {platform}: {len(read[version][1])} libraries", file=sys.stderr)
        return read[version]

    def between(first: int, last: int):
        if last - first > 1 and scan(first)[1] != scan(last)[1]:
            middle = (first + last) // 2
            scan(middle)
            between(first, middle)
            between(middle, last)

    scan(0), scan(len(versions) - 1)
    between(0, len(versions) - 1)
    asked = {version: pins for version, (_, _, pins) in read.items()}
    return rows(package, platform, sorted(read.items(), key=lambda one: order(one[0]))), asked


def scanned(package: str, version: str, platform: str, warpscope: Path) -> tuple:
    """The name of a wheel, `{library: (architectures, PTX)}` and what it requires; nothing where there is no wheel."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder]
        for tag in PLATFORMS.get(platform, [platform]):
            command += ["--platform", tag]
        if subprocess.run([*command, f"{package}=={version}"], capture_output=True, check=False).returncode != 0:
            return NOTHING
        wheel = next(Path(folder).glob("*.whl"))
        told = subprocess.run([warpscope, "inspect", "--json", wheel], capture_output=True, check=False).stdout
        code = {name: code for one in json.loads(told)["libraries"] for name, code in library(one)}
        return wheel.name, code, required(wheel)


def library(one: dict):
    """The name of a library without what changes from build to build, and its code, where it has any."""
    if one["cubin"] or one["ptx"]:
        path = one["path"].rsplit("!", 1)[-1]
        stable = re.sub(r"\.(cpython-|cp|abi3)[\w-]*|-[0-9a-f]{8}(?=\.so)|(?<=\.so)[.\d]+$", "", path)
        yield stable, (archs(one["cubin"]), archs(one["ptx"]))


def archs(counts: dict) -> str:
    return " ".join(sorted((name.split("_")[-1] for name in counts), key=lambda name: (int(re.match(r"\d+", name)[0]), name)))


def rows(package: str, platform: str, read: list[tuple]) -> list[dict]:
    found = []
    for name in sorted({name for _, (_, libraries, _) in read for name in libraries}):
        row = None
        for version, (wheel, libraries, _) in read:
            code = libraries.get(name)
            if row and code == (row["archs"], row["ptx"]):
                row["last"] = version
            elif wheel:
                row = None
                if code:
                    row = dict(package=package, first=version, last=version, platform=platform, library=name)
                    row |= dict(archs=code[0], ptx=code[1], wheel=wheel)
                    found.append(row)
    return found
