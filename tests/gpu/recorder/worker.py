"""One worker process of warpscope, asked job by job over its pipes: JSON lines in both directions, as src/worker/protocol describes them."""

import json
import os
import queue
import signal
import subprocess
import threading
import time

# Seconds the driver has to start.
START = 60.0
# Seconds a killed process has to go; one that hangs in the driver never does.
FAREWELL = 10.0
LINE_MAX = 1 << 20
ERRORS_KEPT = 4000


class Died(Exception):
    """The worker did not finish a job: `hang`, `exit 3`, `signal 11`, `out of time`."""


class Worker:
    def __init__(self, program, uuid, environment=None, prefix=()):
        everything = {**os.environ, "CUDA_MODULE_LOADING": "LAZY", **(environment or {})}
        arguments = [*prefix, program, "__worker", "--gpu"]
        if uuid is not None:
            arguments.append(uuid)
            everything["CUDA_VISIBLE_DEVICES"] = uuid
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=everything, start_new_session=True
        )
        self.pid = self.process.pid
        self.lines, self.errors = queue.Queue(), b""
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._listen_to_errors, daemon=True).start()

    def _listen(self):
        for line in iter(lambda: self.process.stdout.readline(LINE_MAX), b""):
            self.lines.put(line)
        self.lines.put(None)

    def _listen_to_errors(self):
        for chunk in iter(lambda: self.process.stderr.read1(4096), b""):
            self.errors = (self.errors + chunk)[-ERRORS_KEPT:]

    def ask(self, command, patience, deadline):
        """Every event of a job as it comes. A job is silent for at most so many seconds."""
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass
        while True:
            left = deadline - time.monotonic()
            try:
                line = self.lines.get(timeout=max(0.0, min(patience, left)))
            except queue.Empty:
                raise Died("out of time" if left <= patience else "hang") from None
            if line is None:
                raise Died(self._end())
            try:
                event = json.loads(line)
            except ValueError:
                event = {"event": "garbled", "line": line[:2000].decode(errors="replace")}
            if event.get("event") == "finished":
                yield event
                return
            yield event

    def _end(self):
        try:
            code = self.process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            return "no end"
        return f"signal {-code}" if code < 0 else f"exit {code}"

    def last_words(self):
        return self.errors.decode(errors="replace").strip()

    def quit(self):
        """Lets it end by itself, which tools around it need to write their reports."""
        try:
            self.process.stdin.write(b'{"command":"quit"}\n')
            self.process.stdin.close()
            self.process.wait(3 * FAREWELL)
        except (OSError, subprocess.TimeoutExpired):
            pass
        return self.kill()

    def kill(self):
        """Ends it and whatever it started; false where it cannot be ended."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass
        try:
            self.process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            return False
        return True
