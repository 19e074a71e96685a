"""A temporary machine with a real systemd, on this machine's kernel and files.

It is a set of namespaces over an overlay of /. All of it is in memory and ends with the script: the
kernel kills the processes of a pid namespace when its first process dies, and that one is tied to
this process. It needs root, overlayfs and cgroup v2. If one of them is missing, `Box` raises
`Impossible`, which names it.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time

PATIENCE = 300.0
HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = ("unshare", "nsenter", "setpriv", "pivot_root", "mount")


class Impossible(Exception):
    """This machine cannot run such a box; the message has the reason."""


def _cgroup_mount():
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            fields = line.split()
            if fields[2] == "cgroup2":
                return fields[1]
    raise Impossible("no cgroup v2 is mounted")


def _children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


class Box:
    """A booted machine; use in a `with` statement."""

    def __init__(self):
        if os.geteuid() != 0:
            raise Impossible("this takes root")
        if not os.path.exists("/lib/systemd/systemd"):
            raise Impossible("there is no systemd: apt-get install systemd")
        missing = [name for name in NEEDED if shutil.which(name) is None]
        if missing:
            raise Impossible(f"{', '.join(missing)} is missing: apt-get install util-linux")
        with open("/proc/filesystems", encoding="ascii") as file:
            if "overlay" not in file.read().split():
                raise Impossible("the kernel has no overlayfs")
        self.cgroup = os.path.join(_cgroup_mount(), f"widgetd-box-{os.getpid()}")
        self.folder = tempfile.mkdtemp(prefix="widgetd-box-")
        self.process = self.pid = None
        try:
            self._boot()
        except BaseException:
            self.close()
            raise

    def _boot(self):
        try:
            os.mkdir(self.cgroup)
        except OSError as error:
            raise Impossible(f"cannot make a cgroup: {error}") from error
        machine = os.path.join(self.folder, "machine")
        os.mkdir(machine)
        log = os.path.join(self.folder, "console")
        # The shell joins the cgroup first, so that the cgroup namespace has its root there.
        with open(log, "wb") as console:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "sh", "-c",
                 'echo $$ >"$0/cgroup.procs" && exec unshare --cgroup --mount --pid --net --uts '
                 '--ipc --fork --kill-child --propagation private "$@"', self.cgroup,
                 os.path.join(HERE, "init"), machine],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True)

        def said():
            with open(log, encoding="utf-8", errors="replace") as file:
                return file.read().strip()[-300:]

        deadline = time.monotonic() + PATIENCE
        state = ""
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise Impossible(f"namespaces or mounts are refused: {said()}")
            if self.pid is None:
                found = _children(self.process.pid)
                if found:
                    self.pid = found[0]
                    # The process leaves the cgroup again. Inside, a process from outside in the root
                    # of the cgroups would have the number 0, which systemd cannot read.
                    with open(os.path.join(os.path.dirname(self.cgroup), "cgroup.procs"), "w",
                              encoding="ascii") as file:
                        file.write(str(self.process.pid))
            elif os.path.exists(self.path("/run/systemd/private")):
                state = self.run("systemctl", "is-system-running").stdout.strip()
                if state in ("running", "degraded"):
                    return
            time.sleep(0.02)
        raise Impossible(f"systemd did not get ready ({state or 'no answer'}): {said()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
        deadline = time.monotonic() + PATIENCE
        while os.path.isdir(self.cgroup) and time.monotonic() < deadline:
            for folder, _, _ in os.walk(self.cgroup, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    pass
            time.sleep(0.01)
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, inside):
        """The path of a file of the box, from outside."""
        return f"/proc/{self.pid}/root{inside}"

    def command(self, *words):
        return ["nsenter", "-t", str(self.pid), "-a", "--", *words]

    def run(self, *words, text=None, user=None, env=None, timeout=300):
        """Runs a command in the box, as root or as another user; returns it with its output."""
        prefix = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"]
        prefix += [f"{name}={value}" for name, value in (env or {}).items()]
        if user is not None:
            prefix += ["setpriv", "--reuid", user, "--regid", user, "--init-groups"]
        return subprocess.run(
            self.command(*prefix, *words), input=text, capture_output=True, text=True,
            stdin=None if text is not None else subprocess.DEVNULL, timeout=timeout, check=False)

    def start(self, *words):
        """Starts a command in the box, with its output as lines."""
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *self.command(*words)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def write(self, inside, text):
        path = self.path(inside)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def systemctl(self, *words):
        return self.run("systemctl", "--no-pager", *words)

    def shows(self, unit, name):
        """A property of a unit."""
        return self.systemctl("show", "--value", "-p", name, unit).stdout.strip()

    def journal(self, *words):
        """Entries of the journal, oldest first, as dictionaries."""
        self.run("journalctl", "--sync")
        lines = self.run("journalctl", "-o", "json", "--no-pager", *words).stdout.splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]
