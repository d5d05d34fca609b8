"""A program in a pseudo-terminal, watched without being trusted."""

import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(r"\x1bP[^\x1b]*\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]|\x1b[=>78DEHMc]|[\x00-\x09\x0b-\x1f\x7f]")
# Modes a program may leave behind: on, off, and what a person would call it.
MODES = [
    ("\x1b[?1049h", "\x1b[?1049l", "alternate screen"),
    ("\x1b[?25l", "\x1b[?25h", "no cursor"),
    ("\x1b[?1000h", "\x1b[?1000l", "mouse"),
    ("\x1b[?1003h", "\x1b[?1003l", "mouse"),
]


# What a terminal is asked, and what it answers: some tools wait for that before they draw.
ANSWERS = [
    (re.compile(rb"\x1bP\+q[0-9a-fA-F;]*\x1b\\"), b"\x1bP0+r\x1b\\"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?64;22c"),
    (re.compile(rb"\x1b\[>0?q"), b"\x1bP>|XTerm(390)\x1b\\"),
]


class Session:
    """A program and the terminal it believes in."""

    def __init__(self, words, env, size):
        self.master, self.slave = pty.openpty()
        self.resize(size)
        self.before = termios.tcgetattr(self.slave)
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            words, env=env, stdin=self.slave, stdout=self.slave, stderr=self.slave, preexec_fn=self.take_terminal, close_fds=True
        )
        self.bytes = b""
        self.changes = 0
        self.notes = []
        self.home = pathlib.Path(env["HOME"])
        self.read_at = 0.0

    def take_terminal(self):
        """In the child: the terminal becomes its own."""
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, size):
        """Columns and rows."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def pump(self, seconds, until=lambda: False):
        """Reads for so long, or until something is so."""
        end = time.monotonic() + seconds
        while not until():
            left = end - time.monotonic()
            if left <= 0 or self.is_closed():
                break
            ready, _, _ = select.select([self.master], [], [], min(left, 0.05))
            if ready:
                self.read()

    def read(self):
        """Takes what is there. A pause between two reads counts as a change of the screen."""
        try:
            came = os.read(self.master, 1 << 16)
        except OSError:
            return
        self.bytes += came
        asked = sorted((place.start(), answer) for query, answer in ANSWERS for place in query.finditer(came))
        for _, answer in asked:
            os.write(self.master, answer)
        now = time.monotonic()
        if now - self.read_at > 0.1:
            self.changes += 1
        self.read_at = now

    def raw(self):
        """Everything that was written."""
        return self.bytes.decode("utf-8", "replace")

    def text(self):
        """The same without what a terminal obeys."""
        return SEQUENCE.sub("", self.raw())

    def wait_for(self, words, seconds):
        """Seconds until one of the words was on the screen, or nothing."""
        self.pump(seconds, lambda: self.ended() is not None or any(word in self.text() for word in words))
        self.pump(0.2)
        found = any(word in self.text() for word in words)
        return self.read_at - self.started if found else None

    def ended(self):
        """The exit code; negative for a signal; nothing while it runs."""
        return self.process.poll()

    def wait_end(self, seconds):
        """Seconds until it ended, or nothing."""
        begun = time.monotonic()
        if self.is_closed():
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
        else:
            self.pump(seconds, lambda: self.ended() is not None)
            self.pump(0.2)
        return time.monotonic() - begun if self.ended() is not None else None

    def type(self, keys):
        """Presses keys."""
        os.write(self.master, keys.encode())

    def signal(self, number):
        """Sends a signal to the program."""
        os.kill(self.process.pid, number)

    def hang_up(self):
        """Closes the terminal, as a window that is closed does."""
        os.close(self.master)
        os.close(self.slave)
        self.master = self.slave = None

    def is_closed(self):
        """Whether there is a terminal no more."""
        return self.master is None

    def left_behind(self):
        """What the terminal is in that it was not in before."""
        raw, left = self.raw(), []
        for on, off, name in MODES:
            if raw.rfind(on) > raw.rfind(off) and name not in left:
                left.append(name)
        if termios.tcgetattr(self.slave) != self.before:
            left.append("raw mode")
        return f"leaves {', '.join(left)}" if left else "terminal restored"

    def last_line(self):
        """What it said outside its screen: the first line that speaks of an error, else the last; short, without this machine's paths."""
        on, off, _ = MODES[0]
        screen = self.raw()
        left = screen.rfind(off) + len(off) if off in screen else 0
        if screen.rfind(on) >= left:
            return ""
        lines = [line.strip() for line in SEQUENCE.sub("", screen[left:]).replace("`", "'").splitlines()]
        lines = [line for line in lines if re.search(r"[A-Za-z]", line)]
        line = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
        line = re.sub(r"(/[\w.+-]+){2,}/", "…/", line)
        line = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
        return line if len(line) <= 90 else line[:89] + "…"

    def close(self):
        """Ends what is left of it."""
        if self.ended() is None:
            for number in (signal.SIGCONT, signal.SIGKILL):
                try:
                    os.killpg(self.process.pid, number)
                except ProcessLookupError:
                    pass
            self.process.wait()
        for place in (self.master, self.slave):
            if place is not None:
                os.close(place)
