"""What is asked in each stage, most valuable first: facts, does it compute, what does it take, how fast."""

import os
import sys

from . import order
from .machine import tool
from .runner import Job, Manner, Runner

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts")
# Seconds without an event after which a self-test hangs, a probe, and what is timed.
SELFTEST, PROBE, NUMBERS = 15.0, 20.0, 45.0


def script(name):
    return os.path.normpath(os.path.join(SCRIPTS, name))


def facts(recording):
    """What is here: seconds."""
    program = recording.program
    for key, arguments, file in (
        ("version", [program, "--version"], "version.txt"),
        ("snapshot", [program, "snapshot", "--json", "--redact"], "snapshot.json"),
        ("doctor", [program, "doctor", "--redact"], "doctor.txt"),
        ("nvidia-smi", ["nvidia-smi", "-q"], "nvidia-smi.txt"),
        ("nvml", [sys.executable, script("nvml_smi.py"), program, "--gpu", recording.uuid], "nvml.json"),
        ("nvcc", ["nvcc", "--version"], "nvcc.txt"),
        ("ncu", ["ncu", "--version"], "ncu.txt"),
        ("compute-sanitizer", ["compute-sanitizer", "--version"], "compute-sanitizer.txt"),
        ("torch", [sys.executable, "-c", "import torch; print(torch.__version__, torch.version.cuda)"], "torch.txt"),
        ("kernel", ["uname", "-srvmo"], "uname.txt"),
    ):
        if os.path.isabs(arguments[0]) or tool(arguments[0]):
            recording.command("facts", key, arguments, 60, file)


def kernels(recording):
    """Kernels this device has, most valuable first, with their families."""
    listed = recording.listing()["kernels"]
    family = {kernel["id"]: kernel["family"] for kernel in listed if kernel["route"]["route"] != "absent"}
    chosen = [kernel for kernel in order.by(order.KERNELS, family) if recording.options.wants(kernel)]
    return [(kernel, family[kernel]) for kernel in chosen]


def selftest(recording):
    """Every kernel against its cases, one kernel a job: a hang costs its patience and that kernel."""
    evidence = recording.path("evidence")
    jobs = [
        Job(kernel, {"command": "selftest", "kernels": kernel, "evidence": evidence}, family) for kernel, family in kernels(recording)
    ]
    options = recording.options
    manner = Manner(patience=options.patience or SELFTEST, beside_others=options.anyway, on_hang=recording.note_hang)
    Runner(recording, recording.journal("selftest"), manner).run(jobs)


def verdicts(recording):
    """Kernel: `right`, `wrong`, `failed`, or how its job ended."""
    found = {}
    for line in recording.lines("selftest"):
        job = line.get("job")
        if "asked" in line:
            found.pop(job, None)
        elif line.get("event") == "case":
            found[job] = "wrong" if line.get("wrong") or found.get(job) == "wrong" else found.get(job, "right")
        elif line.get("event") == "failed":
            found[job] = "wrong" if found.get(job) == "wrong" else "failed"
        elif line.get("ended", "ok") != "ok":
            found[job] = line["ended"] if found.get(job) != "wrong" else "wrong"
    return found


def is_right(recording):
    """Whether a kernel may be timed: nothing that failed is. Where nothing was tested, nothing is known against it."""
    found = verdicts(recording)
    return lambda kernel: kernel is None or not found or found.get(kernel) == "right"


def probe(recording):
    """Live probes, one a job: the death of a worker is an answer."""
    cublas = recording.cublas()
    jobs = [
        Job(probe, {"command": "probe", "ids": [probe], "cublas": cublas}, probe.split(".")[0])
        for probe in recording.listing()["probes"]
        if recording.options.wants(probe)
    ]
    manner = Manner(patience=recording.options.patience or PROBE, beside_others=recording.options.anyway, on_hang=recording.note_hang)
    Runner(recording, recording.journal("probe"), manner).run(jobs)


def numbers(recording):
    """How fast, only for what passed: the read curve, goals, every kernel in bursts, the micro decoder, dynamic ranges."""
    listing, right = recording.listing(), is_right(recording)
    cublas = recording.cublas()
    jobs = []
    if right("mem.read"):
        jobs += [Job(f"read {mib} MiB", burst("mem.read", {"m": 0, "n": mib << 10, "k": 0}), "curve") for mib in order.READ_MIB]
    goals = {goal["id"]: goal["kernel"] for goal in listing["goals"]}
    for goal in order.by(order.GOALS, goals):
        if right(goals[goal]):
            jobs.append(Job(f"goal {goal}", {"command": "goal", "id": goal, "cublas": cublas}, "goal"))
    jobs += [Job(f"burst {kernel}", burst(kernel), family) for kernel, family in kernels(recording) if right(kernel)]
    for model in ("m0", "m1"):
        jobs += [decode(path, profile, model) for path in listing["paths"] for profile in (("clean", "glm4") if model == "m0" else ("clean",))]
    jobs += [Job("range", {"command": "range"}, "range")]
    jobs = [job for job in jobs if recording.options.wants(job.key.split()[-1]) or recording.options.wants(job.key)]
    options = recording.options
    manner = Manner(patience=options.patience or NUMBERS, sustained=True, beside_others=options.anyway, on_hang=recording.note_hang)
    Runner(recording, recording.journal("numbers"), manner).run(jobs)


def burst(kernel, shape=None):
    return {"command": "kernel", "kernels": kernel, "mode": "pulse", **({"shape": shape} if shape else {})}


def decode(path, profile, model):
    # NF4 searches for the nearest of its numbers on the CPU.
    patience = 180.0 if path.startswith("nf4") else 0.0
    return Job(f"decode {path} {profile} {model}", {"command": "decode", "path": path, "profile": profile, "model": model}, "decode", patience)


def beside(recording):
    """PyTorch at the same sizes in turns, and what the dashboard costs somebody who computes."""
    gpu = ["--gpu", recording.uuid]
    program = recording.program
    cublas = [f"--cublas={path}" for path in recording.cublas()[:1]]
    for key, arguments, limit in (
        ("torch", [script("torch_gpu.py"), "--lines", "--warpscope", program, *gpu, *cublas], 900),
        ("arrival", [script("neighbour.py"), program, "--arrival", "--blocks", "1", "--lines", *gpu], 300),
        ("neighbour", [script("neighbour.py"), program, "--lines", *gpu], 600),
    ):
        recording.command("beside", key, [sys.executable, *arguments], limit, lines=True)


def long(recording):
    """The variants of every kernel, the goals with them, and every kernel warm and long."""
    options, right = recording.options, is_right(recording)
    gpu = [f"--gpu={recording.uuid}", "--json", f"--patience={int(options.patience or NUMBERS)}s", *(["--anyway"] if options.anyway else [])]
    bench = [recording.program, "bench", *gpu]
    right_ones = [kernel for kernel, _ in kernels(recording) if right(kernel)]
    cublas = [f"--cublas={path}" for path in recording.cublas()[:1]]
    # For `warpscope compare` and the History tab.
    log = ["--record", recording.path("runs.jsonl")]
    for kernel in right_ones:
        recording.command("long", f"tune {kernel}", [*bench, "--tune", "--kernel", kernel], 600)
    for goal in recording.listing()["goals"]:
        if right(goal["kernel"]) and options.wants(goal["id"]):
            recording.command("long", f"goal {goal['id']}", [*bench, "--goals", "--kernel", goal["id"], *cublas, *log], 300)
    for kernel in right_ones:
        recording.command("long", f"full {kernel}", [*bench, "--full", "--device", "gpu", "--kernel", kernel, *log], 600)
