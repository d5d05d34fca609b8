"""The command line of tests/gpu/record."""

import argparse
import fnmatch
import os
import signal
import subprocess
import sys
import time

from . import figures, screen, stages, why
from .machine import archive, die_with_parent, run
from .pack import pack
from .recording import Recording, ask_once, say
from .runner import NoDevice

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
STAGES = {
    "facts": stages.facts,
    "selftest": stages.selftest,
    "probe": stages.probe,
    "numbers": stages.numbers,
    "beside": stages.beside,
    "long": stages.long,
    "why": why.why,
    "screen": screen.screen,
}
# A machine that may be had three times for some minutes: does it compute, how fast is what is right, why is the rest wrong or slow.
RUNS = {"A": ("facts", "selftest", "probe"), "B": ("numbers", "beside", "long"), "C": ("why", "beside", "screen")}
EPILOG = """
Stages, most valuable first, all of them where none is named:
  facts     what is here; NVML against nvidia-smi
  selftest  every kernel against its cases, one kernel a job
  probe     live probes
  numbers   the read curve, goals beside cuBLASLt and the roof, bursts, the micro decoder
  beside    PyTorch in turns with warpscope; what the dashboard costs somebody who computes
  long      variants chosen, the goals with them, every kernel warm and long
  why       compute-sanitizer, cuda-gdb and ncu on what is wrong or slow
  screen    the dashboard in a terminal for ten minutes, what it draws kept

Three runs with one folder, each with an archive of its own: A is facts, selftest and probe, B numbers, beside and long, C why, what is left of
beside, and screen.

The same folder again goes on where it was left: what is settled is not asked again. Ends with 0 when all is well, 1 when something is wrong,
2 when it cannot start, 3 without a GPU. Serials, UUIDs, host and user names are redacted; look through the files before you give them away.
"""


def options_of(arguments):
    parser = argparse.ArgumentParser(
        prog="tests/gpu/record", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Tries everything warpscope says about GPUs on those of this machine. Every case and figure is on the disk as soon as it is there.",
    )
    parser.add_argument("words", nargs="*", metavar="GPU|STAGE|RUN", help="GPUs by number or UUID (all), and stages (all but long), or A, B, C")
    parser.add_argument("--out", help="folder (tests/gpu/NAME-DATE)")
    parser.add_argument("--minutes", type=float, help="time for all of it (no limit)")
    parser.add_argument("--program", default=os.environ.get("WARPSCOPE"), help="warpscope, instead of building it; also WARPSCOPE")
    parser.add_argument("--only", default="*", help="kernels, probes and goals, by patterns: 'gemm.*,attn.*'")
    parser.add_argument("--long", action="store_true", help="the stage long as well")
    parser.add_argument("--anyway", action="store_true", help="measure although others use the GPU; for a machine of one's own")
    parser.add_argument("--patience", type=float, help="seconds of silence that are a hang (15 for self-tests, 20 for probes, 45 else)")
    parser.add_argument("--cublas", help="copy of cuBLAS (those of Python, the toolkit and the system)")
    parser.add_argument("--pack", metavar="FILE", help="instead, pack the program and what it needs for a machine without Rust or a network")
    parser.add_argument("--screen-s", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--stand-in", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.runs = [word for word in options.words if word in RUNS]
    options.gpus = [word for word in options.words if word not in STAGES and word not in RUNS]
    of_runs = [stage for run in options.runs for stage in RUNS[run]]
    named = [*of_runs, *(stage for stage in STAGES if stage in options.words and stage not in of_runs)]
    options.stages = named or [stage for stage in STAGES if stage != "long" or options.long]
    patterns = options.only.split(",")
    options.wants = lambda name: any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    options.date = time.strftime("%Y-%m-%d", time.gmtime())
    return options


def fail(code, why):
    say(why)
    sys.exit(code)


def program_of(options):
    """A program that is there, before one that would have to be built."""
    if options.program:
        if not os.access(options.program, os.X_OK):
            fail(2, f"{options.program} is not a program; --program or WARPSCOPE names one, or leave both out.")
        return os.path.abspath(options.program)
    beside = os.path.join(ROOT, "warpscope")
    if os.access(beside, os.X_OK) and os.path.isfile(beside):
        return beside
    say("Building warpscope; the first time takes some minutes.")
    try:
        built = subprocess.run(["cargo", "build", "--release", "--locked"], cwd=ROOT, check=False).returncode == 0
    except OSError:
        built = False
    if not built:
        fail(2, "It does not build; nothing was measured. --program names a program that was built elsewhere.")
    return os.path.join(ROOT, "target", "release", "warpscope")


def devices_of(options, program):
    """The GPUs that were named, or all."""
    there = ask_once(program, None, [{"command": "devices"}], "device")
    if not there:
        fail(3, f"There is no GPU to try it on. `{program} doctor` says what was looked for.")
    chosen = []
    for word in options.gpus or map(str, range(len(there))):
        by_number = [there[int(word)]] if word.isdigit() and int(word) < len(there) else []
        found = by_number or [device for device in there if len(word) > 3 and device["uuid"].startswith(word)]
        if len(found) != 1:
            fail(2, f"{word} is neither a GPU nor a stage. GPUs: {', '.join(device['uuid'] for device in there)}; stages: {', '.join(STAGES)}; runs: A, B, C")
        chosen += found
    if any(device["device"]["simulated"] for device in chosen) and not options.stand_in:
        fail(3, "A stand-in computes here. What it says proves nothing about a GPU, so nothing is kept.")
    return chosen


class Frames:
    """Clocks, power and temperature of the whole time, for whoever doubts a figure."""

    def __init__(self, recording):
        number = 1
        while os.path.exists(recording.path(f"frames-{number}.jsonl")):
            number += 1
        command = [recording.program, "record", recording.path(f"frames-{number}.jsonl"), "--interval", "1s", "--redact"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Interrupted(Exception):
    """A signal that asks to end."""


def record(recording, stage_names):
    """Runs the stages; each ends with results and an archive, whatever became of it."""
    frames = Frames(recording)
    try:
        for stage in stage_names:
            if recording.clock.left() <= 0:
                say(f"{stage}: no time left")
                break
            say(f"{stage}: {STAGES[stage].__doc__ or why.__doc__}".splitlines()[0])
            begin = time.monotonic()
            try:
                STAGES[stage](recording)
            except (NoDevice, RuntimeError) as error:
                say(f"  {error}")
                recording.journal("trouble").write(stage, why=str(error))
                recording.is_troubled = True
                if isinstance(error, NoDevice):
                    break
            finally:
                conclude(recording, stage, time.monotonic() - begin)
    finally:
        frames.end()


def conclude(recording, stage, took):
    recording.journal("stages").write(stage, took_s=round(took, 1), left_s=round(min(recording.clock.left(), 1e6), 1))
    figures.write_results(recording)
    lines = figures.summary(recording)
    recording.write("summary.txt", "\n".join(lines) + "\n")
    if os.path.exists(recording.path("goals.json")):
        _, table = run([sys.executable, stages.script("goals_table.py"), recording.folder], 30)
        recording.write("table.md", table)
    path, size = archive(recording.folder, "".join(f"-{run}" for run in recording.options.runs))
    say(f"  {took:.0f} s; {path}: {size / 2**20:.1f} MiB")


def end(signal_number, _frame):
    # The second one, too, must not cut the end short.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    raise Interrupted(signal_number)


def main():
    options = options_of(sys.argv[1:])
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    program = program_of(options)
    if options.pack:
        sys.exit(pack(program, options.pack))
    devices = devices_of(options, program)
    name = "".join(c if c.isalnum() else "-" for c in devices[0]["device"]["name"].lower())
    top = os.path.abspath(options.out or os.path.join(ROOT, "tests", "gpu", f"{name}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"))
    deadline = time.monotonic() + (options.minutes or 1e7) * 60.0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    well, interrupted = True, False
    for place, device in enumerate(devices):
        options.folder = top if len(devices) == 1 else os.path.join(top, f"gpu{place}")
        minutes = options.minutes and (deadline - time.monotonic()) / 60.0 / (len(devices) - place)
        try:
            recording = Recording(options, program, device, minutes)
        except OSError as error:
            fail(2, f"{options.folder} cannot be used: {error}")
        if not recording.claim():
            fail(2, f"{options.folder} holds what another program or GPU did; name another folder.")
        try:
            record(recording, options.stages)
        except Interrupted:
            interrupted = True
        say((open(recording.path("summary.txt")).read() if os.path.exists(recording.path("summary.txt")) else "").rstrip())
        well = well and figures.is_well(recording) and not recording.is_troubled
        recording.close()
        if interrupted:
            break
    say(f"Kept in {top}")
    if interrupted:
        sys.exit(130)
    if not well:
        say("Something was wrong or missing. That is worth as much as a success: please give these files to the project.")
        sys.exit(1)
