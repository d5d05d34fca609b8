"""Versions that pip can install, as far as this Python and system allow."""

import subprocess
import sys


def installable(package: str) -> str:
    """The versions of a package, the newest first, or nothing where the index has none."""
    command = [sys.executable, "-m", "pip", "index", "versions", package]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (line.removeprefix("Available versions: ") for line in run.stdout.splitlines() if line.startswith("Available"))
    return next(lines, "").replace(",", "")
