"""The versions that a published wheel requires exactly, of packages that rules speak of."""

import re
import zipfile
from pathlib import Path

KEPT = ("torch", "triton", "flash-attn", "xformers", "transformers", "sgl-kernel")
CUDA = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?$|cuda-toolkit$")
EXACT = re.compile(r"([\w.-]+)(?:\[[^\]]*\])?\s*\(?==\s*([\w.]+)\)?\s*(?:;(.*))?$")


def required(wheel: Path) -> dict[str, str]:
    """`{package: version}`, extras left out."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode("utf8", "replace").splitlines()
    exact = (EXACT.match(line.removeprefix("Requires-Dist: ")) for line in lines if line.startswith("Requires-Dist: "))
    return {key_of(one[1]): one[2] for one in exact if one and "extra" not in (one[3] or "") and key_of(one[1])}


def key_of(name: str) -> str:
    """The key of a package in `pins.csv`, or nothing."""
    name = name.lower().replace("_", "-")
    if name.startswith("nvidia-cudnn-cu"):
        return "cudnn"
    return "cuda" if CUDA.match(name) else name if name in KEPT else ""
