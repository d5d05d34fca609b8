"""Tables of every release of the frameworks: dates, pins and architectures.

    python3 scripts/releases --mirrors DIR [NAME...]
    python3 scripts/releases --index
    python3 scripts/releases --dates
    python3 scripts/releases --mirrors DIR --gates NAME
    python3 scripts/releases --wheels PACKAGE [--platform "linux aarch64"] [--from VERSION]

reads git mirrors, one folder each as `frameworks.toml` names them, writes `tags.csv`, `pins.csv` and `archs.csv` in `probes/releases`
and prints what changed since; `--index` asks pip for the versions of each package that can be installed, for `installs.csv`; `--dates` asks it when the
releases of those without a mirror came, for `tags.csv`; `--gates`
prints every check of the compute capability in one framework, to choose rows of `gates.csv` from; `--wheels`
scans the wheels of one package with `target/debug/warpscope inspect`, for `wheels.csv`. A framework whose mirror is not there keeps its rows. Releases later than a mirror, and
all of a framework that has none, come from `archives.csv`: versions known from the package index, with the pins their archives state.
"""

import argparse
import sys
import tomllib
from pathlib import Path

import dates
import facts
import gates
import wheels
from history import History, releases
from index import installable
from tables import FACTS, INSTALLS, TAGS, changes, rows_of, runs, sort_key, written
from versions import order

HERE = Path(__file__).parent
TABLES = HERE.parent.parent / "probes" / "releases"
ARCHIVE_PINS = ("torch", "triton", "cuda", "transformers", "flashinfer")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--mirrors", type=Path)
    words.add_argument("--index", action="store_true")
    words.add_argument("--dates", action="store_true")
    words.add_argument("--gates", metavar="NAME")
    words.add_argument("--wheels", metavar="PACKAGE")
    words.add_argument("--platform", default="linux x86_64")
    words.add_argument("--from", dest="start", default="0")
    words.add_argument("name", nargs="*")
    words = words.parse_args()
    known = tomllib.loads((HERE / "frameworks.toml").read_text(encoding="utf8"))
    if words.index:
        rows = [dict(package=package, versions=installable(package)) for package in sorted(known["packages"])]
        renew("installs.csv", written(INSTALLS, rows))
    if words.dates:
        from_index(known["indexed"])
    if words.wheels:
        from_wheels(words.wheels, words.platform, words.start)
    if words.gates:
        sys.stdout.write(gates_of(next(one for one in known["framework"] if one["name"] == words.gates), words.mirrors))
    elif words.mirrors:
        from_mirrors([one for one in known["framework"] if one["name"] in (words.name or [one["name"]])], words.mirrors)


def from_mirrors(frameworks: list[dict], mirrors: Path):
    tables = {"tags.csv": TAGS, "pins.csv": FACTS, "archs.csv": FACTS}
    rows = {name: rows_of(TABLES / name) for name in tables}
    for framework in frameworks:
        for name, new in read(framework, mirrors).items():
            rows[name] = [row for row in rows[name] if row["framework"] != framework["name"]] + new
    for name, columns in tables.items():
        renew(name, written(columns, sorted(rows[name], key=sort_key)))


def from_index(packages: dict[str, str]):
    kept = [row for row in rows_of(TABLES / "tags.csv") if row["framework"] not in packages]
    new = [dict(framework=name, version=version, date=day)
           for name, package in packages.items() for version, day in dates.released(package).items()]
    renew("tags.csv", written(TAGS, sorted(kept + new, key=sort_key)))


def gates_of(framework: dict, mirrors: Path) -> str:
    history = History(mirrors / framework["mirror"] / "repo")
    rows = gates.candidates(history, framework)
    history.close()
    return written(gates.COLUMNS, rows)


def from_wheels(package: str, platform: str, start: str):
    known = {row["package"]: row["versions"].split() for row in rows_of(TABLES / "installs.csv")}
    versions = sorted((one for one in known[package] if order(one) >= order(start)), key=order)
    warpscope = HERE.parent.parent / "target" / "debug" / "warpscope"
    new, _ = wheels.coverage(package, versions, platform, warpscope)
    kept = [row for row in rows_of(TABLES / "wheels.csv") if (row["package"], row["platform"]) != (package, platform)]
    rows = sorted(kept + new, key=lambda row: (row["package"], row["platform"], row["library"], order(row["first"])))
    renew("wheels.csv", written(wheels.COLUMNS, rows))


def renew(name: str, text: str):
    for line in changes(TABLES / name, text):
        print(f"{name}: {line}")
    (TABLES / name).write_text(text, encoding="utf8")


def read(framework: dict, mirrors: Path) -> dict[str, list[dict]]:
    """The rows of one framework, by table."""
    name = framework["name"]
    if "mirror" not in framework:
        return {"tags.csv": [dict(framework=name, version=version, date=date) for version, date, _ in archives(name, [])]}
    folder = mirrors / framework["mirror"] / "repo"
    if not folder.exists():
        print(f"{name}: no mirror {framework['mirror']}", file=sys.stderr)
        return {}
    history = History(folder)
    found = releases(history, framework)
    others = archives(name, found)
    label = framework["repository"]
    archs = [(one.version, one.date, said(history, one, framework["archs"], facts.archs, label, True)) for one in found]
    pins = [(one.version, one.date, said(history, one, framework["pins"], facts.pins, label, False)) for one in found]
    for _, _, said_of in pins:
        said_of.pop(name, None)
    history.close()
    print(f"{name}: {len(found)} releases, {found[0].version} to {found[-1].version}, {len(others)} from archives", file=sys.stderr)
    all_pins = sorted(pins + others, key=lambda one: order(one[0]))
    partly = frozenset(version for version, _, _ in others)
    unread = [(version, date, {}) for version, date, _ in others]
    all_archs = sorted(archs + unread, key=lambda one: order(one[0]))
    return {
        "tags.csv": [dict(framework=name, version=version, date=date) for version, date, _ in all_pins],
        "pins.csv": runs(name, all_pins, partly),
        "archs.csv": runs(name, all_archs, partly),
    }


def said(history, release, globs, extract, label, per_file) -> dict:
    """What the files of a release say: of pins the first file that has one, of lists those of every file."""
    said = {}
    for path, blob in history.paths(release.ref, globs).items():
        for key, value in extract(path, history.text(blob)):
            key = f"{path.rsplit('/', 1)[-1]}:{key}" if per_file else key
            said.setdefault(key, (value, f"{label}@{release.label}:{path}"))
    return said


def archives(name: str, found: list) -> list[tuple]:
    """Releases that the mirror lacks."""
    mirrored = {one.version for one in found}
    rows = [row for row in rows_of(HERE / "archives.csv") if row["framework"] == name and row["version"] not in mirrored]
    return [(row["version"], row["date"], archive_pins(name, row)) for row in rows]


def archive_pins(name: str, row: dict) -> dict:
    return {pin: (row[pin], f"{name}=={row['version']} archive") for pin in ARCHIVE_PINS if row[pin]}


if __name__ == "__main__":
    main()
