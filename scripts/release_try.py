"""Installs each artefact of scripts/release in a clean place, and looks for a GPU on its dashboard."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from faults_terminal import Session
from release_common import GLIBC, ROOT, ROOTS, SHIP, VERSION, Failed, Skipped, fresh, need, output, run
from release_make import CRATES, dirty

# What the fake driver pretends, and what is then on the screen; without a driver it must not be.
PRETENDED, SEEN = "p100x2", ["P100"]
WITHOUT = ["what-if", "no GPU", "No GPU", "not found"]
# The clean root. Its glibc is newer than the oldest that will do: what symbols are needed is read from the program.
SUITE = "bookworm"
# Seconds: only so that waiting ends. Emulators need many.
PATIENCE = 120
# Texts a package installs beside the program.
TEXTS = ["usr/share/man/man1/warpscope.1", "usr/share/bash-completion/completions/warpscope", "usr/share/fish/vendor_completions.d/warpscope.fish"]


def fake_driver(target):
    """The fake NVML, for the same C library as what is tried."""
    run("cargo", "zigbuild", "--quiet", "--locked", "-p", "fake-nvml", "--target", f"{target.triple}.{GLIBC[0]}.{GLIBC[1]}")
    return ROOT / "target" / target.triple / "debug" / "libnvidia_ml.so"


def clean_root(target):
    """A copy of the smallest Debian, made once; with the fake driver in it."""
    if os.geteuid() != 0:
        raise Skipped("a clean root needs root")
    if not target.runs:
        raise Skipped(f"programs of {target.arch} do not run here: no qemu-{target.arch} in binfmt_misc")
    need("debootstrap", "install it from your distribution")
    base = ROOTS / target.arch
    if not (base / "usr").exists():
        fresh(base)
        first = [] if target.native else ["--foreign"]
        run("debootstrap", "--variant=minbase", *first, f"--arch={target.debian}", SUITE, base, *mirror(), stdout=subprocess.DEVNULL)
    root = SHIP / "try" / target.arch
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    run("cp", "-a", base, root)
    # In a container debootstrap's first stage makes links of these.
    for name in ("proc", "dev"):
        if (root / name).is_symlink():
            (root / name).unlink()
            (root / name).mkdir()
    shutil.copy(fake_driver(target), root / "fake.so")
    return root


def mirror():
    """The one that this machine's own packages come from where it is a Debian; elsewhere debootstrap's default."""
    if "ID=debian" not in Path("/etc/os-release").read_text().splitlines():
        return []
    told = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"], capture_output=True, text=True, check=False)
    return told.stdout.split()[:1]


def inside(root, *words):
    """Words that run a command in a root of its own, with its own processes."""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", f"--root={root}", "--wd=/", *words]


def shows_gpus(target, words, library):
    """On the dashboard; where an emulator runs the program in a table: qemu lacks the ioctl TCGETS2, without which there is no raw mode."""
    if target.native:
        return shows_dashboard(words, library)
    if not any(word in output(*words, "snapshot", env=environment(library)) for word in SEEN):
        raise Failed(f"no {SEEN[0]} in the snapshot")
    return f"shows {SEEN[0]} in a snapshot, emulated; the dashboard was not tried"


def shows_dashboard(words, library):
    """Starts the dashboard with the fake driver and without any; it ends by q and leaves the terminal as it was."""
    words = [*map(str, words), "--no-bench", "--interval", "200ms"]
    for driver, wanted in ((library, SEEN), ("/nowhere/libnvidia-ml.so.1", WITHOUT)):
        session = Session(words, environment(driver), (120, 36))
        try:
            see(session, wanted, driver)
        finally:
            session.close()
    return f"shows {SEEN[0]}"


def environment(driver):
    """A small clean one."""
    return {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/tmp", "TERM": "xterm-256color", "LANG": "C.UTF-8", "XDG_CONFIG_HOME": "/nowhere",
        "WARPSCOPE_INSPECT": "off", "WARPSCOPE_LIBRARY": str(driver), "FAKE_NVML": PRETENDED,
    }


def see(session, wanted, driver):
    """Waits for the words, then for the end."""
    seen = session.wait_for(wanted, PATIENCE)
    if seen is None:
        raise Failed(f"{' or '.join(wanted)} not seen with {driver}: {session.text()[-400:]!r}")
    if wanted is WITHOUT and any(word in session.text() for word in SEEN):
        raise Failed(f"shows {SEEN[0]} without a driver")
    session.type("q")
    if session.wait_end(PATIENCE) is None or session.ended() != 0:
        raise Failed(f"does not end by q: {session.ended()}")
    if session.left_behind() != "terminal restored":
        raise Failed(session.left_behind())


def has_texts(root):
    """Manual page and completions are where others look for them."""
    for text in TEXTS:
        if not any((root / text).parent.glob(f"{Path(text).name}*")):
            raise Failed(f"{text} is not installed")


def archive(target, path):
    """Unpacked in a clean root."""
    root = clean_root(target)
    with tarfile.open(path) as packed:
        packed.extractall(root / "opt")
    folder = f"/opt/warpscope-{VERSION}-{target.arch}-linux"
    return shows_gpus(target, inside(root, f"{folder}/warpscope"), "/fake.so")


def wheel(target, path):
    """Installed by pip: in a fresh environment, or for another architecture into a clean root."""
    if target.native:
        venv = fresh(SHIP / "try" / "venv")
        run(sys.executable, "-m", "venv", venv)
        run(venv / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", path)
        return shows_gpus(target, [venv / "bin" / "warpscope"], fake_driver(target))
    root = clean_root(target)
    words = ["--no-index", "--no-deps", "--only-binary", ":all:", "--platform", f"manylinux2014_{target.arch}", "--target", root / "opt"]
    run(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words, path)
    return shows_gpus(target, inside(root, "/opt/bin/warpscope"), "/fake.so")


def deb(target, path):
    """Installed by the root's own dpkg, or unpacked into the root of another architecture."""
    root = clean_root(target)
    if target.native:
        shutil.copy(path, root / "warpscope.deb")
        run(*inside(root, "dpkg", "--install", "/warpscope.deb"), stdout=subprocess.DEVNULL)
    else:
        run("dpkg-deb", "--extract", path, root)
    # Debian's smallest images leave manual pages out, so these are looked for in the package.
    has_texts(contents(path))
    return shows_gpus(target, inside(root, "warpscope"), "/fake.so")


def contents(path):
    """The files of a .deb."""
    folder = fresh(SHIP / "try" / "contents")
    run("dpkg-deb", "--extract", path, folder)
    return folder


def rpm(target, path):
    """Installed by rpm. The root is Debian's, so its database knows no glibc: --nodeps, and what is needed is looked at apart."""
    need("rpm", "install it from your distribution")
    root = clean_root(target)
    run("rpm", "--root", root, "--dbpath", "/var/lib/rpm", "--nodeps", "--ignorearch", "--install", path)
    if "glibc >= 2.17" not in output("rpm", "--query", "--package", "--requires", path):
        raise Failed("does not say which glibc it needs")
    has_texts(root)
    return shows_gpus(target, inside(root, "warpscope"), "/fake.so")


def crates(_paths):
    """Each crate is compiled from its package alone, the others standing in for those of the registry."""
    run("cargo", "package", "--quiet", "--locked", *dirty(), *(word for name in CRATES for word in ("-p", name)))
    return "compiled from their packages"


def container(image):
    """The image starts and knows its version."""
    tool, _, tag = image.split()
    if VERSION not in output(tool, "run", "--rm", tag, "--version"):
        raise Failed("another version in the image")
    return f"{tool} runs it"


def nix(link):
    """The package starts and knows its version."""
    if VERSION not in output(link / "bin" / "warpscope", "--version"):
        raise Failed("another version in the package")
    return "starts"
