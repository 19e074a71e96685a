"""Readers of the input of status bars, and tmux in a pseudo-terminal."""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import tempfile
import termios
import threading

from lib.system import PATIENCE, clean_environment, eventually


def polybar_parts(line):
    """The texts of a line of polybar's tags, each with the commands of the buttons around it.

    The grammar is that of polybar 3.6: `%{` begins a tag wherever it stands; a tag is a list of
    elements up to `}`; an action `A1:…:` ends at the next `:` without a backslash before it. Raises
    ValueError for input that polybar would refuse.
    """
    parts, text, actions, index = [], "", [], 0

    def end():
        nonlocal text
        if text:
            parts.append((text, dict(actions)))
        text = ""

    while index < len(line):
        if not line.startswith("%{", index):
            text += line[index]
            index += 1
            continue
        end()
        index += 2
        while True:
            if index >= len(line):
                raise ValueError("a tag does not end")
            letter = line[index]
            index += 1
            if letter == "}":
                break
            if letter == " ":
                continue
            if letter in "FBuoT":
                stop = index
                while stop < len(line) and line[stop] not in "} ":
                    stop += 1
                value = line[index:stop]
                if letter != "T" and value != "-" and not value.startswith("#"):
                    raise ValueError(f"{letter}{value} is not a colour")
                if letter == "T" and value != "-" and not value.isdigit():
                    raise ValueError(f"T{value} is no font")
                index = stop
            elif letter == "O":
                stop = line.index("}", index)
                if line[index:stop] != "0":
                    raise ValueError(f"O{line[index:stop]} moves what follows")
                index = stop
            elif letter in "+-!":
                if line[index] not in "uo":
                    raise ValueError(f"{letter}{line[index]} is no attribute")
                index += 1
            elif letter == "A":
                button = ""
                while line[index].isdigit():
                    button += line[index]
                    index += 1
                if line[index] in "} ":
                    if not actions:
                        raise ValueError("an action ends that has not begun")
                    actions.pop()
                    continue
                if line[index] != ":" or not button:
                    raise ValueError("an action without a command")
                index += 1
                command = ""
                while line[index] != ":":
                    if line.startswith("\\:", index):
                        index += 1
                    command += line[index]
                    index += 1
                index += 1
                actions.append((int(button), command))
            else:
                raise ValueError(f"{letter} is no tag")
    end()
    if actions:
        raise ValueError("an action does not end")
    return parts


def tmux_text(line):
    """The text that tmux shows for the output of a job. It expands formats first, then reads
    styles.

    Both steps halve runs of `#`, but only the second halves those before `[` (tmux 3.3). Raises
    ValueError for a format in it, and for a style that is not about looks.
    """
    expanded, index = "", 0
    while index < len(line):
        if line[index] != "#":
            expanded += line[index]
            index += 1
            continue
        stop = index
        while line[stop:stop + 1] == "#":
            stop += 1
        count, follower = stop - index, line[stop:stop + 1]
        if follower == "[":
            expanded += "#" * count
            if count % 2:  # The inside of a style stays; a colour in it is not a format.
                end = line.index("]", stop)
                expanded += line[stop:end]
                stop = end
        elif count % 2:
            raise ValueError(f"a format at {line[stop - 1:stop + 10]!r}")
        else:
            expanded += "#" * (count // 2)
        index = stop
    result, index = "", 0
    while index < len(expanded):
        stop = index
        while expanded[stop:stop + 1] == "#":
            stop += 1
        count = stop - index
        if not count:
            result += expanded[index]
            index += 1
            continue
        if expanded[stop:stop + 1] != "[":
            result += "#" * ((count + 1) // 2 if count % 2 else count // 2)
            index = stop
            continue
        result += "#" * (count // 2)
        index = stop
        if count % 2:
            end = expanded.index("]", stop)
            for style in expanded[stop + 1:end].split(","):
                name, _, value = style.partition("=")
                if name not in ("", "fg", "bg", "bold", "italics", "underscore", "strikethrough",
                                "default") or value and not value.startswith("#"):
                    raise ValueError(f"a style {style!r}")
            index = end + 1
    return result


class Tmux:
    """A separate tmux with a status line, in a pseudo-terminal. Use in a `with` statement."""

    columns, rows = 250, 10

    def __init__(self, scratch, status_right="", configuration=None, path=None):
        import pyte  # Only this class needs the module.
        self.folder = tempfile.mkdtemp(prefix="t", dir=scratch.folder)
        if configuration is None:
            configuration = os.path.join(self.folder, "tmux.conf")
            with open(configuration, "w", encoding="utf-8") as file:
                file.write('set -g status-left ""\nset -g status-right-length 200\n'
                           f"set -g status-right '{status_right}'\nset -g status-interval 1\n"
                           'set -g window-status-current-format ""\n')
        self.screen = pyte.Screen(self.columns, self.rows)
        self.stream = pyte.ByteStream(self.screen)
        self.terminal, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))
        environment = clean_environment(
            WIDGETD_SOCKET=scratch.socket, TERM="xterm-256color", LANG="C.UTF-8",
            HOME=self.folder, **({"PATH": path} if path else {}))
        environment.pop("TMUX", None)
        self.environment = environment
        self.socket = os.path.join(self.folder, "s")
        self.process = subprocess.Popen(
            ["tmux", "-u", "-T", "RGB", "-S", self.socket, "-f", configuration, "new-session", "cat"],
            stdin=other, stdout=other, stderr=other, env=environment, start_new_session=True)
        os.close(other)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while True:
            try:
                data = os.read(self.terminal, 65536)
            except OSError:
                return
            if not data:
                return
            self.stream.feed(data)

    def status(self):
        """The status line as text."""
        return self.screen.display[self.rows - 1]

    def cell(self, words):
        """The cell of the status line where the words begin."""
        return self.screen.buffer[self.rows - 1][self.column(words)]

    def column(self, words):
        """The column of the words, once tmux has drawn them."""
        found = eventually(lambda: self.status().find(words) + 1)
        assert found, f"no {words!r} in {self.status()!r}"
        return found - 1

    def click(self, words, button=0):
        """Presses and releases a button on the words, as a terminal reports it."""
        column = self.column(words) + 1
        os.write(self.terminal, f"\x1b[<{button};{column};{self.rows}M".encode())
        if button < 64:
            os.write(self.terminal, f"\x1b[<{button};{column};{self.rows}m".encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], env=self.environment,
                       stderr=subprocess.DEVNULL, check=False, timeout=PATIENCE)
        self.process.wait(PATIENCE)
        os.close(self.terminal)
        shutil.rmtree(self.folder, ignore_errors=True)
