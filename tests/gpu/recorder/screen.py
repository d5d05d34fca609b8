"""The dashboard itself in a terminal of its own, for minutes: what it shows is kept as an asciicast, each piece on the disk as it comes."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import tempfile
import termios
import time

from .machine import die_with_parent

COLUMNS, ROWS = 120, 36
# Longest time, and time in front of each tab.
LONGEST, A_TAB = 600.0, 12.0
# Tabs by their keys; `Y` answers on Bench, since the dashboard asks once whether idle GPUs may be measured.
KEYS = ("1", "2", "3", "Y", "4", "5", "6")
GOODBYE = 10.0


def screen(recording):
    """The dashboard in a terminal: ten minutes."""
    journal = recording.journal("screen")
    if journal.is_settled("dashboard") or recording.clock.left() <= GOODBYE:
        return
    length = min(recording.options.screen_s or LONGEST, recording.clock.left() - GOODBYE)
    with tempfile.TemporaryDirectory() as home:
        child = Dashboard(recording.program, home)
        journal.asked("dashboard", [recording.program])
        try:
            ended = film(recording, child, length)
        except BaseException:
            journal.write("dashboard", ended="interrupted")
            raise
        finally:
            child.end()
    journal.write("dashboard", ended=ended, frames=child.pieces, took_s=round(time.monotonic() - child.begin, 1))


class Dashboard:
    """A program in a terminal, with settings of nobody."""

    def __init__(self, program, home):
        self.begin, self.pieces = time.monotonic(), 0
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            die_with_parent()
            places = {name: home for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
            os.execve(program, [program], {**os.environ, **places, "TERM": "xterm-256color", "COLORTERM": "truecolor"})
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def read(self, seconds):
        """What it draws within a moment; nothing where it draws nothing, None where it is gone."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return b""
        try:
            return os.read(self.terminal, 1 << 16) or None
        except OSError:
            return None

    def press(self, key):
        try:
            os.write(self.terminal, key.encode())
        except OSError:
            pass

    def end(self):
        """Its code; it has a moment to end by itself."""
        self.press("q")
        until = time.monotonic() + GOODBYE
        while time.monotonic() < until and self.read(0.1) is not None:
            pass
        try:
            os.kill(self.pid, signal.SIGKILL)
        except OSError:
            pass
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def film(recording, child, length):
    """Steps through the tabs and keeps what is drawn; how it ended."""
    number = 1
    while os.path.exists(recording.path(f"screen-{number}.cast")):
        number += 1
    with open(recording.path(f"screen-{number}.cast"), "w", encoding="utf-8") as cast:
        cast.write(json.dumps({"version": 2, "width": COLUMNS, "height": ROWS, "title": "warpscope"}) + "\n")
        # All tabs are seen however short it is.
        step = min(A_TAB, length / (len(KEYS) + 1))
        key, due = 0, step / 2
        while (now := time.monotonic() - child.begin) < length:
            if now >= due:
                child.press(KEYS[key % len(KEYS)])
                key, due = key + 1, due + step
            drawn = child.read(0.25)
            if drawn is None:
                return "ended by itself"
            if drawn:
                child.pieces += 1
                text = recording.redact(drawn.decode(errors="replace"))
                cast.write(json.dumps([round(now, 3), "o", text]) + "\n")
                cast.flush()
        return "ok"
