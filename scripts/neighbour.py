#!/usr/bin/env python3
"""What warpscope's dashboard does to somebody who computes: a torch matmul loop with and without it, in turns.

    scripts/neighbour.py target/release/warpscope --gpu 0 >neighbour.json

The dashboard runs in a terminal of its own with the benchmark set to auto and the Bench tab open, so that it would like to measure this GPU; the loop
must keep it from that. A pulse is seen by its process: whatever computes for the dashboard does so in a child `warpscope __worker --gpu UUID`, which lives
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
import sys
import termios
import threading
import time

from torch_here import give_up, load_torch

# Share of its throughput the loop may lose.
GOAL = 0.005
# Seconds between two searches for children; a child needs more than that to load a driver.
SEARCH = 0.02
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
            self.pulses |= workers_below(self.pid)

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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warpscope", help="the program")
    parser.add_argument("--gpu", default="0", help="GPU of the loop by number or UUID (0)")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of a window (10)")
    parser.add_argument("--blocks", type=int, default=4, help="blocks of four windows (4)")
    parser.add_argument("--side", type=int, default=4096, help="side of the matrices (4096)")
    options = parser.parse_args()
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    os.environ["CUDA_VISIBLE_DEVICES"] = options.gpu
    torch = load_torch()
    arguments = ["--bench", "auto", "--tab", "bench"]
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
    print(json.dumps(result, indent=1))
    print(f"neighbour: {len(pulses)} pulses; {loss:+.2%} lost, at most {GOAL:.1%}", file=sys.stderr)
    sys.exit(1 if pulses or loss > GOAL else 0)


if __name__ == "__main__":
    main()
