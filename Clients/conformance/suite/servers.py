"""The daemon of a scenario: a separate widgetd, or the daemon that a driver hosts.

Both have a socket for another client than the client under test (`other`).
"""

import os
from collections.abc import Generator
from typing import Any

from lib.system import Scratch
from lib.ttrpc import Connection, Lost, Refused
from suite import messages
from suite.drivers import Driver, Failed, Unsupported
from suite.messages import Document

# A group that no user of this machine is in, for the scenarios about permission; and a user and
# group without any rights.
CLIENT_GROUP = 61183
NOBODY = 65534


def flags(settings: Document) -> list[str]:
    """A scenario's settings as flags of widgetd, which the hosting driver shares."""
    result = ["--store", settings.get("store", "memory")]
    if settings.get("group"):
        result += ["--client-group", str(CLIENT_GROUP)]
    for name, value in settings.get("limits", {}).items():
        result += ["--limit", f"{name}={value}"]
    return result


class Server:
    """A widgetd in a separate folder."""

    def __init__(self, settings: Document) -> None:
        self.settings = settings
        self.scratch = Scratch()
        # Users without rights can connect to the socket. The daemon decides what they may do.
        os.chmod(self.scratch.folder, 0o755)
        self._connection: Connection | None = None
        # The connections of programs that provide kinds.
        self._providers: list[Connection] = []

    def arguments(self) -> list[str]:
        """The arguments of a driver."""
        return [self.scratch.socket]

    def start(self) -> None:
        """Starts the daemon on its existing state, and waits until it answers."""
        self.scratch.daemon("--socket-mode", "0666", *flags(self.settings))

    def stop(self) -> None:
        """Ends the daemon with SIGTERM."""
        self._disconnect()
        status = self.scratch.daemon_process.stop()
        if status != 0:
            raise Failed(f"the daemon ended with {status}")

    def kill(self) -> None:
        """Ends the daemon with SIGKILL."""
        self._disconnect()
        self.scratch.daemon_process.process.kill()
        self.scratch.daemon_process.process.wait()

    def other(self, method: str, request: Document) -> Document:
        """A call of another program, over a separate connection. It must succeed."""
        if self._connection is None:
            self._connection = self.scratch.connect()
        filled = messages.filled(messages.request_type(method), request)
        try:
            return messages.plain(
                messages.response_type(method), self._connection.call(method, **filled))
        except (Refused, Lost) as error:
            raise Failed(f"another program's {method} failed: {error}") from error

    def provide(self, name: str, kinds: list[Document]) -> None:
        """Another program provides these kinds from now on. It answers no request."""
        connection = self.scratch.connect()
        self._providers.append(connection)
        session = connection.provide(open={"provider": name, "lease": {"seconds": 120}})
        session.until("opened")
        filled = [messages.filled("widgetd.v1.Kind", kind) for kind in kinds]
        session.send(kinds={"id": 1, "kinds": filled})
        result, _ = session.until("result")
        error = result.get("error")
        if error:
            raise Failed(f"another program's kinds were refused: {error}")

    def watch(self, widget: str, path: str) -> Generator[None, None, None]:
        """An open watch of a third program for one widget: yields once for each change set."""
        connection = self.scratch.connect()
        frames = connection.stream("WatchWidgets", selector={"ids": [widget]},
                                   read_mask={"paths": [path]})
        while "synced" not in next(frames):
            pass

        def changes() -> Generator[None, None, None]:
            with connection:
                for frame in frames:
                    if "changes" in frame and not frame["changes"].get("more"):
                        yield None
        return changes()

    def raw_widgets(self, request: Document) -> tuple[int, dict[str, Any]]:
        """The revision, and all widgets that a request picks, as decoded messages."""
        if self._connection is None:
            self._connection = self.scratch.connect()
        found: dict[str, Any] = {}
        token = ""
        while True:
            page = self._connection.call(
                "ListWidgets", page_size=1000, page_token=token, **request)
            found.update({widget["id"]: widget for widget in page.get("widgets", [])})
            token = page.get("next_page_token", "")
            if not token:
                return page.get("revision", 0), found

    def answers(self) -> bool:
        """Whether a daemon answers on the socket."""
        return self.scratch.answers()

    def memory_bytes(self) -> int:
        """The daemon's present memory."""
        return resident_bytes(self.scratch.daemon_process.pid)

    def alive(self) -> bool:
        """Whether the daemon still runs, if it should run."""
        process = self.scratch.daemon_process
        return process is not None and process.process.poll() is None

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        while self._providers:
            self._providers.pop().close()

    def close(self) -> None:
        """Ends the daemon and removes its folder."""
        self._disconnect()
        self.scratch.__exit__(None)

    def log(self) -> str:
        """The end of the daemon's log."""
        return self.scratch.log_text()[-600:] if os.path.exists(self.scratch.log) else ""


class HostedServer(Server):
    """The daemon in the process of the driver, which is told to start and stop it.

    Its socket is there for other programs; the client under test does not use it.
    """

    def __init__(self, settings: Document, user: str) -> None:
        super().__init__(settings)
        self.user = user
        self.driver: Driver | None = None

    def arguments(self) -> list[str]:
        identity = {"client": f"{NOBODY}:{NOBODY},{CLIENT_GROUP}", "stranger": f"{NOBODY}:{NOBODY}"}
        return ["--socket", self.scratch.socket, "--state-directory", self.scratch.state,
                *flags(self.settings),
                *(["--as", identity[self.user]] if self.user else [])]

    def start(self) -> None:
        """Starts the daemon again; the first time the driver does by itself."""
        if self.driver is not None:
            self.driver.host("start", "started")

    def stop(self) -> None:
        self._disconnect()
        assert self.driver is not None
        self.driver.host("stop", "stopped")

    def kill(self) -> None:
        raise Unsupported("the daemon is in the client's own process")

    def memory_bytes(self) -> int:
        """The memory of the process, which has client and daemon."""
        assert self.driver is not None
        return resident_bytes(self.driver.process.pid)

    def alive(self) -> bool:
        return self.driver is not None and self.driver.process.poll() is None


def resident_bytes(pid: int) -> int:
    """Resident memory of a process that is neither shared nor backed by files."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    raise Failed(f"process {pid} is gone")
