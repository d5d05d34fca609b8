"""Asks one job after another of workers, survives whatever becomes of them, and never asks again what is settled."""

import itertools
import time
from dataclasses import dataclass, field

from .journal import UNSETTLED
from .worker import START, Died, Worker

# Hangs of a family after which it is left: each costs its patience and a new process.
MOST_HANGS = 4
# A process that has just died is seen on the GPU for about a second.
BUSY_TRIES, BUSY_PAUSE = 4, 1.0


@dataclass
class Job:
    key: str
    command: dict
    family: str = ""
    patience: float = 0.0


@dataclass
class Manner:
    """How workers are started and asked."""

    patience: float = 15.0
    sustained: bool = False
    beside_others: bool = False
    prefix: tuple = ()
    environment: dict = field(default_factory=dict)
    # Called with the worker and the job before a worker that hangs is killed.
    on_hang: object = None


class NoDevice(Exception):
    """The GPU cannot be taken at all."""


class Runner:
    def __init__(self, recording, journal, manner):
        self.recording, self.journal, self.manner = recording, journal, manner
        self.hangs = {}

    def run(self, jobs):
        """Asks all of them that are not settled, until time runs out."""
        for job in jobs:
            if self.journal.ended.get(job.key) == "hang":
                self.hangs[job.family] = self.hangs.get(job.family, 0) + 1
        worker = None
        try:
            for job in jobs:
                if self.recording.clock.left() <= 0:
                    break
                if not self.journal.is_settled(job.key) and not self._is_left(job):
                    worker = self._settle(worker, job)
        finally:
            if worker:
                worker.quit()

    def _is_left(self, job):
        if self.journal.is_hopeless(job.key):
            self.journal.write(job.key, ended="left out: it never came back")
            return True
        if not job.family or self.hangs.get(job.family, 0) < MOST_HANGS:
            return False
        self.journal.write(job.key, ended=f"left out: {MOST_HANGS} hangs of {job.family}")
        return True

    def _settle(self, worker, job):
        """Asks a job until it is not refused as busy; the worker that is still there afterwards."""
        begin, ended = time.monotonic(), "busy"
        try:
            self.journal.asked(job.key, job.command)
            for attempt in itertools.count(1):
                worker, ended = self._attempt(worker, job)
                if ended != "busy" or attempt == BUSY_TRIES:
                    break
                time.sleep(BUSY_PAUSE)
        except NoDevice:
            raise
        except BaseException:
            self.journal.write(job.key, ended="interrupted")
            raise
        if ended == "hang":
            self.hangs[job.family] = self.hangs.get(job.family, 0) + 1
        self.journal.write(job.key, ended=ended, took_s=round(time.monotonic() - begin, 2))
        if ended == "busy":
            if worker:
                worker.quit()
            raise NoDevice("others use the GPU; --anyway measures beside them")
        return worker

    def _attempt(self, worker, job):
        try:
            worker = worker or self._start(job)
            busy = False
            patience = job.patience or self.manner.patience
            for event in worker.ask(job.command, patience, self.recording.clock.deadline):
                busy = busy or event.get("event") == "paused"
                self.journal.write(job.key, **event)
            return worker, "busy" if busy else "ok"
        except Died as death:
            return None, self._bury(worker, job, str(death))
        except BaseException:
            if worker:
                worker.kill()
            raise

    def _start(self, job):
        manner = self.manner
        worker = Worker(self.recording.program, self.recording.uuid, manner.environment, manner.prefix)
        mode = "sustained" if manner.sustained else "pulse"
        acquire = {"command": "acquire", "mode": mode, "beside_others": manner.beside_others}
        trouble = None
        try:
            for event in worker.ask(acquire, max(START, manner.patience), self.recording.clock.deadline):
                if event.get("event") == "failed":
                    trouble = event
                elif event.get("event") == "holding":
                    self.recording.holding(event)
                elif event.get("event") == "paused":
                    worker.kill()
                    self.journal.write(job.key, **event)
                    raise Died("busy")
        except Died as death:
            if str(death) in UNSETTLED:
                worker.kill()
                raise
            trouble = {"died": str(death), "stderr": worker.last_words()}
        if trouble:
            worker.kill()
            self.journal.write(job.key, acquiring=trouble)
            self.journal.write(job.key, ended="busy")
            raise NoDevice(f"the GPU cannot be taken: {trouble}")
        return worker

    def _bury(self, worker, job, ended):
        if worker is None:
            return ended
        if ended == "hang" and self.manner.on_hang:
            self.manner.on_hang(worker, job)
        if not worker.kill():
            ended += ", and cannot be killed"
        words = worker.last_words()
        if words and ended not in UNSETTLED:
            self.journal.write(job.key, stderr=words)
        return ended
