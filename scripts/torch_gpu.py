#!/usr/bin/env python3
"""PyTorch's own kernels beside warpscope's, at the sizes of its goals: matmul and scaled_dot_product_attention.

    scripts/torch_gpu.py --warpscope target/release/warpscope --gpu 0 >torch.json

The two take turns torch, warpscope, warpscope, torch, each in a process of its own, because a GPU that another process holds is not measured.
Without --warpscope torch is timed alone. Ends with 3 where torch or a GPU is missing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

from torch_here import give_up, load_torch

HEADS, KV_HEADS, HEAD, TOKENS = 16, 4, 128, 4096
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
    attention = torch.nn.functional.scaled_dot_product_attention
    q = torch.randn(1, HEADS, TOKENS, HEAD, dtype=kind, device="cuda")
    k, v = (torch.randn(1, KV_HEADS, TOKENS, HEAD, dtype=kind, device="cuda") for _ in range(2))
    k, v = (x.repeat_interleave(HEADS // KV_HEADS, dim=1) for x in (k, v))
    pairs = TOKENS * (TOKENS + 1) / 2
    return lambda: attention(q, k, v, is_causal=True), 4.0 * pairs * HEADS * HEAD


def time_of(torch, run, samples):
    """Seconds of one run, median; as many runs a sample as make it longer than a millisecond."""

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
    return statistics.median(seconds(times) / times for _ in range(samples))


def torch_turn(samples):
    """Every work once, one after the other and again from the front, so that heat falls on all of them."""
    torch = load_torch()
    rates = {goal: [] for goal, _, _ in WORKS}
    for _ in range(2):
        for goal, dtype, side in WORKS:
            run, operations = operation(torch, dtype, side)
            rates[goal].append(operations / time_of(torch, run, samples))
    about = {"torch": torch.__version__, "cuda": torch.version.cuda, "gpu": torch.cuda.get_device_name()}
    return {**about, "flop_per_s": {goal: statistics.median(all) for goal, all in rates.items()}}


def in_process(arguments, environment):
    done = subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 3:
        sys.exit(3)
    # A missed floor ends warpscope with 1, and its figures are good.
    if done.returncode not in (0, 1) or not done.stdout.strip():
        give_up(f"{arguments[0]} ended with {done.returncode}")
    return json.loads(done.stdout)


def warpscope_turn(program, gpu, environment):
    names = ",".join(goal for goal, _, _ in WORKS)
    command = [program, "bench", "--goals", f"--gpu={gpu}", "--kernel", names, "--json"]
    told = in_process(command, environment)["gpus"][0]
    rates = {}
    for row in told["goals"]:
        samples = row["own"]["samples_ns"]
        if samples:
            rates[row["goal"]] = row["own"]["amount"] / statistics.median(samples) * 1e9
    return told["uuid"], rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpscope", help="the program torch takes turns with")
    parser.add_argument("--gpu", default="0", help="GPU by number or UUID (0)")
    parser.add_argument("--samples", type=int, default=20, help="samples of each work (20)")
    parser.add_argument("--turn", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        print(json.dumps(torch_turn(options.samples)))
        return
    load_torch()
    environment = dict(os.environ)
    environment["CUDA_VISIBLE_DEVICES"] = options.gpu
    # torch and warpscope must count GPUs alike.
    environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    turn = [sys.executable, os.path.abspath(__file__), "--turn", "--samples", str(options.samples)]
    everywhere = {name: value for name, value in environment.items() if name != "CUDA_VISIBLE_DEVICES"}
    torch_turns, own_turns = [], []
    order = "tWWt" if options.warpscope else "tt"
    for who in order:
        if who == "t":
            torch_turns.append(in_process(turn, environment))
        else:
            own_turns.append(warpscope_turn(options.warpscope, options.gpu, everywhere))
    rows = []
    for goal, _, _ in WORKS:
        theirs = [told["flop_per_s"][goal] for told in torch_turns]
        ours = [rates[goal] for _, rates in own_turns if goal in rates]
        rows.append(
            {
                "goal": goal,
                "torch_flop_per_s": statistics.mean(theirs),
                "own_flop_per_s": statistics.mean(ours) if ours else None,
                "ratio": statistics.mean(ours) / statistics.mean(theirs) if ours else None,
            }
        )
    about = {name: torch_turns[0][name] for name in ("torch", "cuda", "gpu")}
    uuid = own_turns[0][0] if own_turns else None
    print(json.dumps({"schema": 1, **about, "uuid": uuid, "order": order, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
