"""The programs under test: how they are found, started, waited for and stopped.

Only processes that were started here get signals, through their own handle. They die with the
script (setpriv sets prctl PDEATHSIG), so a killed script leaves no process behind.
"""

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from lib.protobuf import ROOT
from lib.ttrpc import Connection, Lost

# Long enough for a slow machine; each wait ends as soon as its condition holds.
PATIENCE = 120.0


def binary(name):
    """Path of a program: in $WIDGETD_BINARIES, else in .build/debug."""
    folder = os.environ.get("WIDGETD_BINARIES", os.path.join(ROOT, ".build", "debug"))
    path = os.path.join(folder, name)
    if not os.access(path, os.X_OK):
        build = f"benchmarks/build {name}" if "release" in folder else "swift build"
        raise SystemExit(f"{path} is missing: run `{build}`, or set WIDGETD_BINARIES")
    return path


def clean_environment(**extra):
    """The environment without the variables that configure the programs."""
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith(("WIDGETD_", "XDG_")) and k not in ("STATE_DIRECTORY",)}
    return {**kept, **extra}


def tied(command):
    """The command with a wrapper: it is killed if this process dies, and has the signal handling of
    a terminal.

    Background programs of a shell without job control ignore SIGINT, and programs under nohup
    ignore SIGHUP. Their children would ignore them too.
    """
    ignored = [name for name in ("INT", "HUP")
               if signal.getsignal(getattr(signal, f"SIG{name}")) == signal.SIG_IGN]
    if ignored:
        command = ["env", f"--default-signal={','.join(ignored)}", *command]
    return ["setpriv", "--pdeathsig", "KILL", *command] if shutil.which("setpriv") else command


def eventually(condition, seconds=PATIENCE):
    """Asks until the answer is true, and returns it; after this many seconds, returns the last
    answer.

    The pauses grow with the time. Most questions start a program, and other tests need the processors."""
    start = time.monotonic()
    while True:
        answer = condition()
        waited = time.monotonic() - start
        if answer or waited > seconds:
            return answer
        time.sleep(min(max(waited / 10, 0.01), 0.25))


def context_switches(pids):
    """How often each thread of some processes was scheduled, by process and thread."""
    found = {}
    for pid in pids:
        for task in os.listdir(f"/proc/{pid}/task"):
            # A thread can end meanwhile.
            with contextlib.suppress(OSError), open(
                    f"/proc/{pid}/task/{task}/status", encoding="ascii") as file:
                found[(pid, task)] = sum(
                    int(line.split()[1]) for line in file if "ctxt_switches" in line)
    return found


def states(pid):
    """The states of the threads of a process: S sleeps, R runs or waits for a processor."""
    found = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(
                f"/proc/{pid}/task/{task}/stat", encoding="utf-8") as file:
            found.add(file.read().rsplit(") ", 1)[1][0])
    return found


@contextlib.contextmanager
def suspended(pid):
    """Stops a process for a `with` block: it keeps its connections, and does nothing."""
    os.kill(pid, signal.SIGSTOP)
    try:
        # The signal takes effect with a delay.
        eventually(lambda: states(pid) == {"T"})
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def rests(pid, seconds=0.2):
    """Waits until all threads of a process sleep and have not woken up for a while."""
    def is_asleep():
        before = context_switches([pid])
        if states(pid) != {"S"}:
            return False
        time.sleep(seconds)
        return states(pid) == {"S"} and context_switches([pid]) == before
    return eventually(is_asleep)


def processor_seconds(pid):
    """The CPU time of a process. Unlike elapsed time, it does not depend on other processes."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        words = file.read().rsplit(") ", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def woken(pids, seconds=10):
    """The threads of some processes that wake up within a time, after all of them were asleep."""
    def change(seconds):
        before = context_switches(pids)
        time.sleep(seconds)
        after = context_switches(pids)
        return {task: count - before.get(task, 0) for task, count in after.items()
                if count != before.get(task)}
    eventually(lambda: not change(2))
    return change(seconds)


class Process:
    """A program whose lines of output are collected as they come."""

    def __init__(self, command, env=None, log=None, stdin=subprocess.DEVNULL):
        self.lines = queue.Queue()
        self.process = subprocess.Popen(
            tied(command), stdin=stdin, stdout=subprocess.PIPE, stderr=log or subprocess.STDOUT,
            text=True, env=env if env is not None else clean_environment())
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self):
        return self.process.pid

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def line(self, wanted=lambda line: True, seconds=PATIENCE):
        """The next wanted line; None if the program ends or takes too long first."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return None
            if line is None:
                self.lines.put(None)
                return None
            if wanted(line):
                return line

    def document(self, wanted=lambda document: True, seconds=PATIENCE):
        """The next wanted line of JSON."""
        line = self.line(lambda text: text.startswith("{") and wanted(json.loads(text)), seconds)
        return None if line is None else json.loads(line)

    def stop(self, number=signal.SIGTERM, seconds=PATIENCE):
        """Sends the signal if it still runs, and returns the exit status (negative: the signal)."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


class Scratch:
    """A temporary folder with one or more daemons in it. It is removed at the end."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="widgetd-test-")
        self.socket = os.path.join(self.folder, "s")
        self.state = os.path.join(self.folder, "state")
        self.log = os.path.join(self.folder, "log")
        self.processes = []
        self.daemon_process = None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for process in reversed(self.processes):
            if process.process.poll() is None:
                process.process.kill()
                process.process.wait()
        if kind is not None and os.path.exists(self.log):
            print("--- the daemon's log ---\n" + self.log_text()[-4000:])
        shutil.rmtree(self.folder, ignore_errors=True)

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def start(self, command, **options):
        process = Process(command, **options)
        self.processes.append(process)
        return process

    def daemon(self, *arguments, prefix=(), ready=True, env=None):
        """Starts the daemon, and waits until it answers."""
        with open(self.log, "ab") as log:
            process = self.start(
                [*prefix, binary("widgetd"), "--socket", self.socket, "--state-directory",
                 self.state, *arguments], log=log, env=env)
        self.daemon_process = process
        if ready and not eventually(lambda: process.process.poll() is not None or self.answers()):
            raise AssertionError("the daemon did not get ready")
        if ready and process.process.poll() is not None:
            raise AssertionError("the daemon did not start: " + self.log_text()[-500:])
        return process

    def answers(self):
        """Whether a daemon answers on the socket."""
        try:
            with self.connect() as connection:
                connection.call("GetStats")
            return True
        except (Lost, OSError):
            return False

    def connect(self, **options):
        return Connection(self.socket, **options)

    def ctl(self, *arguments, text=None, env=None):
        """Runs widgetctl; returns what it printed, with its exit status."""
        return subprocess.run(
            [binary("widgetctl"), *arguments], input=text, capture_output=True, text=True,
            stdin=None if text is not None else subprocess.DEVNULL, timeout=PATIENCE, check=False,
            env=clean_environment(**{"WIDGETD_SOCKET": self.socket, **(env or {})}))

    def shell(self, command):
        """Runs a line of shell in the folder, as a user with widgetctl installed would type it."""
        path = os.path.dirname(binary("widgetctl")) + ":" + os.environ.get("PATH", "")
        return subprocess.run(
            ["sh", "-c", command], cwd=self.folder, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False,
            env=clean_environment(WIDGETD_SOCKET=self.socket, PATH=path))

    def watch(self, *arguments):
        """Starts `widgetctl watch --output jsonl`."""
        return self.start(
            [binary("widgetctl"), "watch", *arguments, "--output", "jsonl"],
            env=clean_environment(WIDGETD_SOCKET=self.socket))

    def sysmon(self, *arguments):
        return self.start([binary("widgetd-sysmon"), "--socket", self.socket, *arguments])

    def widgets(self):
        """All widgets by id, read page by page."""
        found, token = {}, ""
        with self.connect() as connection:
            while True:
                page = connection.call("ListWidgets", page_size=1000, page_token=token)
                found.update({widget["id"]: widget for widget in page.get("widgets", [])})
                token = page.get("next_page_token", "")
                if not token:
                    return found
