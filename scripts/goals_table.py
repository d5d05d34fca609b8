#!/usr/bin/env python3
"""A Markdown table from a recording of `bench --goals`, with torch and the neighbour where they were recorded beside it.

    scripts/goals_table.py tests/gpu/FOLDER >table.md

Effective clocks are those the device counted in kernels, ours and then those of what ours is held against.
"""

import json
import os
import statistics
import sys

WORDS = {"met": "met", "floor_met": "floor met", "missed": "**missed**", "undecided": "undecided", "no_aim": "no aim", "not_measured": "not measured"}


def read(folder, name):
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def figure(row):
    if row["figure"] is None:
        return "–"
    return f"{row['figure']:.3f} ± {row['spread']:.3f}" if row["against"] else f"{row['figure']:.1f} µs"


def number(value):
    return "–" if value is None else f"{value:g}"


def span(rows):
    clocks = [row["strain"]["sm_mhz"] for row in rows if row["strain"]["sm_mhz"]]
    if not clocks:
        return "clocks unknown"
    return f"{min(low for low, _ in clocks):.0f} to {max(high for _, high in clocks):.0f} MHz by NVML"


def effective(arm):
    """Median of the clocks the device counted in the kernels of one side, MHz."""
    counted = [mhz for mhz in ((arm or {}).get("clocks") or {}).get("mhz", []) if mhz is not None]
    return f"{statistics.median(counted):.0f}" if counted else "–"


def clock(row):
    return effective(row["own"]) + (f" / {effective(row['against'])}" if row["against"] else "")


def write(folder, out):
    told = read(folder, "goals.json")
    if told is None:
        sys.exit(f"goals_table: {folder} has no goals.json that can be read")
    torch = read(folder, "torch.json")
    for gpu in told["gpus"]:
        beside = {}
        if torch and torch.get("uuid") == gpu["uuid"]:
            beside = {row["goal"]: row["ratio"] for row in torch["rows"] if row["ratio"]}
        name = gpu["device"]["name"]
        out.write(f"**{name}**, {told['date']}, driver {told['driver'] or 'unknown'}, {span(gpu['goals'])}")
        out.write(" (simulated: no ratios)\n\n" if gpu["device"]["simulated"] else "\n\n")
        column = f" ÷ torch {torch['torch']} |" if beside else ""
        out.write(f"| goal | against | figure | floor | target | verdict | effective clock, MHz | weights |{column}\n")
        out.write("|---|---|---:|---:|---:|---|---:|---|" + ("---:|" if beside else "") + "\n")
        missed = []
        for row in gpu["goals"]:
            against = row["against"]["what"] if row["against"] else "–"
            cells = [row["goal"], against, figure(row), number(row["floor"]), number(row["target"]), WORDS[row["verdict"]], clock(row), row["cache"]]
            if beside:
                ratio = beside.get(row["goal"])
                cells.append("–" if ratio is None else f"{ratio:.2f}")
            out.write("| " + " | ".join(cells) + " |\n")
            if row["verdict"] == "missed":
                entry = row["own"].get("entry", "")
                missed.append(f"- {row['goal']}: {row['profile']}" + (f" ({entry})" if entry else ""))
        for goal, why in gpu["absent"]:
            out.write(f"\n{goal}: not on this GPU: {why}\n")
        for trouble in gpu["troubles"]:
            out.write(f"\n{trouble}\n")
        if missed:
            out.write("\nMissed (`build-kernels --table` says what the loop of a kernel costs):\n\n" + "\n".join(missed) + "\n")
        out.write("\n")
    neighbour = read(folder, "neighbour.json")
    if neighbour:
        loss, goal = neighbour["loss"], neighbour["goal"]
        out.write(f"A torch matmul loop beside the dashboard: {neighbour['pulses']} pulses, {loss:+.2%} of its throughput lost (goal: at most {goal:.1%}).\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(sys.argv[1], sys.stdout)
