#!/usr/bin/env python3
"""What warpscope's dashboard does to somebody who computes: a torch matmul loop with and without it, in turns.

    scripts/neighbour.py target/release/warpscope --gpu 0 >neighbour.json

The dashboard runs in a terminal of its own with the benchmark set to auto and the Bench tab open, so that it would like to measure this GPU; the loop
must keep it from that. With --arrival it is the other way round: the dashboard measures an idle GPU, then the loop starts in a process of its own; told are how long
the dashboard's worker stayed, and what the first two seconds of the loop lost. A pulse is seen by its process: whatever computes for the dashboard does so in a child `warpscope __worker --gpu UUID`, which lives
as long as the GPU is held, and the loop's machine is searched for one all the time. Prints JSON. Ends with 1 when a pulse was seen or the loop lost more than
the goal, with 3 where torch or a GPU is missing.
"""

import argparse
import fcntl
import json
import os
import pty
import signal
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time

from torch_here import give_up, load_torch

# Share of its throughput the loop may lose.
GOAL = 0.005
# Seconds between two searches for children; a child needs more than that to load a driver.
SEARCH = 0.02
# Seconds a new loop is watched, what it may lose in them, and seconds within which a worker has to be gone.
ARRIVAL, ARRIVAL_GOAL, GONE = 2.0, 0.02, 1.0
# Seconds in which an idle GPU has to be measured.
PULSE = 60.0
# Seconds the dashboard has to start before its window begins.
SETTLE = 2.0


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def children_of(pid):
    found = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            continue
    return found


def workers_below(pid):
    """Processes below this one that compute on a GPU."""
    found, open_ones = set(), [pid]
    while open_ones:
        for child in children_of(open_ones.pop()):
            words = words_of(child)
            if b"__worker" in words and b"--gpu" in words:
                found.add(child)
            open_ones.append(child)
    return found


class Dashboard:
    """warpscope in a terminal nobody looks at."""

    def __init__(self, program, arguments):
        self.pulses = set()
        # When a worker was there last, by the clock all processes share.
        self.seen_at = None
        self.ended = threading.Event()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.setdefault("TERM", "xterm-256color")
            try:
                os.execv(program, [program, *arguments])
            except OSError as error:
                print(error)
            os._exit(127)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.drain, self.search)]
        for thread in self.threads:
            thread.start()

    def drain(self):
        while not self.ended.is_set():
            try:
                if not os.read(self.terminal, 65536):
                    return
            except OSError:
                return

    def search(self):
        while not self.ended.wait(SEARCH):
            now = workers_below(self.pid)
            self.pulses |= now
            if now:
                self.seen_at = time.monotonic()

    def lives(self):
        return os.waitpid(self.pid, os.WNOHANG) == (0, 0)

    def end(self):
        self.ended.set()
        os.kill(self.pid, signal.SIGTERM)
        for _ in range(200):
            if os.waitpid(self.pid, os.WNOHANG) != (0, 0):
                break
            time.sleep(0.02)
        else:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.terminal)


class Loop:
    """Products of matrices, one after the other, as a training run would do them."""

    def __init__(self, torch, side):
        self.torch = torch
        self.operands = [torch.randn(side, side, dtype=torch.float16, device="cuda") for _ in range(2)]

    def run(self, seconds):
        """Products in a second."""
        a, b = self.operands
        begin, done = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            for _ in range(20):
                self.torch.matmul(a, b)
            self.torch.cuda.synchronize()
            done += 20
        return done / (time.perf_counter() - begin)


def newcomer(side, seconds):
    """The loop of somebody who comes: when its context began and what it did from then on. Runs in a process of its own."""
    torch = load_torch()
    begin = time.monotonic()
    loop = Loop(torch, side)
    rate = loop.run(seconds)
    print(json.dumps({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "began": begin, "per_s": rate}))


def arrive(options):
    """One newcomer; what it told."""
    command = [sys.executable, os.path.abspath(__file__), options.warpscope, "--newcomer", "--side", str(options.side)]
    command += ["--seconds", str(options.seconds)]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": options.gpu}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 3:
        sys.exit(3)
    if done.returncode != 0:
        give_up(f"the loop ended with {done.returncode}; nothing was compared")
    return json.loads(done.stdout)


def beside_pulses(options, arguments):
    """A newcomer while the dashboard measures; also how long a worker was still there. Nothing where the GPU was never measured."""
    dashboard = Dashboard(options.warpscope, arguments)
    try:
        deadline = time.monotonic() + PULSE
        while not dashboard.pulses and time.monotonic() < deadline:
            if not dashboard.lives():
                give_up(f"{options.warpscope} ended by itself; nothing was compared")
            time.sleep(SEARCH)
        if not dashboard.pulses:
            return None
        told = arrive(options)
    finally:
        dashboard.end()
    return {**told, "gone_after_s": max(0.0, dashboard.seen_at - told["began"])}


def arrivals(options, arguments, note):
    alone, beside = [], []
    for with_dashboard in (False, True, True, False) * options.blocks:
        told = beside_pulses(options, arguments) if with_dashboard else arrive(options)
        note({"with_dashboard": with_dashboard, "told": told})
        if told is None:
            print(f"neighbour: an idle GPU was not measured within {PULSE:.0f} s", file=sys.stderr)
            sys.exit(1)
        (beside if with_dashboard else alone).append(told)
    rate = statistics.median([told["per_s"] for told in beside]) / statistics.median([told["per_s"] for told in alone])
    gone = max(told["gone_after_s"] for told in beside)
    result = {
        "schema": 1,
        "gpu": alone[0]["gpu"],
        "torch": alone[0]["torch"],
        "alone_per_s": [told["per_s"] for told in alone],
        "beside_per_s": [told["per_s"] for told in beside],
        "loss": 1.0 - rate,
        "goal": ARRIVAL_GOAL,
        "gone_after_s": [told["gone_after_s"] for told in beside],
        "gone_goal_s": GONE,
    }
    print(json.dumps(result, indent=None if options.lines else 1))
    print(f"neighbour: the worker was gone after {gone:.2f} s; {1.0 - rate:+.2%} of the first {ARRIVAL:.0f} s lost", file=sys.stderr)
    sys.exit(1 if gone > GONE or 1.0 - rate > ARRIVAL_GOAL else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warpscope", help="the program")
    parser.add_argument("--gpu", default="0", help="GPU of the loop by number or UUID (0)")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of a window (10)")
    parser.add_argument("--blocks", type=int, default=4, help="blocks of four windows (4)")
    parser.add_argument("--side", type=int, default=4096, help="side of the matrices (4096)")
    parser.add_argument("--arrival", action="store_true", help="start the loop while the dashboard measures")
    parser.add_argument("--lines", action="store_true", help="each window as a line of JSON as soon as it is over; the result is the last line")
    parser.add_argument("--newcomer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    if options.newcomer:
        newcomer(options.side, min(ARRIVAL, options.seconds))
        return

    def note(line):
        if options.lines:
            print(json.dumps(line), flush=True)

    arguments = ["--bench", "auto", "--tab", "bench"]
    if options.arrival:
        arrivals(options, arguments, note)
    os.environ["CUDA_VISIBLE_DEVICES"] = options.gpu
    torch = load_torch()
    loop = Loop(torch, options.side)
    loop.run(max(options.seconds, 1.0))
    alone, beside, pulses, losses = [], [], set(), []
    del os.environ["CUDA_VISIBLE_DEVICES"]
    for _ in range(options.blocks):
        rates = {False: [], True: []}
        for with_dashboard in (False, True, True, False):
            dashboard = Dashboard(options.warpscope, arguments) if with_dashboard else None
            # The loop goes on meanwhile: an idle GPU would be asked to compute.
            loop.run(min(SETTLE, options.seconds))
            rates[with_dashboard].append(loop.run(options.seconds))
            note({"with_dashboard": with_dashboard, "per_s": rates[with_dashboard][-1]})
            if dashboard:
                if not dashboard.lives():
                    give_up(f"{options.warpscope} ended by itself; nothing was compared")
                dashboard.end()
                pulses |= dashboard.pulses
        alone += rates[False]
        beside += rates[True]
        losses.append(1.0 - sum(rates[True]) / sum(rates[False]))
    loss = statistics.median(losses)
    result = {
        "schema": 1,
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "alone_per_s": alone,
        "beside_per_s": beside,
        "losses": losses,
        "loss": loss,
        "goal": GOAL,
        "pulses": len(pulses),
    }
    print(json.dumps(result, indent=None if options.lines else 1))
    print(f"neighbour: {len(pulses)} pulses; {loss:+.2%} lost, at most {GOAL:.1%}", file=sys.stderr)
    sys.exit(1 if pulses or loss > GOAL else 0)


if __name__ == "__main__":
    main()
