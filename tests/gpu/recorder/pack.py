"""Everything a recording needs, in one file for a machine that has neither Rust nor a network."""

import io
import os
import shutil
import subprocess
import tarfile
import tempfile

from .recording import say
from .stages import script

# More than this is too much to carry.
MOST = 40 << 20
SCRIPTS = ("torch_gpu.py", "torch_here.py", "neighbour.py", "goals_table.py", "nvml_smi.py")
TOP = "warpscope-gpu"


def pack(program, path):
    """Writes the archive and tells its size; 1 where it is too large."""
    here = os.path.dirname(os.path.abspath(__file__))
    files = [(program, "warpscope")]
    files += [(os.path.join(here, "..", name), f"tests/gpu/{name}") for name in ("record", "README.md")]
    files += [(os.path.join(here, name), f"tests/gpu/recorder/{name}") for name in sorted(os.listdir(here)) if name.endswith(".py")]
    files += [(script(name), f"scripts/{name}") for name in SCRIPTS]
    with tempfile.TemporaryDirectory() as folder, tarfile.open(path, "w:xz") as tar:
        for source, name in files:
            with open(stripped(source, folder) if name == "warpscope" else source, "rb") as file:
                content = file.read()
            info = tarfile.TarInfo(f"{TOP}/{name}")
            info.size, info.mode = len(content), 0o755 if os.access(source, os.X_OK) else 0o644
            tar.addfile(info, io.BytesIO(content))
    size = os.path.getsize(path)
    say(f"{path}: {size / 2**20:.1f} MiB of at most {MOST >> 20}; unpack it and run {TOP}/tests/gpu/record")
    return 0 if size <= MOST else 1


def stripped(program, folder):
    """A copy without symbols, where that can be made."""
    copy = os.path.join(folder, "warpscope")
    shutil.copy(program, copy)
    if shutil.which("strip"):
        subprocess.run(["strip", copy], check=False)
    return copy
