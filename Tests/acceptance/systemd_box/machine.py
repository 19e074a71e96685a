"""A machine with a real systemd, the packages for it, and clients that observe it."""

import glob
import os
import re
import shutil
import subprocess
import threading
import time

from lib.mirror import Mirror, comparable
from lib.protobuf import ROOT, values
from lib.system import PATIENCE, binary, eventually
from lib.ttrpc import Connection, Lost, Refused
from systemd_box.box import Box

SOCKET = "/run/widgetd/widgetd.sock"
PROGRAMS = ("widgetd", "widgetctl", "widgetd-sysmon", "widgetd-host")
UNITS = ("widgetd.socket", "widgetd.service")
EXAMPLES = "/usr/share/doc/widgetd-host/examples/bundles"
RUNTIME_MAX = 65519  # the highest user number that systemd gives to DynamicUser=


class Packages:
    """The packages of the programs under test, and the same as a later version."""

    def __init__(self, folder):
        self.now, self.later = os.path.join(folder, "now"), os.path.join(folder, "later")
        binaries = os.path.dirname(binary("widgetd"))
        made = subprocess.run(
            [os.path.join(ROOT, "scripts", "package"), "--binaries", binaries, "--output", self.now,
             "--for-this-machine"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=900, check=False)
        self.failure = None if made.returncode == 0 else (made.stdout + made.stderr)[-3000:]
        if self.failure is None:
            os.mkdir(self.later)
            for name in PROGRAMS:
                self._repack(folder, name)

    def _repack(self, folder, name):
        package, = glob.glob(os.path.join(self.now, f"{name}_*.deb"))
        tree = os.path.join(folder, "tree")
        subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
        control = os.path.join(tree, "DEBIAN", "control")
        with open(control, encoding="utf-8") as file:
            text = file.read()
        version = re.search(r"^Version: (.*)$", text, re.M)[1]
        with open(control, "w", encoding="utf-8") as file:
            file.write(text.replace(f"Version: {version}", f"Version: {version}+later")
                       .replace(f"(= {version})", f"(= {version}+later)"))
        subprocess.run(["dpkg-deb", "-Znone", "-b", tree,
                        os.path.join(self.later, f"{name}.deb")], check=True, capture_output=True)
        shutil.rmtree(tree)


class Machine(Box):
    """The box, with the functions that all parts of the test use."""

    def install(self, folder, *names):
        inside = "/packages"
        shutil.rmtree(self.path(inside), ignore_errors=True)
        shutil.copytree(folder, self.path(inside))
        files = [os.path.join(inside, os.path.basename(path)) for name in names
                 for path in glob.glob(os.path.join(folder, name + "[_.]*deb"))]
        return self.run("dpkg", "--force-confold", "-i", *files, timeout=900)

    def ctl(self, *words, user=None):
        return self.run("widgetctl", *words, user=user)

    def connect(self, timeout=PATIENCE):
        return Connection(self.path(SOCKET), timeout=timeout)

    def main_pid(self):
        return int(self.shows("widgetd.service", "MainPID") or 0)

    def of_daemon(self, file):
        """A file of the daemon's folder in /proc."""
        return self.path(f"/proc/{self.main_pid()}/{file}")

    def status(self, name):
        """A field of /proc/PID/status."""
        with open(self.of_daemon("status"), encoding="ascii") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return line.split(":", 1)[1].strip()
        return ""

    def state(self, unit="widgetd.service"):
        return self.shows(unit, "ActiveState")

    def running(self, other_than=0):
        """The daemon's process, if it is a new one, and ready."""
        pid = self.main_pid()
        return pid not in (0, other_than) and self.state() == "active" and pid

    def kill(self, number, pid=None):
        self.run("kill", f"-{int(number)}", str(pid or self.main_pid()))

    def drop_in(self, text, unit="widgetd.service", name="test"):
        self.write(f"/etc/systemd/system/{unit}.d/{name}.conf", text)
        self.systemctl("daemon-reload")

    def no_drop_in(self, unit="widgetd.service", name="test"):
        os.unlink(self.path(f"/etc/systemd/system/{unit}.d/{name}.conf"))
        self.systemctl("daemon-reload")

    def configure(self, **settings):
        self.write("/etc/widgetd/widgetd.conf",
                   "".join(f"WIDGETD_{key}={value}\n" for key, value in settings.items()))

    def login(self, user, *groups):
        """Makes a user, and starts the user's systemd with the steps of logind at a login. Returns the user's
        environment, or None and the reason."""
        more = ["-G", ",".join(groups)] if groups else []
        self.run("useradd", "-m", "-s", "/bin/sh", *more, user)
        number = self.run("id", "-u", user).stdout.strip()
        runtime = f"/run/user/{number}"
        self.run("install", "-d", "-o", user, "-g", user, "-m", "700", runtime)
        self.run("systemd-run", f"--unit={user}-manager", f"--uid={user}", "-p", "Type=notify",
                 "-p", "Delegate=yes", "-p", "PAMName=login", "-E", f"XDG_RUNTIME_DIR={runtime}",
                 "/lib/systemd/systemd", "--user")
        if self.state(f"{user}-manager.service") == "active":
            return {"XDG_RUNTIME_DIR": runtime, "HOME": f"/home/{user}", "USER": user}, None
        told = self.run("journalctl", "-u", f"{user}-manager", "-n", "3", "-o", "cat").stdout
        return None, f"a systemd for a user does not start here: {told}"

    def lend_runtime(self):
        """Makes the Swift runtime available to programs built for this machine; release programs
        need none."""
        told = subprocess.run(["ldd", binary("widgetd")], capture_output=True, text=True,
                              check=True)
        found = re.search(r"libswiftCore\.so => (\S+)/libswiftCore\.so", told.stdout)
        if not found:
            return
        folder = os.path.realpath(found[1])
        self.write("/etc/systemd/system/widgetd.service.d/runtime.conf",
                   f"[Service]\nBindReadOnlyPaths={folder}\nExecPaths=+{folder}\n")
        self.write("/etc/systemd/system/widgetd-sysmon.service.d/runtime.conf",
                   f"[Service]\nExecPaths={folder}\n")

    def relevant_files(self):
        """All files, except those that no package is responsible for."""
        told = self.run("find", "/etc", "/usr", "/var", "/run", "-xdev",
                        "-not", "-path", "/var/lib/dpkg/*", "-not", "-path", "/var/cache/*",
                        "-not", "-path", "/var/log/*", "-not", "-path", "/run/systemd/*",
                        "-not", "-path", "/run/log/*", "-not", "-path", "/run/user/*",
                        "-not", "-path", "/var/lib/systemd/*", "-not", "-path", "/var/tmp/*")
        return set(told.stdout.splitlines())


class Follower:
    """A watch of everything, in a thread. It must see each commit once and in order. It connects
    again only if the connection ends, and counts that."""

    def __init__(self, machine):
        self.machine, self.mirror = machine, Mirror()
        self.failure, self.is_done, self.connections = None, False, 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        eventually(lambda: self.mirror.syncs or self.failure)

    def run(self):
        while not self.is_done and self.failure is None:
            try:
                with self.machine.connect(timeout=None) as connection:
                    self.connections += 1
                    for frame in connection.stream("WatchWidgets", resume_token=self.mirror.token):
                        self.mirror.apply(frame)
            except (Lost, OSError):
                self.mirror.disconnected()
                time.sleep(0.005)
            except Refused as refused:
                self.mirror.disconnected()
                if refused.reason != "SHUTTING_DOWN":
                    self.failure = refused
            except Exception as error:  # noqa: BLE001: whatever it is, the main thread reports it
                self.failure = error

    def reaches(self, revision):
        eventually(lambda: self.failure or (self.mirror.revision or 0) >= revision)
        return self.failure is None and self.mirror.revision >= revision

    def verdict(self):
        """The mistake in the watched state; None if there is none. Providers change their widgets
        meanwhile, so the two states are compared until both have the same revision."""
        wrong = None

        def agrees():
            nonlocal wrong
            try:
                held = self.mirror.state()
            except RuntimeError:  # The thread has changed it meanwhile.
                return False
            there = {name: comparable(widget) for name, widget in widgets(self.machine).items()}
            wrong = None if held == there else f"held {held}, there is {there}"
            return wrong is None

        if self.failure is None and self.mirror.syncs == 1:
            eventually(agrees)
        self.is_done = True
        if self.failure is not None:
            return repr(self.failure)
        return wrong if self.mirror.syncs == 1 else f"{self.mirror.syncs} snapshots"


class Writer:
    """Changes one widget again and again, in a thread, and records the answered changes."""

    def __init__(self, machine, name):
        self.machine, self.name = machine, name
        self.answered, self.revision, self.refused, self.lost = 0, 0, [], 0
        self.is_done = False
        with machine.connect() as connection:
            connection.call("CreateWidget", widget={"id": name, "kind": "counter"})
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        self.goes_on()

    def run(self):
        number = 0
        while not self.is_done:
            try:
                connection = self.machine.connect()
            except Lost as error:
                self.refused.append(str(error))
                time.sleep(0.005)
                continue
            try:
                with connection:
                    while not self.is_done:
                        number += 1
                        answer = connection.call("UpdateWidget", id=self.name, omit_widget=True,
                                                 patch={"set_data": values({"n": number})})
                        self.revision = answer["revision"]
                        self.answered = number
                        time.sleep(0.001)
            except (Lost, Refused):
                self.lost += 1

    def goes_on(self, count=20):
        """Waits until more changes have an answer."""
        wanted = self.answered + count
        return eventually(lambda: self.answered >= wanted)

    def stop(self):
        self.is_done = True
        self.thread.join(PATIENCE)


def widgets(machine):
    with machine.connect() as connection:
        listed = connection.call("ListWidgets", page_size=1000).get("widgets", [])
    return {widget["id"]: widget for widget in listed}


def documented_block(heading, language):
    """The first block of a language in a section of docs/service.md."""
    with open(os.path.join(ROOT, "docs", "service.md"), encoding="utf-8") as file:
        return re.search(rf"^## {heading}$.*?^```{language}\n(.*?)^```", file.read(), re.M | re.S)[1]


def documented(heading):
    """The commands of a section of docs/service.md, for root."""
    block = documented_block(heading, "sh")
    return [re.sub(r"\s+# .*$", "", line).replace("sudo ", "") for line in block.splitlines()]


def check_log(check, machine, name, expected):
    """The messages of a program are in the journal with their priority, and with its name once."""
    def entries():
        return [entry for entry in machine.journal(f"_SYSTEMD_UNIT={name}.service")
                if isinstance(entry.get("MESSAGE"), str)]

    def found():
        return {words: entry["PRIORITY"] for entry in entries() for words in expected
                if words in entry["MESSAGE"]}

    eventually(lambda: found().keys() == expected.keys())
    check.equal(f"{name}: the program's messages are in the journal with their priority",
                found(), expected)
    check.equal(f"{name}: the program's messages have its name once", [
        (entry["SYSLOG_IDENTIFIER"], entry["MESSAGE"]) for entry in entries()
        # widgetctl makes a reload, and its messages are for people.
        if entry["SYSLOG_IDENTIFIER"] not in (name, "widgetctl")
        or entry["MESSAGE"].startswith(name)], [])
