"""Tables of facts: a row stands for as many releases as agree."""

import csv
import io
from pathlib import Path

from versions import order

TAGS = ["framework", "version", "date"]
INSTALLS = ["package", "versions"]
FACTS = ["framework", "first", "last", "date", "key", "value", "source"]


def runs(framework: str, read: list[tuple], partly: frozenset = frozenset()) -> list[dict]:
    """`read` holds `(version, date, {key: (value, source)})`, the oldest first. What is not said of a version that is known in part
    neither ends a run nor goes on with it. A run that reaches the newest release that was read for it has no last."""
    rows = []
    for key in sorted({key for _, _, facts in read for key in facts}):
        known = [one for one in read if key in one[2] or one[0] not in partly]
        rows += of_one_key(framework, key, known, newest=read[-1][0])
    return rows


def of_one_key(framework: str, key: str, read: list[tuple], newest: str) -> list[dict]:
    rows, value = [], None
    for version, date, facts in read:
        before, (value, source) = value, facts.get(key, (None, None))
        if value is None:
            continue
        if value != before:
            rows.append(dict(framework=framework, first=version, date=date, key=key, value=value, source=source))
        rows[-1]["last"] = "" if version == newest else version
    return rows


def sort_key(row: dict) -> tuple:
    version = row.get("first", row.get("version"))
    return (row["framework"].lower(), row.get("key", ""), order(version))


def written(columns: list[str], rows: list[dict]) -> str:
    out = io.StringIO()
    table = csv.DictWriter(out, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return out.getvalue()


def rows_of(path: Path) -> list[dict]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf8") as file:
        return list(csv.DictReader(file))


def changes(path: Path, text: str) -> list[str]:
    """The lines that the committed table lacks, and those that are gone."""
    before = path.read_text(encoding="utf8").splitlines() if path.exists() else []
    after = text.splitlines()
    held, now = set(before), set(after)
    return [*(f"- {line}" for line in before if line not in now), *(f"+ {line}" for line in after if line not in held)]
