"""What is around a recording: time, commands of the machine, redaction, archives."""

import ctypes
import getpass
import glob
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import threading
import time

# Left for the archive at the end, seconds.
RESERVE = 10.0
# Larger files stay out of the archive: core dumps.
ARCHIVED = 24 << 20
OUTPUT_MAX = 8 << 20
TOOL_FOLDERS = ("/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer", "/opt/nvidia/nsight-compute/*", "/usr/bin")


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def die_with_parent():
    """Has the system end a child when this process is gone, be it by `kill -9`."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Clock:
    """When jobs have to end."""

    def __init__(self, minutes):
        self.deadline = time.monotonic() + (minutes * 60.0 - RESERVE if minutes else 1e9)

    def left(self):
        return self.deadline - time.monotonic()


class Redaction:
    """Replaces what names a machine or its user. The same GPU keeps the same name."""

    UUID = re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
    # What numbers one board, chassis or place in a rack, by the names of `nvidia-smi`.
    NUMBERS = (
        r"(?:(?:product|chassis|module|board)[ _])?serial\w*(?:[ _]number)?", r"board[ _]id", r"(?:gpu[ _])?pdi", r"(?:board|gpu|fru)[ _]part[ _]number",
        r"host[ _]id", r"slot[ _]number", r"tray[ _]index", r"(?:gpu[ _]fabric[ _]|chassis[ _]|cluster[ _]?)[gu]uid",
    )
    # As text, in a line of a string, as XML, as JSON, and as `nvml_smi.py` lists what it did not compare: "platformInfo/host_id: 7".
    NAMED = re.compile(
        r'(?im)((?:^[ \t]*|\\n[ \t]*|<|"(?:\w+/)*)(?:' + "|".join(NUMBERS) + r')(?:[ \t]*:[ \t]*|>\s*|"\s*:\s*"))(?!N/A\b|part-\d)[^\s<",\\][^<\n",\\]*'
    )

    def __init__(self):
        self.uuids = {}
        names = [(os.path.expanduser("~"), "~"), (socket.gethostname(), "host")]
        try:
            names.append((getpass.getuser(), "user"))
        except (KeyError, OSError):
            pass
        # Short and common names would be found inside of other words.
        named = [(name, other) for name, other in names if len(name) > 3 and name not in ("root", "user", "host", "ubuntu", "/root")]
        self.names = [(re.compile(r"(?<![\w.-])" + re.escape(name) + r"(?![\w-])"), other) for name, other in named]

    def __call__(self, text):
        def number(match):
            return f"{match[1]}-{self.uuids.setdefault(match[0], len(self.uuids))}"

        text = self.NAMED.sub(r"\1redacted", self.UUID.sub(number, text))
        for name, other in self.names:
            text = name.sub(other, text)
        return text


def tool(name):
    """A program of the CUDA toolkit; nothing where there is none."""
    folders = [folder for pattern in TOOL_FOLDERS for folder in sorted(glob.glob(pattern), reverse=True)]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))


def run(arguments, limit, environment=None, on_line=None):
    """Runs a command for at most so many seconds. Its code, `timeout` or `missing`, and what it printed on both channels."""
    out = bytearray()
    arguments = [tool(arguments[0]) or arguments[0], *arguments[1:]]
    try:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})}, start_new_session=True, preexec_fn=die_with_parent,
        )
    except OSError as error:
        return "missing", str(error)
    killer = _Killer(process, limit)
    try:
        for line in iter(lambda: process.stdout.readline(1 << 20), b""):
            if len(out) < OUTPUT_MAX:
                out += line
            if on_line:
                on_line(line.decode(errors="replace"))
        code = process.wait()
    finally:
        killer.stop()
        killer.kill()
    return ("timeout" if killer.struck else code), out.decode(errors="replace")


class _Killer:
    """Ends a process and all it started when its time is over."""

    def __init__(self, process, limit):
        self.process, self.struck = process, False
        self.timer = threading.Timer(max(limit, 0.1), self.strike)
        self.timer.daemon = True
        self.timer.start()

    def strike(self):
        self.struck = True
        self.kill()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:
            pass

    def stop(self):
        self.timer.cancel()


def write_text(path, text):
    """Replaces a file at once, on the disk before this returns."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)


def archive(folder, ending=""):
    """Everything of a folder in one file beside it; its path and size."""
    path = folder.rstrip("/") + ending + ".tar.gz"
    with open(path + ".part", "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar:
            top = os.path.basename(folder.rstrip("/"))
            for place, folders, names in os.walk(folder):
                folders.sort()
                for name in sorted(names):
                    _add(tar, os.path.join(place, name), os.path.join(top, os.path.relpath(os.path.join(place, name), folder)))
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)
    return path, os.path.getsize(path)


def _add(tar, path, name):
    """A file as it is now: one that grows meanwhile is taken up to here."""
    if name.endswith((".part", "/lock")) or os.path.islink(path):
        return
    try:
        with open(path, "rb") as file:
            content = file.read(ARCHIVED + 1)
    except OSError:
        return
    if len(content) > ARCHIVED:
        return
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(content), int(os.path.getmtime(path)), 0o644
    tar.addfile(info, io.BytesIO(content))
