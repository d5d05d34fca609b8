"""Why something is wrong or slow: the tools of the CUDA toolkit on what the stages before found, where they exist."""

import os
import time

from . import order
from .figures import goal_rows
from .machine import run, tool
from .runner import Job, Manner, Runner
from .stages import SELFTEST, burst, verdicts

# Kernels that are looked into, worst first, and how many times slower they may be below a tool.
SUSPECTS, SLOWER = 8, 8
# The driver is asked for parameters of a function until it knows none: an error of its interface that is meant.
SANITIZERS = (("synccheck", ()), ("memcheck", ("--padding", "256", "--report-api-errors", "no")), ("racecheck", ("--racecheck-report", "all")), ("initcheck", ()))
# What the debugger is asked about a dump.
QUESTIONS = ("info cuda kernels", "info cuda blocks", "info cuda warps", "info cuda lanes", "x/16i $pc-128", "info registers")
# A dump says where every warp stands, not what the memory holds.
DUMP_FLAGS = "skip_nonrelocated_elf_images,skip_global_memory,skip_local_memory,skip_constbank_memory"


def suspects(recording):
    """Kernels that are not right: wrong ones, those that faulted or hung, those that failed otherwise."""
    found = {kernel: how for kernel, how in verdicts(recording).items() if how != "right" and not how.startswith("left out")}
    badness = {"wrong": 0, "failed": 2}
    return sorted(found, key=lambda kernel: badness.get(found[kernel], 1))[:SUSPECTS], found


def why(recording):
    os.makedirs(recording.path("why"), exist_ok=True)
    kernels, found = suspects(recording)
    dumps(recording, [kernel for kernel in kernels if found[kernel] not in ("wrong", "failed")])
    sanitize(recording, kernels)
    profile(recording)


def here(recording, name):
    """The path of a tool; that it is missing is noted."""
    found = tool(name)
    if not found:
        recording.journal("why").write(name, missing=True)
    return found


def sanitize(recording, kernels):
    sanitizer = here(recording, "compute-sanitizer")
    if not sanitizer:
        return
    journal = recording.journal("why")
    for kernel in kernels:
        for name, more in SANITIZERS:
            log = recording.path("why", f"{name}-{kernel}.log")
            prefix = (sanitizer, "--tool", name, *more, "--target-processes", "all", "--print-limit", "30", "--log-file", log)
            job = Job(f"{name} {kernel}", selftest(kernel))
            Runner(recording, journal, below(recording, prefix)).run([job])
            if journal.ended.get(job.key) == "hang":
                break


def below(recording, prefix):
    patience = SLOWER * (recording.options.patience or SELFTEST)
    return Manner(patience=patience, beside_others=recording.options.anyway, prefix=prefix)


def selftest(kernel):
    return {"command": "selftest", "kernels": kernel}


def missed(recording):
    """Goals whose figure is below the floor, and the ones by which a GPU is judged, with kernel, shape and entry."""
    rows = {row["goal"]: row for row in goal_rows(recording)}
    listed = {goal["id"]: goal for goal in recording.listing()["goals"]}
    wanted = [goal for goal, row in rows.items() if row["verdict"] == "missed"]
    for goal in dict.fromkeys([*wanted, *order.PROFILED]):
        about = listed.get(goal)
        if about and about["kernel"] and about["shape"]:
            yield goal, about, rows.get(goal, {}).get("own", {}).get("entry", "")


def profile(recording):
    ncu = here(recording, "ncu")
    if not ncu:
        return
    found = verdicts(recording)
    for goal, about, entry in missed(recording):
        if found and found.get(about["kernel"]) != "right":
            continue
        out = recording.path("why", f"ncu-{goal}")
        chosen = ("-k", f"regex:{entry}") if entry else ()
        prefix = (ncu, "--target-processes", "all", "--clock-control", "none", "--set", "full", *chosen, "-c", "1", "-f", "-o", out)
        job = Job(f"ncu {goal}", burst(about["kernel"], about["shape"]))
        Runner(recording, recording.journal("why"), below(recording, prefix)).run([job])


def dumps(recording, kernels):
    """Runs what faults or hangs once more with core dumps of the GPU, and asks the debugger about them. Never where something is timed."""
    debugger = here(recording, "cuda-gdb") if kernels else None
    if not debugger:
        return
    folder = recording.path("cores")
    os.makedirs(folder, exist_ok=True)
    environment = {
        "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1",
        "CUDA_ENABLE_USER_TRIGGERED_COREDUMP": "1",
        "CUDA_COREDUMP_PIPE": os.path.join(folder, "pipe.%p"),
        "CUDA_COREDUMP_FILE": os.path.join(folder, "core.%p"),
        "CUDA_COREDUMP_GENERATION_FLAGS": DUMP_FLAGS,
    }
    for kernel in kernels:
        before = set(cores(folder))
        manner = Manner(
            patience=recording.options.patience or SELFTEST, beside_others=recording.options.anyway,
            environment=environment, on_hang=lambda worker, _: trigger(folder, worker.pid),
        )
        Runner(recording, recording.journal("why"), manner).run([Job(f"dump {kernel}", selftest(kernel))])
        for core in sorted(set(cores(folder)) - before):
            questions = [word for question in QUESTIONS for word in ("-ex", question)]
            path = os.path.join(folder, core)
            recording.command("why", f"cuda-gdb {kernel} {core}", [debugger, "-batch", "-ex", f"target cudacore {path}", *questions], 60, f"why/cuda-gdb-{kernel}.txt")


def cores(folder):
    return [name for name in os.listdir(folder) if name.startswith("core.")]


def trigger(folder, pid):
    """Asks the driver for a dump of a process that hangs, and waits for it."""
    pipe = os.path.join(folder, f"pipe.{pid}")
    if not os.path.exists(pipe):
        return
    run(["dd", "if=/dev/zero", "bs=4096", "count=1", f"of={pipe}"], 5)
    deadline = time.monotonic() + 15.0
    while time.monotonic() < deadline and not any(name.endswith(f".{pid}") for name in cores(folder)):
        time.sleep(0.5)
