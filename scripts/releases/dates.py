"""When the releases of a package came to the index, which pip knows of each file."""

from pip._internal.models.index import PyPI
from pip._internal.network.session import PipSession
from pip._vendor.packaging.utils import parse_sdist_filename, parse_wheel_filename

SINCE = "2018"
JSON = "application/vnd.pypi.simple.v1+json"


def released(package: str) -> dict[str, str]:
    """Each final version with the day of its first file, the oldest first."""
    with PipSession() as session:
        answer = session.get(f"{PyPI.simple_url}/{package}/", headers={"Accept": JSON})
        answer.raise_for_status()
    days = {}
    for file in answer.json()["files"]:
        name = file["filename"]
        if file.get("yanked") or not name.endswith((".whl", ".tar.gz")):
            continue
        version = (parse_wheel_filename if name.endswith(".whl") else parse_sdist_filename)(name)[1]
        day = file["upload-time"][:10]
        if not version.is_prerelease:
            days[version] = min(day, days.get(version, day))
    return {str(version): days[version] for version in sorted(days) if days[version] >= SINCE}
