"""What was asked and what came of it, one JSON object a line, each on the disk before anything else happens.

A recording may end at any byte. So a job is settled only by its last line, a line that breaks off is passed over, and whatever is not settled is asked again by
the next run with the same folder.
"""

import json
import os
import time

# How a job ends that is asked again.
UNSETTLED = ("busy", "out of time", "interrupted")
# A job that was asked so often without an end took the machine down each time.
MOST_ATTEMPTS = 2


def read_lines(path):
    """Every whole line of a journal."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    yield record
    except OSError:
        return


class Journal:
    """The lines of one stage."""

    def __init__(self, path, redact):
        self.path, self.redact = path, redact
        self.ended, self.attempts = {}, {}
        for record in read_lines(path):
            self._count(record)
        torn = os.path.exists(path) and not _ends_a_line(path)
        self.file = open(path, "a", encoding="utf-8")
        if torn:
            self._append("")

    def _count(self, record):
        job = record.get("job")
        if "asked" in record:
            self.attempts[job] = self.attempts.get(job, 0) + 1
        if "ended" in record:
            self.ended[job] = record["ended"]
            self.attempts[job] = 0

    def _append(self, line):
        self.file.write(line + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def write(self, job, **what):
        record = {"job": job, **what}
        self._count(record)
        self._append(self.redact(json.dumps(record, ensure_ascii=False)))

    def asked(self, job, command):
        self.write(job, asked=command, at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))

    def is_settled(self, job):
        return self.ended.get(job, "busy") not in UNSETTLED

    def is_hopeless(self, job):
        """Whether it never came back, however often it was asked."""
        return self.attempts.get(job, 0) >= MOST_ATTEMPTS

    def close(self):
        self.file.close()


def _ends_a_line(path):
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        if file.tell() == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
