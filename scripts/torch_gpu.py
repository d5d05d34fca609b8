#!/usr/bin/env python3
"""PyTorch's own kernels beside warpscope's, at the sizes of its goals: matmul and scaled_dot_product_attention.

    scripts/torch_gpu.py --warpscope target/release/warpscope --gpu 0 >torch.json

The two take turns torch, warpscope, warpscope, torch, each in a process of its own, because a GPU that another process holds is not measured.
Without --warpscope torch is timed alone. Ends with 3 where torch or a GPU is missing.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time

from torch_here import give_up, load_torch

HEADS, KV_HEADS, HEAD, TOKENS = 16, 4, 128, 4096
# Seconds of a work before it is timed, as long as `bench --goals` computes at least: an H200 that begins cool multiplies at 1750 MHz, and at 1400 once
# its power limit holds it.
WARM = 3.0
# Goal of warpscope, format, and the side of the cube; none stands for attention.
WORKS = [
    ("gemm.bf16.2048", "bfloat16", 2048),
    ("gemm.bf16.4096", "bfloat16", 4096),
    ("gemm.bf16.8192", "bfloat16", 8192),
    ("gemm.f16.2048", "float16", 2048),
    ("gemm.f16.4096", "float16", 4096),
    ("gemm.f16.8192", "float16", 8192),
    ("attn.bf16.4096", "bfloat16", None),
    ("attn.f16.4096", "float16", None),
]


def operation(torch, dtype, side):
    """What is timed, and how many operations that is, a multiply-add counting as two."""
    kind = getattr(torch, dtype)
    if side is not None:
        a, b = (torch.randn(side, side, dtype=kind, device="cuda") for _ in range(2))
        # Rows of b are output channels, as in a linear layer and in warpscope.
        return lambda: torch.matmul(a, b.t()), 2.0 * side**3
    q = torch.randn(1, HEADS, TOKENS, HEAD, dtype=kind, device="cuda")
    k, v = (torch.randn(1, KV_HEADS, TOKENS, HEAD, dtype=kind, device="cuda") for _ in range(2))
    pairs = TOKENS * (TOKENS + 1) / 2
    return grouped(torch, q, k, v), 4.0 * pairs * HEADS * HEAD


def grouped(torch, q, k, v):
    """Attention with fewer key and value heads: repeated only where this torch cannot group them itself."""
    attention = torch.nn.functional.scaled_dot_product_attention
    try:
        attention(q, k, v, is_causal=True, enable_gqa=True)
        return lambda: attention(q, k, v, is_causal=True, enable_gqa=True)
    except (TypeError, RuntimeError):
        k, v = (x.repeat_interleave(HEADS // KV_HEADS, dim=1) for x in (k, v))
        return lambda: attention(q, k, v, is_causal=True)


def backends(torch):
    """Every way to attention that this torch names, each as a context that allows no other."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:
        return {}
    names = ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION")
    return {name.lower(): functools.partial(sdpa_kernel, getattr(SDPBackend, name)) for name in names if hasattr(SDPBackend, name)}


def attention_rates(torch, dtype, samples):
    """The rate of each backend that takes these operands. The fastest is what torch is compared by."""
    rates = {}
    for name, only in backends(torch).items():
        try:
            with only():
                run, operations = operation(torch, dtype, None)
                rates[name] = operations / time_of(torch, run, samples)
        except RuntimeError:
            continue
    return rates


def time_of(torch, run, samples, warm=0.0):
    """Seconds of one run, median, after so many seconds of it; as many runs a sample as make it longer than a millisecond."""

    def seconds(times):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(times):
            run()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3

    seconds(3)
    times = max(1, min(200, round(1e-3 / max(seconds(1), 1e-6))))
    until = time.monotonic() + warm
    while time.monotonic() < until:
        seconds(times)
    return statistics.median(seconds(times) / times for _ in range(samples))


def torch_turn(samples, warm):
    """Every work once, one after the other and again from the front, so that heat falls on all of them."""
    torch = load_torch()
    rates, ways = {goal: [] for goal, _, _ in WORKS}, {}
    for _ in range(2):
        for goal, dtype, side in WORKS:
            run, operations = operation(torch, dtype, side)
            each = {"default": operations / time_of(torch, run, samples, warm)}
            if side is None:
                each.update(attention_rates(torch, dtype, samples))
                ways[goal] = {name: max(rate, ways.get(goal, {}).get(name, 0.0)) for name, rate in each.items()}
            rates[goal].append(max(each.values()))
            print(json.dumps({"goal": goal, "flop_per_s": each}), flush=True)
    about = {"torch": torch.__version__, "cuda": torch.version.cuda, "gpu": torch.cuda.get_device_name()}
    return {**about, "flop_per_s": {goal: statistics.median(all) for goal, all in rates.items()}, "attention_flop_per_s": ways}


def lines_of(arguments, environment, note):
    """What a process prints line by line; its last line is its result."""
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True)
    last = None
    for line in process.stdout:
        last = json.loads(line)
        if "goal" in last:
            note({"who": "torch", **last})
    if process.wait() == 3:
        sys.exit(3)
    if process.returncode != 0 or last is None:
        give_up(f"{arguments[0]} ended with {process.returncode}")
    return last


def warpscope_turn(options, environment, note):
    """The same goals, one a process, so that each figure is there as soon as it is measured."""
    rates, uuid, troubles = {}, None, []
    for goal, _, _ in WORKS:
        command = [options.warpscope, "bench", "--goals", f"--gpu={options.gpu}", "--kernel", goal, "--json"]
        command += [f"--cublas={options.cublas}"] if options.cublas else []
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        # A missed floor ends warpscope with 1, and its figures are good.
        if done.returncode not in (0, 1) or not done.stdout.strip():
            give_up(f"{options.warpscope} ended with {done.returncode}")
        told = json.loads(done.stdout)["gpus"][0]
        uuid = told["uuid"]
        samples = [time for row in told["goals"] for time in row["own"]["samples_ns"]]
        if samples:
            rates[goal] = told["goals"][0]["own"]["amount"] / statistics.median(samples) * 1e9
        why = [*told["troubles"], *filter(None, [told["paused"]])]
        troubles += [f"{goal}: {one}" for one in why]
        note({"who": "warpscope", "goal": goal, "flop_per_s": rates.get(goal), "troubles": why})
    return uuid, rates, troubles


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpscope", help="the program torch takes turns with")
    parser.add_argument("--gpu", default="0", help="GPU by number or UUID (0)")
    parser.add_argument("--samples", type=int, default=20, help="samples of each work (20)")
    parser.add_argument("--warm", type=float, default=WARM, help=f"seconds of each work before its samples ({WARM:.0f})")
    parser.add_argument("--cublas", help="copy of cuBLAS for warpscope (the best it finds)")
    parser.add_argument("--lines", action="store_true", help="each figure as a line of JSON as soon as it is there; the result is the last line")
    parser.add_argument("--turn", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        print(json.dumps(torch_turn(options.samples, options.warm)))
        return
    def note(line):
        if options.lines:
            print(json.dumps(line), flush=True)

    load_torch()
    environment = dict(os.environ)
    environment["CUDA_VISIBLE_DEVICES"] = options.gpu
    # torch and warpscope must count GPUs alike.
    environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    turn = [sys.executable, os.path.abspath(__file__), "--turn", "--samples", str(options.samples), "--warm", str(options.warm)]
    everywhere = {name: value for name, value in environment.items() if name != "CUDA_VISIBLE_DEVICES"}
    torch_turns, own_turns = [], []
    order = "tWWt" if options.warpscope else "tt"
    for who in order:
        if who == "t":
            torch_turns.append(lines_of(turn, environment, note))
        else:
            own_turns.append(warpscope_turn(options, everywhere, note))
    rows = []
    for goal, _, _ in WORKS:
        theirs = [told["flop_per_s"][goal] for told in torch_turns]
        ours = [rates[goal] for _, rates, _ in own_turns if goal in rates]
        rows.append(
            {
                "goal": goal,
                "torch_flop_per_s": statistics.mean(theirs),
                "own_flop_per_s": statistics.mean(ours) if ours else None,
                "ratio": statistics.mean(ours) / statistics.mean(theirs) if ours else None,
                # By backend, where there are several; the fastest is what is compared.
                "backends": torch_turns[0]["attention_flop_per_s"].get(goal),
            }
        )
    about = {name: torch_turns[0][name] for name in ("torch", "cuda", "gpu")}
    uuid = own_turns[0][0] if own_turns else None
    troubles = [trouble for turn in own_turns for trouble in turn[2]]
    result = {"schema": 1, **about, "uuid": uuid, "order": order, "rows": rows, "troubles": troubles}
    print(json.dumps(result, indent=None if options.lines else 1))


if __name__ == "__main__":
    main()
