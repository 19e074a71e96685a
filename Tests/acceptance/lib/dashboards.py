"""`widgetctl dashboard` in a terminal, and the widgets that it shows."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

try:
    import pyte
except ImportError:
    print("skip  pyte is missing (PyPI)")
    sys.exit(77)

from lib.system import PATIENCE, binary, clean_environment  # noqa: E402

DESK = """
set: desk
kinds:
- name: counter
  data: [{name: n, type: int, default: 0}]
  content:
  - root:
      type: stack
      id: top
      children:
      - {type: label, id: words, text: "='n is ' + string(data.n)"}
      - type: stack
        id: row
        axis: horizontal
        children:
        - {type: button, id: less, text: Less, enabled: =data.n > 0}
        - {type: button, id: more, text: More}
  reducers:
  - {event: press, nodeId: more, set: {n: data.n + 1}}
  - {event: press, nodeId: less, set: {n: data.n - 1}}
- name: note
  data: [{name: text, type: string, default: ""}, {name: isOn, type: bool, default: false}]
  content:
  - root:
      type: stack
      id: top
      children:
      - {type: label, id: said, text: "='said ' + data.text"}
      - {type: toggle, id: switch, text: On, value: =data.isOn}
      - {type: input, id: field, placeholder: write here}
  reducers:
  - {event: submit, nodeId: field, set: {text: event.payload.value}}
  - {event: change, nodeId: switch, set: {isOn: event.payload.value}}
widgets:
- {id: counter, kind: counter}
- {id: note, kind: note}
"""


class Dashboard:
    """`widgetctl dashboard` in its own terminal, and the text on its screen."""

    def __init__(self, scratch, *arguments, command=("dashboard",), columns=80, rows=24, **variables):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.written = self.unread = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            # A shell would keep the terminal open, and so does this parent.
            child = os.fork()
            if child == 0:
                os.setpgid(0, 0)
                # Programs under nohup ignore this signal, and so would this child.
                signal.signal(signal.SIGHUP, signal.SIG_DFL)
                # In the background, the program would be suspended when it changes the terminal's modes.
                while os.tcgetpgrp(0) != os.getpid() or termios.tcgetwinsize(0) == (0, 0):
                    time.sleep(0.001)
                env = clean_environment(WIDGETD_SOCKET=scratch.socket, TERM="xterm-256color",
                                        XDG_CONFIG_HOME=scratch.folder, **variables)
                os.execve(binary("widgetctl"), ["widgetctl", *command, *arguments], env)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            try:
                os.setpgid(child, child)
            except OSError:
                pass
            os.write(1, b"child %d.\r\n" % child)
            os.tcsetpgrp(0, child)
            while True:
                _, status = os.waitpid(child, os.WUNTRACED)
                if not os.WIFSTOPPED(status):
                    break
                # The actions of a shell at `fg`, when the test sends a line.
                os.tcsetpgrp(0, os.getpgrp())
                os.write(1, b"\r\nsuspended\r\n")
                while os.read(0, 100) not in (b"fg\n", b""):
                    pass
                os.tcsetpgrp(0, child)
                os.kill(-child, signal.SIGCONT)
            os.write(1, b"\r\nthe end: %d.\r\n" % os.waitstatus_to_exitcode(status))
            time.sleep(2 * PATIENCE)
            os._exit(0)
        self.resize(columns, rows)
        self.wait(lambda: b"child " in self.written and b"." in self.written)
        self.child = int(self.written.split(b"child ")[1].split(b".")[0])

    def resize(self, columns, rows):
        termios.tcsetwinsize(self.terminal, (rows, columns))
        self.screen.resize(rows, columns)

    def read(self, seconds):
        if not select.select([self.terminal], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.written += data
        # Pictures and queries about them are not text, and the emulator does not know them.
        self.unread += data
        parts = self.unread.split(b"\x1b_")
        self.unread = b""
        text = parts[0]
        for part in parts[1:]:
            _, end, rest = part.partition(b"\x1b\\")
            if not end:
                self.unread = b"\x1b_" + part
                break
            text += rest
        self.stream.feed(text)
        return bool(data)

    def wait(self, holds):
        """Reads until the condition holds; returns whether it does."""
        deadline = time.monotonic() + PATIENCE
        while not holds() and time.monotonic() < deadline:
            self.read(0.2)
        return holds()

    def shows(self, words):
        return self.wait(lambda: words in self.text())

    def text(self):
        return "\n".join(self.screen.display)

    def place(self, words):
        """Column and row of words on the screen, from 1 as terminals count."""
        for row, line in enumerate(self.screen.display):
            if words in line:
                return line.index(words) + 1, row + 1
        raise AssertionError(f"no {words!r} on the screen:\n{self.text()}")

    def keys(self, text):
        os.write(self.terminal, text.encode())

    def escapes(self):
        """Leaves the input with Esc, which counts as a key when no byte follows at once."""
        self.keys("\x1b")
        self.wait(lambda: "Esc leave" not in self.text())

    def is_filled(self, change):
        """Makes changes and reads nothing, until the terminal takes no more; returns whether that
        happened."""
        deadline = time.monotonic() + PATIENCE
        number, before, same = 0, -1, 0
        while time.monotonic() < deadline:
            for _ in range(100):
                change(number)
                number += 1
            time.sleep(0.1)  # The time of more than two redraws.
            waiting = struct.unpack(
                "i", fcntl.ioctl(self.terminal, termios.FIONREAD, b"\0\0\0\0"))[0]
            same = same + 1 if waiting == before and waiting > 0 else 0
            if same == 10:
                return True
            before = waiting
        return False

    def click(self, words):
        column, row = self.place(words)
        self.keys(f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m")

    def ended(self):
        """The exit status, negative for a signal; None if it still runs."""
        if not self.wait(lambda: b"the end: " in self.written):
            return None
        return int(self.written.split(b"the end: ")[1].split(b".")[0])

    def is_cooked(self):
        flags = termios.tcgetattr(self.terminal)[3]
        return bool(flags & termios.ICANON and flags & termios.ECHO)

    def is_put_right(self):
        """Whether the terminal is restored for a shell: cooked mode, main screen, a cursor, no
        mouse."""
        def last(on, off):
            return self.written.rfind(off) > self.written.rfind(on)

        return self.wait(lambda: self.is_cooked() and last(b"\x1b[?1049h", b"\x1b[?1049l")
                         and last(b"\x1b[?25l", b"\x1b[?25h")
                         and last(b"\x1b[?1006h", b"\x1b[?1006l"))

    def close(self):
        for pid in (self.child, self.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def data(scratch, widget, field):
    return scratch.ctl("get", widget, "--field", f"data.{field}").stdout.strip()


def begin(check, scratch):
    """A daemon with the widgets of the desk."""
    scratch.daemon()
    path = os.path.join(scratch.folder, "desk.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(DESK)
    applied = scratch.ctl("apply", "-f", path)
    check.equal("the widgets are there", applied.returncode, 0)
