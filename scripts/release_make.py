"""Makes the artefacts of scripts/release."""

import base64
import gzip
import hashlib
import os
import re
import shutil
import struct
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

from release_common import GLIBC, OUT, ROOT, SHIP, STAGE, VERSION, Failed, Skipped, fresh, need, output, run

# crates.io takes no larger ones.
CRATE_LIMIT = 10 << 20
CRATES = ["warpscope-kernels", "warpscope-probes", "warpscope"]
SHELLS = {"bash": "warpscope.bash", "zsh": "_warpscope", "fish": "warpscope.fish"}
PAPERS = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"]
HINT = "scripts/release --install"


def program(target, binary):
    """The program, checked, with the manual pages and completions it prints itself."""
    built = binary or build(target)
    folder = fresh(target.staged)
    shutil.copy(built, folder / "warpscope")
    machine = struct.unpack_from("<H", built.read_bytes(), 18)[0]
    if machine != target.machine:
        raise Failed(f"{built} is of another architecture")
    newest = newest_glibc(built)
    if newest > GLIBC and not binary:
        raise Failed(f"{built} needs glibc {newest[0]}.{newest[1]}")
    write_texts(target, folder)
    return f"{built.stat().st_size:,} bytes, needs glibc {newest[0]}.{newest[1]}"


def build(target):
    """Builds for the oldest C library."""
    need("cargo-zigbuild", HINT)
    installed = output("rustup", "target", "list", "--installed").split()
    if target.triple not in installed:
        raise Skipped(f"no standard library for {target.triple}: rustup target add {target.triple}")
    link = ["cargo-zigbuild", "rustc", "--profile", "dist", "--locked", "--bin", "warpscope", "--target", f"{target.triple}.{GLIBC[0]}.{GLIBC[1]}", "--"]
    built = ROOT / "target" / target.triple / "dist" / "warpscope"
    run(*link, "-Cstrip=none")
    if not (target.native and target.arch == "x86_64"):
        run(*link, "-Cstrip=symbols")
        return built
    # Linked again from the same objects, with what runs in an open dashboard side by side: it keeps half the memory.
    order = SHIP / f"order-{target.arch}.ld"
    run("cargo", "build", "--locked", "--package", "fake-nvml")
    run(ROOT / "scripts" / "link_order", built, order)
    run(*link, "-Cstrip=symbols", f"-Clink-arg=-Wl,-T,{order}")
    return built


def newest_glibc(binary):
    """The newest version of glibc among the symbols a binary needs."""
    told = output("readelf", "--version-info", "--wide", binary)
    return max((int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", told))


def write_texts(target, folder):
    """Manual pages and completions: by the program itself, or those of this machine's architecture, made before."""
    if not target.native:
        others = [other for other in folder.parent.glob("*/warpscope.1") if other.parent != folder]
        if not others:
            raise Skipped("manual pages come from the program of this machine's architecture: make that first")
        for text in [*others[0].parent.glob("*.1"), *(others[0].parent / name for name in SHELLS.values())]:
            shutil.copy(text, folder)
        return
    own = folder / "warpscope"
    for shell, name in SHELLS.items():
        (folder / name).write_text(output(own, "completions", shell))
    commands = re.search(r"Commands:\n(.*?)\n\n", output(own, "--help"), re.DOTALL)[1]
    for command in re.findall(r"^  (\w+)", commands, re.MULTILINE):
        if command != "help":
            (folder / f"warpscope-{command}.1").write_text(output(own, "man", command))
    (folder / "warpscope.1").write_text(output(own, "man"))


def commit_time():
    """Seconds of the commit: the same tree gives the same archives."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct"))


def archive(target):
    """The program and its texts in a .tar.gz."""
    name, seconds = f"warpscope-{VERSION}-{target.arch}-linux", commit_time()
    path = OUT / f"{name}.tar.gz"

    def plain(info):
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mtime = seconds
        info.mode = 0o755 if info.name.endswith("/warpscope") else 0o644
        return info

    with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=seconds) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for source in sorted(target.staged.iterdir()):
            tar.add(source, f"{name}/{source.name}", filter=plain)
        for paper in PAPERS:
            tar.add(ROOT / paper, f"{name}/{paper}", filter=plain)
    return path


def wheel(target):
    """A wheel is a ZIP file of the program and three texts. maturin would build the program once more to pack it."""
    tags = [f"py3-none-{platform}_{target.arch}" for platform in ("manylinux_2_17", "manylinux2014")]
    path = OUT / f"warpscope-{VERSION}-py3-none-manylinux_2_17_{target.arch}.manylinux2014_{target.arch}.whl"
    info = f"warpscope-{VERSION}.dist-info"
    files = {
        f"warpscope-{VERSION}.data/scripts/warpscope": (target.staged / "warpscope").read_bytes(),
        f"{info}/METADATA": metadata().encode(),
        f"{info}/WHEEL": "\n".join(["Wheel-Version: 1.0", "Generator: scripts/release", "Root-Is-Purelib: false", *(f"Tag: {tag}" for tag in tags), ""]).encode(),
        **{f"{info}/licenses/{paper}": (ROOT / paper).read_bytes() for paper in PAPERS[1:]},
    }
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if name.endswith("/warpscope") else 0o100644) << 16
            packed.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return path


def digest(data):
    """A hash as wheels write it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def metadata():
    """What pyproject.toml says, as wheels write it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    head = [
        "Metadata-Version: 2.4", "Name: warpscope", f"Version: {VERSION}", f"Summary: {project['description']}",
        f"Keywords: {','.join(project['keywords'])}", f"License-Expression: {project['license'].replace(' or ', ' OR ')}",
        *(f"License-File: {name}" for name in project["license-files"]), *(f"Classifier: {name}" for name in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}", *(f"Project-URL: {name}, {url}" for name, url in project["urls"].items()),
        "Description-Content-Type: text/markdown", "", (ROOT / project["readme"]).read_text(),
    ]
    return "\n".join(head)


def staged(target):
    """What the metadata in Cargo.toml names lies where it says."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(target.staged, STAGE)


def deb(target):
    """By cargo-deb, from the metadata in Cargo.toml."""
    need("cargo-deb", HINT)
    staged(target)
    path = OUT / f"warpscope_{VERSION}_{target.debian}.deb"
    run("cargo", "deb", "--quiet", "--no-build", "--no-strip", "--target", target.triple, "--output", path)
    return path


def rpm(target):
    """By cargo-generate-rpm, from the metadata in Cargo.toml."""
    need("cargo-generate-rpm", HINT)
    staged(target)
    path = OUT / f"warpscope-{VERSION}.{target.arch}.rpm"
    run("cargo", "generate-rpm", "--target", target.triple, "--arch", target.arch, "--payload-compress", "xz", "--output", path)
    return path


def crates():
    """The three crates, as crates.io would take them."""
    run("cargo", "package", "--quiet", "--locked", "--no-verify", *dirty(), *(word for name in CRATES for word in ("-p", name)))
    paths = [ROOT / "target" / "package" / f"{name}-{VERSION}.crate" for name in CRATES]
    for path in paths:
        if path.stat().st_size > CRATE_LIMIT:
            raise Failed(f"{path.name} has {path.stat().st_size:,} bytes; crates.io takes {CRATE_LIMIT:,}")
        shutil.copy(path, OUT)
    return ", ".join(f"{path.name} {path.stat().st_size:,} bytes" for path in paths)


def dirty():
    """A working tree may have changes while it is worked on."""
    return ["--allow-dirty"] if output("git", "status", "--porcelain") else []


def container():
    """The image, by docker or podman."""
    for tool in ("podman", "docker"):
        if shutil.which(tool) and subprocess.run([tool, "info"], capture_output=True, check=False).returncode == 0:
            run(tool, "build", "--quiet", "--file", "packaging/Containerfile", "--tag", f"warpscope:{VERSION}", ".")
            return f"{tool} image warpscope:{VERSION}"
    raise Skipped("neither podman nor docker runs here")


def nix():
    """The package of the flake."""
    need("nix", "see nixos.org")
    link = OUT.parent / "nix"
    run("nix", "--extra-experimental-features", "nix-command flakes", "build", "--out-link", link)
    return Path(link)
