"""The servers under test: the start, the wait for readiness, and the end of each.

Every cell of the table gets a new server in a new folder, so that memory
figures carry no history and no peer profits from what another run left behind. Only processes that
were started here are ever stopped, by the handle they were started with; they also die with the
driver.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time

READY_SECONDS_MAX = 20.0
STOP_SECONDS_MAX = 10.0


class PeerFailed(Exception):
    """A server did not start. The text has its last output."""


class Peer:
    """One kind of server.

    `name` is its column, `protocol` the load generator's word for its wire, and `arguments` makes
    its command line from the socket's path and an empty folder for its state. `loadgen` names the
    program that speaks the protocol. A peer with `is_widgetd` takes more arguments of its command line.
    """

    def __init__(self, name, protocol, arguments, is_widgetd=False):
        self.name = name
        self.protocol = protocol
        self.arguments = arguments
        self.is_widgetd = is_widgetd
        self.loadgen = "loadgen-grpc" if protocol == "grpc" else "loadgen"


def peers(binaries, widgetd_binary):
    """All peers that this machine can run, by name. `binaries` has those built here."""
    found = {"floor": Peer("floor", "floor",
                           lambda path, _: [binaries["floor"], "--socket", path])}
    redis = shutil.which("redis-server")
    if redis:

        def redis_arguments(append_only):
            # As installed, but for persistence: the pub/sub output limit is the default one.
            return lambda path, state: [
                redis, "--port", "0", "--unixsocket", path, "--dir", state, "--save", "",
                "--appendonly", append_only, "--appendfsync", "everysec"]

        found["redis"] = Peer("redis", "resp", redis_arguments("no"))
        found["redis-aof"] = Peer("redis-aof", "resp", redis_arguments("yes"))
    if widgetd_binary:
        extra = os.environ.get("WIDGETD_ARGUMENTS", "").split()

        def widgetd_arguments(store):
            return lambda path, state: [
                widgetd_binary, "--socket", path, "--state-directory", state, "--store", store,
                *extra]

        found["memory"] = Peer("memory", "ttrpc", widgetd_arguments("memory"), is_widgetd=True)
        found["sqlite"] = Peer("sqlite", "ttrpc", widgetd_arguments("sqlite"), is_widgetd=True)
        if "loadgen-grpc" in binaries:
            found["grpc"] = Peer("grpc", "grpc", widgetd_arguments("memory"), is_widgetd=True)
    if "grpc-c++" in binaries:
        found["grpc-c++"] = Peer("grpc-c++", "grpc",
                                 lambda path, _: [binaries["grpc-c++"], "--socket", path])
    return found


def on_cpu(cpu, command):
    """The command, to run on one CPU and to be killed if the driver dies."""
    return ["setpriv", "--pdeathsig", "KILL", "taskset", "-c", str(cpu), *command]


class Server:
    """A running peer. Use it in a `with` statement, which stops the peer and removes its folder at the end."""

    def __init__(self, peer, cpu, widgetd_arguments=()):
        self.peer = peer
        self.folder = tempfile.mkdtemp(prefix="widgetd-bench-")
        self.socket_path = os.path.join(self.folder, "s")
        state = os.path.join(self.folder, "state")
        os.mkdir(state)
        self.command = peer.arguments(self.socket_path, state)
        if peer.is_widgetd:
            self.command += widgetd_arguments
        self.log_path = os.path.join(self.folder, "log")
        self.process = None
        self.cpu = cpu

    def __enter__(self):
        try:
            with open(self.log_path, "wb") as log:
                self.process = subprocess.Popen(
                    on_cpu(self.cpu, self.command), stdin=subprocess.DEVNULL, stdout=log,
                    stderr=log)
            self._wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait_until_ready(self):
        deadline = time.monotonic() + READY_SECONDS_MAX
        while True:
            with socket.socket(socket.AF_UNIX) as probe:
                try:
                    probe.connect(self.socket_path)
                    return
                except OSError:
                    pass
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise PeerFailed(f"{self.peer.name} did not start: {self.last_words()}")
            time.sleep(0.002)

    def last_words(self):
        """The last line that the server printed."""
        with open(self.log_path, "rb") as log:
            lines = log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it printed nothing"

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
