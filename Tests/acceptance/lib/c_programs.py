"""The programs in C, made and installed, and widgets for them."""

import os
import re
import shutil
import subprocess
import sys

from lib.protobuf import ROOT, values
from lib.system import PATIENCE, Process, binary, clean_environment

SOURCE = os.path.join(ROOT, "Clients", "c")
NEEDED = ("cc", "make", "pkg-config", "scdoc", "objcopy", "strip")
NAMES = ("widgetd-send", "widgetd-watch")
# The memory that a program may use.
RESIDENT_KIB_MAX = 3 << 10


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=1800, check=False, **options)


class Programs:
    """The programs installed in a prefix, and those with sanitizers."""

    def __init__(self, check, scratch):
        self.scratch = scratch
        self.asks_soon = False
        self.prefix = os.path.join(scratch.folder, "prefix")
        env = clean_environment()
        env.pop("MAKEFLAGS", None)
        made = run(["make", "-C", SOURCE, "-j2", "all",
                    *(f"build/sanitized/{name}" for name in NAMES)], env=env)
        self.are_made = check.that("they compile without a warning", made.returncode == 0
                                   and "warning:" not in made.stderr, made.stderr[-2000:])
        made = run(["make", "-C", SOURCE, "install", f"PREFIX={self.prefix}"], env=env)
        check.that("they install", made.returncode == 0, made.stderr[-2000:])

    def environment(self, path=None):
        return clean_environment(
            WIDGETD_SOCKET=path or self.scratch.socket,
            # The program asks a silent daemon after 200 ms. A live daemon answers within 10 s, also on
            # a busy machine.
            WIDGETD_TEST_LIVENESS="200 10000" if self.asks_soon else "",
            LD_LIBRARY_PATH=os.path.join(self.prefix, "lib"))

    def installed(self, name):
        return os.path.join(self.prefix, "bin", name)

    def send(self, *arguments, text=None, path=None):
        return subprocess.run(
            [os.path.join(SOURCE, "build/sanitized/widgetd-send"), *arguments], input=text,
            capture_output=True, text=True, timeout=PATIENCE, check=False,
            stdin=None if text is not None else subprocess.DEVNULL, env=self.environment(path))

    def once(self, *arguments, path=None):
        return run([os.path.join(SOURCE, "build/sanitized/widgetd-watch"), *arguments],
                   env=self.environment(path))

    def watch(self, *arguments, path=None, sanitized=True):
        program = (os.path.join(SOURCE, "build/sanitized/widgetd-watch") if sanitized
                   else self.installed("widgetd-watch"))
        process = Process([program, *arguments], env=self.environment(path))
        self.scratch.processes.append(process)
        return process


def type_is(name):
    return lambda document: document["type"] == name


def create(scratch, name, kind="gauge", data=None, **fields):
    with scratch.connect() as connection:
        connection.call("CreateWidget", widget={
            "id": name, "kind": kind, "data": values(data or {}), **fields})


def update(scratch, name, data):
    with scratch.connect() as connection:
        connection.call("UpdateWidget", id=name, omit_widget=True,
                        patch={"set_data": values(data)})


def resident_kib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def prepared(check, scratch):
    """The programs, compiled and installed; None if they do not compile. Ends the test where it
    cannot run."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        print(f"skip  there is no {', '.join(missing)}")
        sys.stdout.flush()
        os._exit(77)
    binary("widgetctl")
    programs = Programs(check, scratch)
    return programs if programs.are_made else None
