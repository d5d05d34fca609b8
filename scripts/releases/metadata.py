"""What the published wheel of a release requires exactly, as pip tells it without fetching the wheel where the index allows."""

import json
import re
import subprocess
import sys

CUDA = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?$|cuda-toolkit$")
KEPT = ("torch", "triton", "flash-attn", "xformers", "transformers", "sgl-kernel")


def required(package: str, version: str) -> tuple[str, dict[str, str]]:
    """The name of the wheel and `{package: version}`; nothing where this Python has no wheel."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--no-deps", "--ignore-installed", "--only-binary", ":all:"]
    run = subprocess.run([*command, "--report", "-", f"{package}=={version}"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return "", {}
    told = json.loads(run.stdout)["install"][0]
    exact = (re.match(r"([\w.-]+)(?:\[[^\]]*\])?\s*\(?==\s*([\w.]+)\)?\s*(?:;(.*))?$", one) for one in told["metadata"].get("requires_dist", []))
    pins = {key_of(one[1]): one[2] for one in exact if one and "extra ==" not in (one[3] or "") and key_of(one[1])}
    return told["download_info"]["url"].rsplit("/", 1)[-1], pins


def key_of(name: str) -> str:
    """The key of a package that rules speak of."""
    name = name.lower().replace("_", "-")
    if name.startswith("nvidia-cudnn-cu"):
        return "cudnn"
    return "cuda" if CUDA.match(name) else name if name in KEPT else ""
