#!/usr/bin/env python3
"""PyTorch on the CPU beside warpscope's kernels: one thread each, taking turns in one run.

Needs a Python with torch (`pip install torch`) and the example built:

    cargo build --release -p warpscope-kernels --example kernels_bench
    PYTHON scripts/torch_cpu.py

A pair is four short blocks, one of them, two of the other, one of the first, so that a machine that becomes slower or
faster meets both. A block counts the median run in processor time of its thread. Printed are the medians of the blocks and
the median and the tenths of the pairs' ratios: above 1, warpscope is faster. Weights are random, but the same
distribution in both; what each needs to prepare once for its weights is not counted, what it does to inputs is.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / "target/release/examples/kernels_bench"
# Inputs and outputs of projections of a model of the 7B class, and of the micro decoder.
DECODE = [(4096, 4096), (11008, 4096), (4096, 11008), (1536, 512)]
PREFILL = [(4096, 4096), (512, 512)]
TOKENS = [32, 128, 512]
BLOCK = 0.03
# Threads of torch's libraries, set before they are loaded.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", metavar="PATH", help="run with this interpreter, one that has torch")
    parser.add_argument("--example", type=Path, default=EXAMPLE, metavar="PATH", help="the built kernels_bench")
    parser.add_argument("--pairs", type=int, default=7, metavar="N", help="pairs of blocks of each product (7)")
    parser.add_argument("--only", default="", metavar="WORD", help="products whose name has this word")
    return parser.parse_args()


def load_torch():
    for name in THREADS:
        os.environ[name] = "1"
    try:
        import torch
    except ImportError as error:
        sys.exit(
            f"torch cannot be imported by {sys.executable}: {error}\n"
            "Nothing was compared. Install it (pip install torch) or name an interpreter that has it: --python PATH"
        )
    torch.set_num_threads(1)
    torch.manual_seed(1)
    warnings.simplefilter("ignore")  # of what torch means to replace; the product is what is wanted
    return torch


class Ours:
    """The example in a process of its own, which answers one line at a time."""

    def __init__(self, path):
        if not path.exists():
            sys.exit(f"{path} is not there: cargo build --release -p warpscope-kernels --example kernels_bench")
        pipe = subprocess.PIPE
        self.child = subprocess.Popen([path, "serve"], stdin=pipe, stdout=pipe, text=True)

    def seconds(self, kernel, m, n, k):
        self.child.stdin.write(f"{kernel} {m} {n} {k}\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline()
        try:
            return float(answer)
        except ValueError:
            sys.exit(f"kernels_bench said {answer!r} to {kernel} {m} {n} {k}")


def block(work):
    times, start = [], time.thread_time()
    while time.thread_time() - start < BLOCK or len(times) < 3:
        begin = time.thread_time()
        work()
        times.append(time.thread_time() - begin)
    return statistics.median(times)


def theirs(torch, kernel, m, n, k):
    """The product as a user of torch writes it, warmed up."""
    dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[kernel]
    x = torch.randn(m, k).to(dtype)
    w = torch.randn(n, k).to(dtype)
    work = lambda: torch.nn.functional.linear(x, w)
    for _ in range(3):
        work()
    return work


def compare(ours, kernel, shape, work, pairs):
    one, other, ratios = [], [], []
    for _ in range(pairs):
        a = [ours.seconds(kernel, *shape)]
        b = [block(work), block(work)]
        a.append(ours.seconds(kernel, *shape))
        one += a
        other += b
        ratios.append(sum(b) / sum(a))
    ratios.sort()
    tenth = len(ratios) // 10
    return statistics.median(one), statistics.median(other), (ratios[tenth], statistics.median(ratios), ratios[-1 - tenth])


def products():
    decode = [(kernel, 1, n, k) for kernel in ("fp32", "bf16", "fp16") for n, k in DECODE]
    prefill = [(kernel, m, n, k) for kernel in ("fp32", "bf16") for n, k in PREFILL for m in TOKENS]
    return decode + prefill


def main():
    options = arguments()
    if options.python and os.environ.get("TORCH_CPU_CHILD") is None:
        os.environ["TORCH_CPU_CHILD"] = "1"
        os.execv(options.python, [options.python, *sys.argv])
    torch, ours = load_torch(), Ours(options.example)
    load = " ".join(f"{v:.1f}" for v in os.getloadavg())
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, one thread each, load {load}")
    print(f"{'product':<8} {'m × n × k':>18} {'warpscope':>12} {'torch':>12}  torch ÷ warpscope (a tenth to nine)")
    with torch.inference_mode():
        for kernel, *shape in products():
            name = f"{kernel} {'decode' if shape[0] == 1 else 'prefill'}"
            if options.only not in name:
                continue
            work = theirs(torch, kernel, *shape)
            if work is None:
                continue
            mine, other, (low, middle, high) = compare(ours, kernel, shape, work, options.pairs)
            size = " × ".join(map(str, shape))
            print(f"{kernel:<8} {size:>18} {mine * 1e6:>9.1f} µs {other * 1e6:>9.1f} µs  {middle:.2f} ({low:.2f}–{high:.2f})", flush=True)


if __name__ == "__main__":
    main()
