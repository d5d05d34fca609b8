"""The rows of `scripts/faults`: what is wrong, and how it is made so."""

import dataclasses
import signal
import typing

# What says that GPUs are on the screen: a part of the board's name, or its memory where there is no room for names.
BOARD = ("P100", "16384MiB")
USUAL = "p100x2"


@dataclasses.dataclass
class Row:
    """One fault."""

    id: str
    title: str
    # Scenario of the pretended NVML.
    words: str = USUAL
    # What becomes of the library's bytes; nothing for no library at all.
    library: typing.Optional[typing.Callable] = lambda image: image
    # Changes of the environment; nothing for a variable that is not set.
    environment: dict = dataclasses.field(default_factory=dict)
    # Words before the program's.
    before: tuple = ()
    size: tuple = (100, 30)
    # Whether the configuration file is a pipe that nobody writes.
    fifo: bool = False
    # Whether the row is about a recording, which not every tool makes.
    records: bool = False
    # What is done once GPUs are shown; a text that it returns is the cell.
    act: typing.Optional[typing.Callable] = None
    seen: tuple = BOARD

    @property
    def typed(self):
        """Whether the row is about something done to a running dashboard."""
        return self.act is not None


def sent(number):
    """Sends a signal."""
    return lambda session: session.signal(number)


def stopped(session):
    """Stopped from outside for a while, and continued."""
    session.signal(signal.SIGSTOP)
    session.pump(2)
    session.signal(signal.SIGCONT)


def tiny(session):
    """One cell, and back."""
    session.resize((1, 1))
    session.pump(2)
    session.resize((100, 30))
    session.pump(1)


def recording(session):
    """Records what is shown, for longer than there is room."""
    session.type("R")
    session.pump(8)
    session.notes.append("says so" if any(word in session.text() for word in ("room left", "space left")) else "says nothing of it")


def left_open(session):
    """Records under a umask that forbids nothing, and looks at what others may write."""
    session.type("R")
    session.pump(3)
    files = [path for path in session.home.rglob("*") if path.is_file()]
    loose = [path for path in files if path.stat().st_mode & 0o022]
    session.notes.append(f"{len(loose)} of {len(files)} files can be written by others")


def hung_up(session):
    """The window is closed."""
    session.hang_up()


def suspended(session):
    """Ctrl-Z, and two seconds later the shell's `fg`."""
    session.type("\x1a")
    session.pump(5, lambda: "[status 148]" in session.text())
    if "[status 148]" in session.text():
        session.notes.append(f"stops, {session.left_behind()}")
        session.pump(3)
    else:
        session.notes.append("does not stop")


SHELL = ("bash", "--norc", "-ic", '"$@"; echo "[status $?]"; sleep 2; fg; exit $?', "bash")


def without_proc():
    """A mount namespace of its own with nothing in /proc."""
    return mounted("none /proc")


def mounted(words):
    """A file system in memory at a place, for the program alone."""
    return ("unshare", "-m", "sh", "-c", f'mount -t tmpfs {words} && exec "$@"', "sh")


ROWS = [
    Row("none", "Nothing is wrong"),
    Row("no-driver", "No NVIDIA library", library=None),
    Row("not-loaded", "Kernel module not loaded", words="nodriver"),
    Row("mismatch", "Driver and library of different versions", words="mismatch"),
    Row("denied", "Permission denied by NVML", words="noperm"),
    Row("no-device", "No GPU", words="nodevice"),
    Row("truncated", "Library cut to half its length", library=lambda image: image[: len(image) // 2]),
    Row("no-library", "Library is a text file", library=lambda image: b"not a library\n"),
    Row("hang-init", "NVML hangs when it starts", words="p100x2+hang:nvmlInit_v2:60"),
    Row("hang", "NVML hangs in one question (power)", words="p100x2+hang:nvmlDeviceGetPowerUsage:60"),
    Row("hang-one", "One of two GPUs hangs", words="p100x2+hang:1@nvmlDeviceGetPowerUsage:60"),
    Row("crash", "NVML crashes in one question", words="p100x2+crash:nvmlDeviceGetPowerUsage"),
    Row("abort", "NVML aborts in one question", words="p100x2+abort:nvmlDeviceGetPowerUsage"),
    Row("exit", "NVML ends the process with 0", words="p100x2+exit:nvmlDeviceGetPowerUsage"),
    Row("lost", "A GPU is lost before the start", words="p100x2+lost:1"),
    Row("dying", "A GPU is lost after its handle was had", words="p100x2+dying:1"),
    Row("weird", "Every question fails with an unknown code", words="p100x2+weird:4242"),
    Row("values", "Every value has all its bits set", words="p100x2+procs+lies:values"),
    Row("endless", "Texts do not end in their buffers", words="p100x2+procs+lies:endless"),
    Row("names", "Names of GPUs hold escape sequences", words="p100x2+procs+escapes"),
    Row("term", "SIGTERM", act=sent(signal.SIGTERM)),
    Row("int", "SIGINT", act=sent(signal.SIGINT)),
    Row("quit", "SIGQUIT", act=sent(signal.SIGQUIT)),
    Row("segv", "SIGSEGV from outside", act=sent(signal.SIGSEGV)),
    Row("kill", "SIGKILL", act=sent(signal.SIGKILL)),
    Row("stop", "SIGSTOP for two seconds, then SIGCONT", act=stopped),
    Row("suspend", "Ctrl-Z, then `fg`", before=SHELL, act=suspended),
    Row("hup", "Terminal closed", act=hung_up),
    Row("tiny", "Terminal resized to 1×1 and back", act=tiny),
    Row("cell", "Started in a terminal of 1×1", size=(1, 1)),
    Row("no-term", "TERM not set", environment={"TERM": None}),
    Row("dumb", "TERM=dumb", environment={"TERM": "dumb"}),
    Row("home", "Home cannot be written", environment={"HOME": "/dev/null", "XDG_CONFIG_HOME": None}),
    Row("disk", "Disk full while recording", before=mounted('-o size=16k none "$HOME"'), records=True, act=recording),
    Row("umask", "umask 0 while recording", before=("sh", "-c", 'umask 0; exec "$@"', "sh"), records=True, act=left_open),
    Row("fifo", "Configuration file is a FIFO", fifo=True),
    Row("no-proc", "No /proc", before=without_proc()),
]
