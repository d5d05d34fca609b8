"""What the lines of a recording say together: goals with their verdicts, and a summary. Made anew whenever something was added."""

import json

from .stages import verdicts


def goal_rows(recording):
    """The newest report of every goal with its verdict, as `bench --goals --json` has them."""
    rows = {}
    for line in recording.lines("numbers"):
        if line.get("event") in ("goal", "judged"):
            told = {name: value for name, value in line.items() if name not in ("job", "event")}
            rows[line["goal"]] = {**rows.get(line["goal"], {}), **told}
    for row in rows.values():
        row["verdict"] = row.get("verdict", "not measured").replace(" ", "_")
    order = [goal["id"] for goal in recording.listing()["goals"]]
    return [rows[goal] for goal in order if goal in rows and "profile" in rows[goal]]


def last_output(recording, key):
    """The last thing a script printed: its result, if it came so far."""
    found = [line["out"] for line in recording.lines("beside") if line.get("job") == key and isinstance(line.get("out"), dict)]
    return next((out for out in reversed(found) if "schema" in out), None)


def write_results(recording):
    """What scripts/goals_table.py reads, from all there is so far."""
    rows = goal_rows(recording) if recording.lines("numbers") else []
    if rows:
        lines = recording.lines("numbers")
        troubles = [f"{line['job']}: {line['ended']}" for line in lines if line.get("ended", "ok") != "ok"]
        troubles += [f"{line['what']}: {line['error'].get('why', line['error'])}" for line in lines if line.get("event") == "failed"]
        gpu = {"uuid": recording.uuid, "device": recording.device, "goals": rows, "absent": [], "troubles": troubles}
        told = {"schema": 1, "date": recording.options.date, "driver": driver(recording), "gpus": [gpu]}
        recording.write("goals.json", json.dumps(told, indent=1))
    for key in ("torch", "neighbour", "arrival"):
        result = last_output(recording, key)
        if result:
            recording.write(key + ".json", json.dumps(result, indent=1))


def driver(recording):
    try:
        with open(recording.path("snapshot.json"), encoding="utf-8") as file:
            return json.load(file)["driver"]["versions"]["driver"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def clocks_of(line):
    """The clocks of the samples of a line, where the device told them."""
    clocks = (line if line.get("event") == "kernel" else line.get("own") or {}).get("clocks") or {}
    return clocks if clocks.get("best_mhz") else None


def summary(recording):
    """One line a stage, and every kernel that is not right."""
    lines = []
    for stage in ("facts", "selftest", "probe", "numbers", "beside", "long", "why", "screen"):
        ended = {line["job"]: line["ended"] for line in recording.lines(stage) if "ended" in line}
        if ended:
            well = sum(how == "ok" for how in ended.values())
            lines.append(f"{stage}: {well} of {len(ended)} jobs ended well")
    found = verdicts(recording)
    if found:
        right = sum(how == "right" for how in found.values())
        lines.append(f"kernels: {right} of {len(found)} right")
        lines += [f"  {kernel}: {how}" for kernel, how in found.items() if how != "right"]
    for line in recording.lines("probe"):
        if line.get("answer") == "wrong_output":
            lines.append(f"  probe {line['id']}: wrong output")
    clocks = [clock for clock in map(clocks_of, recording.lines("numbers")) if clock]
    low = sum(bool(clock["low"]) for clock in clocks)
    if low:
        lines.append(f"clocks: {low} of {len(clocks)} measurements have samples below 95 % of the best clock")
    for row in goal_rows(recording) if recording.lines("numbers") else []:
        if row["verdict"] == "missed":
            lines.append(f"  goal {row['goal']}: {row['figure']:.3f}, at least {row['floor'] or row['target']} wanted")
    return lines


def is_well(recording):
    """Whether nothing is wrong so far. A tool that is missing is no fault."""
    wrong = any(how != "right" for how in verdicts(recording).values())
    probes = any(line.get("answer") == "wrong_output" for line in recording.lines("probe"))
    missed = any(row["verdict"] == "missed" for row in goal_rows(recording)) if recording.lines("numbers") else False
    beside = any(str(line.get("ended", "ok")) not in ("ok", "exit 3") for line in recording.lines("beside"))
    return not (wrong or probes or missed or beside)
