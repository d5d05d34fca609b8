"""The order of versions."""

import re


def order(version: str) -> tuple:
    """Numbers by value, a pre-release before its release, a post-release after it."""
    match = re.match(r"v?(\d+(?:\.\d+)*)(?:[.-]?(?:dev|a|b|rc)(\d*))?(?:\.?post(\d+))?", version)
    if match is None:
        return ((), (0, 0), 0, version)
    numbers = [int(part) for part in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    stage = (1, 0) if match[2] is None else (0, int(match[2] or 0))
    return (tuple(numbers), stage, int(match[3] or 0), version)


def plain(version: str) -> str:
    """As package indexes write it: `0.2.3post1` is `0.2.3.post1`, `4.0.0.beta2` is `4.0.0b2`."""
    return re.sub(r"(?<=\d)post", ".post", version).replace(".beta", "b")
