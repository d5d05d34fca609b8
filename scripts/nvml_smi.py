#!/usr/bin/env python3
"""What warpscope reads through NVML against what nvidia-smi says, field by field; every disagreement is printed.

    scripts/nvml_smi.py target/release/warpscope --gpu 0 >nvml.json
    scripts/nvml_smi.py --snapshot before.json --snapshot after.json --xml smi.xml

nvidia-smi is asked between two snapshots: what moves has to lie between them, give or take what it moves in a moment. Ends with 1 when something disagrees,
with 3 where there is no nvidia-smi.
"""

import argparse
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as tree

MIB = 1 << 20
# Ours, theirs (the first that is there counts), our unit in theirs, and how far apart they may be in theirs.
FIELDS = [
    ("identity.name", ("product_name",), None, 0),
    ("identity.uuid", ("uuid",), None, 0),
    ("identity.vbios", ("vbios_version",), None, 0),
    ("identity.architecture", ("product_architecture",), None, 0),
    ("identity.board_part_number", ("board_part_number",), None, 0),
    ("identity.pci_bus_id", ("pci/pci_bus_id",), None, 0),
    ("identity.persistence", ("persistence_mode",), None, 0),
    ("identity.ecc_mode", ("ecc_mode/current_ecc",), None, 0),
    ("identity.mig_mode", ("mig_mode/current_mig",), None, 0),
    ("identity.compute_mode", ("compute_mode",), None, 0),
    ("vitals.memory_total_bytes", ("fb_memory_usage/total",), MIB, 1),
    ("vitals.memory_reserved_bytes", ("fb_memory_usage/reserved",), MIB, 1),
    ("vitals.memory_used_bytes", ("fb_memory_usage/used",), MIB, 64),
    ("vitals.memory_free_bytes", ("fb_memory_usage/free",), MIB, 64),
    ("vitals.bar1_total_bytes", ("bar1_memory_usage/total",), MIB, 1),
    ("vitals.bar1_used_bytes", ("bar1_memory_usage/used",), MIB, 4),
    ("vitals.util_gpu_pct", ("utilization/gpu_util",), 1, 10),
    ("vitals.util_memory_pct", ("utilization/memory_util",), 1, 10),
    ("vitals.util_encoder_pct", ("utilization/encoder_util",), 1, 10),
    ("vitals.util_decoder_pct", ("utilization/decoder_util",), 1, 10),
    ("vitals.util_jpeg_pct", ("utilization/jpeg_util",), 1, 10),
    ("vitals.util_ofa_pct", ("utilization/ofa_util",), 1, 10),
    ("vitals.temperature_c", ("temperature/gpu_temp",), 1, 2),
    ("vitals.temperature_memory_c", ("temperature/memory_temp",), 1, 2),
    ("vitals.temperature_slowdown_c", ("temperature/gpu_temp_slow_threshold",), 1, 0),
    ("vitals.temperature_shutdown_c", ("temperature/gpu_temp_max_threshold",), 1, 0),
    ("vitals.temperature_max_c", ("temperature/gpu_temp_max_gpu_threshold",), 1, 0),
    ("vitals.tlimit_c", ("temperature/gpu_temp_tlimit",), 1, 2),
    ("vitals.tlimit_slowdown_c", ("temperature/gpu_temp_slow_tlimit_threshold",), 1, 0),
    ("vitals.tlimit_shutdown_c", ("temperature/gpu_temp_max_tlimit_threshold",), 1, 0),
    ("vitals.tlimit_max_c", ("temperature/gpu_temp_max_gpu_tlimit_threshold",), 1, 0),
    ("vitals.tlimit_memory_max_c", ("temperature/gpu_temp_max_mem_tlimit_threshold",), 1, 0),
    ("vitals.power_w", ("gpu_power_readings/average_power_draw", "gpu_power_readings/power_draw", "power_readings/power_draw"), 1, 25),
    ("vitals.power_instant_w", ("gpu_power_readings/instant_power_draw",), 1, 50),
    ("vitals.power_limit_w", ("gpu_power_readings/current_power_limit", "power_readings/power_limit"), 1, 0.1),
    ("vitals.power_limit_default_w", ("gpu_power_readings/default_power_limit", "power_readings/default_power_limit"), 1, 0.1),
    ("vitals.clock_graphics_mhz", ("clocks/graphics_clock",), 1, 200),
    ("vitals.clock_sm_mhz", ("clocks/sm_clock",), 1, 200),
    ("vitals.clock_memory_mhz", ("clocks/mem_clock",), 1, 0),
    ("vitals.clock_video_mhz", ("clocks/video_clock",), 1, 200),
    ("vitals.clock_graphics_max_mhz", ("max_clocks/graphics_clock",), 1, 0),
    ("vitals.clock_sm_max_mhz", ("max_clocks/sm_clock",), 1, 0),
    ("vitals.clock_memory_max_mhz", ("max_clocks/mem_clock",), 1, 0),
    ("vitals.clock_video_max_mhz", ("max_clocks/video_clock",), 1, 0),
    ("vitals.clock_graphics_app_mhz", ("applications_clocks/graphics_clock",), 1, 0),
    ("vitals.clock_memory_app_mhz", ("applications_clocks/mem_clock",), 1, 0),
    ("vitals.fan_pct", ("fan_speed",), 1, 3),
    ("vitals.pstate", ("performance_state",), 1, 0),
    ("vitals.pcie_gen", ("pci/pci_gpu_link_info/pcie_gen/current_link_gen",), 1, 0),
    ("vitals.pcie_gen_max", ("pci/pci_gpu_link_info/pcie_gen/max_link_gen",), 1, 0),
    ("vitals.pcie_width", ("pci/pci_gpu_link_info/link_widths/current_link_width",), 1, 0),
    ("vitals.pcie_width_max", ("pci/pci_gpu_link_info/link_widths/max_link_width",), 1, 0),
    ("vitals.pcie_replays", ("pci/replay_counter",), 1, 0),
    ("vitals.rows_remapped_corrected", ("remapped_rows/remapped_row_corr",), 1, 0),
    ("vitals.rows_remapped_uncorrected", ("remapped_rows/remapped_row_unc",), 1, 0),
    ("vitals.rows_pending", ("remapped_rows/remapped_row_pending",), None, 0),
    ("vitals.rows_failed", ("remapped_rows/remapped_row_failure",), None, 0),
    ("vitals.retired_pages_sbe", ("retired_pages/multiple_single_bit_retirement/retired_count",), 1, 0),
    ("vitals.retired_pages_dbe", ("retired_pages/double_bit_retirement/retired_count",), 1, 0),
]
# What nvidia-smi says where it has no value.
NOTHING = ("", "n/a", "[n/a]", "not supported", "[not supported]", "unknown error", "[unknown error]")
BOOLEANS = {"enabled": True, "disabled": False, "yes": True, "no": False}


def dug(value, path):
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def theirs_of(gpu, paths):
    for path in paths:
        element = gpu.find(path)
        text = (element.text or "").strip() if element is not None else ""
        if text.lower() not in NOTHING and "deprecated" not in text.lower():
            return text
    return None


def as_number(text):
    found = re.search(r"-?\d+(?:\.\d+)?", text)
    return float(found[0]) if found else None


def plain(value):
    return re.sub(r"[^a-z0-9.]", "", str(value).lower())


def agrees(ours, theirs, unit, apart):
    """Whether one reading of theirs lies among ours. What is told in words is compared without its spelling."""
    if unit is None:
        if any(isinstance(one, bool) for one in ours):
            return BOOLEANS.get(theirs.lower()) in ours
        return plain(theirs) in [plain(one) for one in ours]
    number = as_number(theirs)
    numbers = [one / unit for one in ours if isinstance(one, (int, float))]
    return number is not None and bool(numbers) and min(numbers) - apart <= number <= max(numbers) + apart


def pids_of_ours(snapshots, key):
    return {process["pid"] for snapshot in snapshots for process in snapshot["processes"] if process["gpu"] == key}


def compare(snapshots, gpu, key):
    result = {"uuid": key, "agree": 0, "disagree": [], "only_ours": [], "only_theirs": []}
    cards = [card for snapshot in snapshots for card in snapshot["gpus"] if card["key"] == key]
    for field, paths, unit, apart in FIELDS:
        ours = [value for value in (dug(card, field) for card in cards) if value is not None]
        theirs = theirs_of(gpu, paths)
        row = {"field": field, "ours": ours or None, "theirs": theirs, "their_field": paths[0]}
        if not ours and theirs is None:
            continue
        if not ours:
            result["only_theirs"].append(row)
        elif theirs is None:
            result["only_ours"].append(row)
        elif agrees(ours, theirs, unit, apart):
            result["agree"] += 1
        else:
            result["disagree"].append(row)
    compared = {path for _, paths, _, _ in FIELDS for path in paths}
    result["not_compared"] = [f"{path}: {text}" for path, text in leaves(gpu, "") if path not in compared and text.lower() not in NOTHING]
    seen = {int(element.text) for element in gpu.iterfind("processes/process_info/pid") if (element.text or "").isdigit()}
    missing = sorted(seen - pids_of_ours(snapshots, key))
    if missing:
        result["disagree"].append({"field": "processes", "ours": None, "theirs": missing, "their_field": "processes"})
    return result


def leaves(element, path):
    for child in element:
        place = f"{path}/{child.tag}".lstrip("/")
        if place.startswith(("processes", "supported_clocks", "accounted_processes")):
            continue
        if len(child):
            yield from leaves(child, place)
        else:
            yield place, (child.text or "").strip()


def give_up(why):
    print(f"nvml_smi: {why}", file=sys.stderr)
    sys.exit(3)


def printed(arguments):
    try:
        done = subprocess.run(arguments, stdout=subprocess.PIPE, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        give_up(f"{arguments[0]}: {error}; nothing was compared")
    if done.returncode != 0:
        give_up(f"{arguments[0]} ended with {done.returncode}; nothing was compared")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warpscope", nargs="?", help="the program")
    parser.add_argument("--gpu", help="GPU by UUID or number (all)")
    parser.add_argument("--snapshot", action="append", help="a snapshot that was taken before")
    parser.add_argument("--xml", help="what nvidia-smi -q -x printed before")
    options = parser.parse_args()
    if options.xml:
        with open(options.xml, "rb") as file:
            xml = file.read()
        snapshots = []
        for path in options.snapshot or []:
            with open(path, encoding="utf-8") as file:
                snapshots.append(json.load(file))
    else:
        snapshot = [options.warpscope, "snapshot", "--json", "--require-gpu"]
        snapshots = [json.loads(printed(snapshot))]
        xml = printed(["nvidia-smi", "-q", "-x"])
        snapshots.append(json.loads(printed(snapshot)))
    gpus = {gpu.findtext("uuid"): gpu for gpu in tree.fromstring(xml).iterfind("gpu")}
    results = []
    for card in snapshots[0]["gpus"]:
        wanted = options.gpu in (None, card["key"], str(card["index"]))
        if wanted and card["key"] in gpus:
            results.append(compare(snapshots, gpus[card["key"]], card["key"]))
    if not results:
        give_up("NVML and nvidia-smi have no GPU in common; nothing was compared")
    print(json.dumps({"schema": 1, "gpus": results}, indent=1))
    for result in results:
        for row in result["disagree"]:
            print(f"nvml_smi: {row['field']}: {row['ours']} here, {row['theirs']} there ({row['their_field']})", file=sys.stderr)
    sys.exit(1 if any(result["disagree"] for result in results) else 0)


if __name__ == "__main__":
    main()
