"""One recording: a folder, a GPU, a program and the time there is."""

import fcntl
import glob
import hashlib
import json
import os
import stat
import sys
import time

from .journal import Journal, read_lines
from .machine import Clock, Redaction, run, tool, write_text
from .worker import START, Died, Worker


LIBRARY_FOLDERS = ("/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64")


def say(text):
    print(text, file=sys.stderr, flush=True)


class Recording:
    def __init__(self, options, program, device, minutes):
        self.options, self.program = options, program
        self.uuid, self.device = device["uuid"], device["device"]
        self.clock, self.redact = Clock(minutes), Redaction()
        self.redact(self.uuid)
        self.folder = options.folder
        self.journals = {}
        self.held = None
        # Whether a stage could not be run this time.
        self.is_troubled = False
        os.makedirs(self.folder, exist_ok=True)
        self.lock = open(self.path("lock"), "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def claim(self):
        """Marks the folder; false where it holds what another program or GPU did."""
        with open(self.program, "rb") as file:
            program = hashlib.sha256(file.read()).hexdigest()
        mark = {"program_sha256": program, "gpu_sha256": hashlib.sha256(self.uuid.encode()).hexdigest()}
        try:
            with open(self.path("machine.json"), encoding="utf-8") as file:
                before = json.load(file)
        except (OSError, ValueError):
            before = {**mark, "device": self.device, "uuid": self.uuid, "date": self.options.date}
            self.write("machine.json", json.dumps(before, indent=1))
        return all(before.get(name) == value for name, value in mark.items())

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def journal(self, stage):
        if stage not in self.journals:
            self.journals[stage] = Journal(self.path(stage + ".jsonl"), self.redact)
        return self.journals[stage]

    def lines(self, stage):
        return list(read_lines(self.path(stage + ".jsonl")))

    def holding(self, event):
        """What a worker says when it has the device is kept once."""
        if self.held is None:
            self.held = event
            self.journal("facts").write("holding", **event)

    def write(self, name, text):
        write_text(self.path(name), self.redact(text))

    def command(self, stage, key, arguments, limit, file=None, environment=None, lines=False):
        """A command as a job: settled once it has ended by itself or by its limit. What it prints is kept whatever becomes of it."""
        journal = self.journal(stage)
        if journal.is_settled(key) or self.clock.left() <= 0:
            return None
        if journal.is_hopeless(key):
            journal.write(key, ended="left out: it never came back")
            return None
        keep = (lambda line: _keep_line(journal, key, line)) if lines else None
        limit = min(limit, self.clock.left())
        try:
            journal.asked(key, arguments)
            code, text = run(arguments, limit, environment, keep)
        except BaseException:
            journal.write(key, ended="interrupted")
            raise
        if file:
            self.write(file, text)
        elif not lines:
            journal.write(key, out=_value(text))
        cut = code == "timeout" and self.clock.left() <= 0
        ended = "out of time" if cut else "ok" if code == 0 else code if isinstance(code, str) else f"exit {code}"
        journal.write(key, ended=ended)
        return code

    def listing(self):
        """What can be asked for; asked of the program once."""
        path = self.path("listing.json")
        if not os.path.exists(path):
            acquire = {"command": "acquire", "beside_others": self.options.anyway}
            found = ask_once(self.program, self.uuid, [acquire, {"command": "list"}], "listing")
            if not found:
                raise RuntimeError("the program does not say what it can do on this GPU")
            self.write("listing.json", json.dumps(found[0], indent=1))
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def cublas(self):
        """Copies of cuBLAS that only this user or root can have placed, the one that was named first."""
        if self.options.cublas:
            return [self.options.cublas]
        found = {}
        for folder in [*sys.path, *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep), *LIBRARY_FOLDERS]:
            for place in (folder, os.path.join(folder, "nvidia/cublas/lib"), os.path.join(folder, "nvidia/cu13/lib")):
                for path in glob.glob(os.path.join(glob.escape(place), "libcublas.so.1[0-9]")) if place else ():
                    if is_ours(path):
                        found.setdefault(os.path.realpath(path), path)
        driver = self.device["driver_cuda"] // 1000
        major = {path: int(path.rsplit(".", 1)[1]) for path in found.values()}
        # The newest the driver is for, then older ones, then those it may still take.
        return sorted(major, key=lambda path: (major[path] > driver, -major[path]))[:4]

    def note_hang(self, worker, job):
        """What the machine says of a kernel that hangs, before it is killed."""
        journal = self.journal("hangs")
        journal.write(job.key, pid=worker.pid)
        for arguments in (["nvidia-smi"], ["nvidia-smi", "-q", "-d", "UTILIZATION,CLOCK,PERFORMANCE"], ["dmesg"]):
            if tool(arguments[0]):
                _, text = run(arguments, 10)
                if arguments == ["dmesg"]:
                    text = "\n".join(line for line in text.splitlines() if "Xid" in line or "NVRM" in line)
                journal.write(job.key, command=arguments, out=text[-20000:])

    def close(self):
        for journal in self.journals.values():
            journal.close()
        self.lock.close()


def is_ours(path):
    """Whether a file and every folder above it belong to root or this user, and nobody else may write there."""
    path = os.path.realpath(path)
    while True:
        try:
            about = os.stat(path)
        except OSError:
            return False
        if about.st_uid not in (0, os.getuid()) or (about.st_mode & stat.S_IWOTH and not about.st_mode & stat.S_ISVTX):
            return False
        parent = os.path.dirname(path)
        if parent == path:
            return True
        path = parent


def ask_once(program, uuid, commands, kind):
    """The events of one kind that jobs of a worker of its own give."""
    worker, events = Worker(program, uuid), []
    try:
        for command in commands:
            events += worker.ask(command, START, time.monotonic() + START)
    except Died as death:
        say(f"{kind}: {death}: {worker.last_words()[-600:]}")
        return []
    finally:
        worker.quit()
    for event in events:
        if event.get("event") in ("failed", "paused"):
            say(f"{kind}: {json.dumps(event)}")
    return [event for event in events if event.get("event") == kind]


def _keep_line(journal, key, line):
    value = _value(line.strip())
    if value not in ("", None):
        journal.write(key, out=value)


def _value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text[-200000:]
