"""Places, architectures and commands of scripts/release."""

import dataclasses
import os
import platform
import shutil
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHIP = ROOT / "target" / "ship"
OUT, STAGE, TOOLS, ROOTS = SHIP / "out", SHIP / "stage", SHIP / "tools", SHIP / "roots"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
# The oldest C library that artefacts may need: that of RHEL 7, of 2014.
GLIBC = (2, 17)


class Skipped(Exception):
    """What cannot be done on this machine."""


class Failed(Exception):
    """What was done and is wrong."""


@dataclasses.dataclass(frozen=True)
class Target:
    """An architecture, in the words of everyone who names it."""

    arch: str
    debian: str
    # As ELF files name their machine.
    machine: int

    @property
    def triple(self):
        """As Rust names it."""
        return f"{self.arch}-unknown-linux-gnu"

    @property
    def staged(self):
        """Where its program, manual pages and completions are before they are packed."""
        return SHIP / self.arch

    @property
    def native(self):
        """Whether it is this machine's."""
        return platform.machine() == self.arch

    @property
    def runs(self):
        """Whether its programs start here, by the machine or by an emulator that the kernel knows."""
        return self.native or Path(f"/proc/sys/fs/binfmt_misc/qemu-{self.arch}").exists()


TARGETS = {target.arch: target for target in (Target("x86_64", "amd64", 62), Target("aarch64", "arm64", 183))}


def run(*words, **options):
    """Runs a command, with the installed tools first on the path."""
    env = {**os.environ, "PATH": f"{TOOLS / 'bin'}:{os.environ.get('PATH', '')}"}
    words = [str(word) for word in words]
    return subprocess.run(words, **{"cwd": ROOT, "env": env, "check": True, "text": True, **options})


def output(*words, **options):
    """What a command prints."""
    return run(*words, stdout=subprocess.PIPE, **options).stdout


def need(tool, hint):
    """The tool is there, or the step is skipped."""
    if not (shutil.which(tool) or (TOOLS / "bin" / tool).exists()):
        raise Skipped(f"no {tool} here: {hint}")


def fresh(folder):
    """An empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
