"""Types the commands of a page of the documentation into a shell, exactly as written.

Blocks of `sh` are commands; in blocks of `console` those are behind `$`, and what follows is what they say; such
a command may fail, any other must succeed. A block of `yaml` that begins with `# NAME.yaml` is a file of that name.
A command with "until Ctrl-C" or "until it changes" in the comment behind it is interrupted when it has said
something.

Comments of the page on the lines right before a block change this:

    <!-- test: skip because REASON -->       not typed
    <!-- test: by SCRIPT -->                 typed by this acceptance script, and not by `documents`
    <!-- test: as USER -->                   typed into the shell of this user
    <!-- test: needs PROGRAM -->             skipped where this program is missing
    <!-- test: file NAME -->                 the block, of whatever language, is this file
    <!-- test: append NAME -->               the block is added to this file
    <!-- test: run COMMAND -->               typed before the block (after it, if it is a file)
    <!-- test: then COMMAND -->              typed after the block
    <!-- test: instead COMMAND -->           typed instead of the block
    <!-- test: COMMAND … is left out because REASON -->
                                             the command that begins so is not typed
    <!-- test: COMMAND … fails -->           the command that begins so fails, and says what is in the
                                             comment behind it
    <!-- test: COMMAND … says WORDS -->      the command that begins so says this
    <!-- test: COMMAND … until CONDITION --> the command that begins so gets Ctrl-C when this command succeeds
    <!-- test: COMMAND … in a terminal until CONDITION -->
                                             the same, in a terminal

A comment that matches nothing is a failure.
"""

import glob
import os
import re
import shlex
import shutil
import signal
import subprocess

from lib.protobuf import ROOT
from lib.system import PATIENCE, Process, eventually

# Commands that only read. They are typed again until the output is that of the page, as a reader
# who was too quick would do.
ASKS = re.compile(r"(sudo )?(widgetctl (view|get|ls|describe|bundle ls)|systemctl (--user )?status)\b")
ENDLESS = re.compile(r"until (Ctrl-C|it changes)")
# After these commands, the host needs a moment to create widgets.
LOADS = re.compile(r"widgetctl bundle install\b|widgetd-host --bundles\b")
NEEDS_WIDGETS = re.compile(r"(sudo )?widgetctl (view|get|send|set)\b")
BLOCK = re.compile(
    r"(?P<notes>(?:^ *<!-- test: .*? -->\n)*)^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$",
    re.S | re.M)
MARK = "=== typed:"
#: How long a command may take: some install packages.
SECONDS = 1800.0


class Shell:
    """A shell into which commands are typed one by one.

    `folder` has the files of the output. `command` starts the shell, if it is not on this machine; `outside` is then
    the path of a path in there."""

    def __init__(self, folder, environment, start=".", command=(), outside=lambda path: path):
        self.process = Process(
            [*command, "bash", "--noprofile", "--norc", "-s"], env=environment, stdin=subprocess.PIPE)
        self.folder, self.outside = folder, outside
        self.outputs = []
        # Each job has a process group, as in a terminal.
        self._write(f"set -m; cd {shlex.quote(start)}")

    def _new_output(self, command):
        """A file for each command, because a background process keeps writing into its own file."""
        self.output = os.path.join(self.folder, f"said-{len(self.outputs)}")
        self.outputs.append((command, self.output))
        # Any user may write to it, because the shell may be that of another one.
        with open(self.outside(self.output), "w", encoding="utf-8"):
            os.chmod(self.outside(self.output), 0o666)

    def _write(self, text):
        self.process.process.stdin.write(text + "\n")
        self.process.process.stdin.flush()

    def _after(self, seconds=PATIENCE):
        """What the next line with the mark has behind it: a number, or None if none comes."""
        line = self.process.line(lambda text: text.startswith(MARK), seconds)
        return int(line.removeprefix(MARK)) if line else None

    def type(self, command):
        """Types a command; returns its status and its output."""
        self._new_output(command)
        # Standard output is not the pipe to the test, because background processes would keep it
        # open.
        self._write(f"{{ {command}\n}} >{self.output} 2>&1 </dev/null; echo '{MARK}' $?")
        return self._after(SECONDS), self.said()

    def type_and_interrupt(self, command, condition=None):
        """Types a command, and Ctrl-C after its first output, or when another command succeeds."""
        self._new_output(command)
        self._write(f"{{ {command}\n}} >{self.output} 2>&1 </dev/null & job=$!; echo '{MARK}' $job")
        if self._after() is None:
            return None, self.said()
        if condition is None:
            is_time = bool(eventually(self.said))
        else:
            # In a subshell, so that the condition cannot change the shell.
            self._write(f"for _ in $(seq {int(PATIENCE * 5)}); do ( {condition}\n) >/dev/null 2>&1 </dev/null; "
                        f"met=$?; [ $met = 0 ] && break; sleep 0.2; done; echo '{MARK}' $met")
            is_time = self._after(SECONDS) == 0
        # The job is a process group. A command that ignores the signal is killed, so that the page can go on.
        self._write(f"kill -INT -- -$job; ( sleep {int(PATIENCE)}; kill -KILL -- -$job ) 2>/dev/null & killer=$!; "
                    f"wait $job; ended=$?; kill -- -$killer; echo '{MARK}' $ended")
        status = self._after(2 * PATIENCE)
        return 0 if is_time and status not in (None, 137) else status or 1, self.said()

    def said(self):
        with open(self.outside(self.output), encoding="utf-8", errors="replace") as file:
            return file.read().rstrip()

    def all_said(self):
        """Every command with the end of its output, also what background processes have said later."""
        lines = []
        for command, output in self.outputs:
            with open(self.outside(output), encoding="utf-8", errors="replace") as file:
                lines += [f"$ {command}", file.read()[-2000:].rstrip()]
        return "\n".join(line for line in lines if line)

    def close(self):
        try:
            self._write("for job in $(jobs -p); do kill -- -$job; done 2>/dev/null; wait; exit")
            self.process.process.wait(PATIENCE)
        except (subprocess.TimeoutExpired, OSError):
            self.process.stop(signal.SIGKILL)


def commands(text):
    """The commands of a block of sh: lines, or several that belong together."""
    found, command = [], ""
    for line in text.splitlines():
        if not command and (not line.strip() or line.lstrip().startswith("#")):
            continue
        command += line + "\n"
        opened = re.search(r"<<-?'?(\w+)'?", command)
        if opened and not re.search(rf"^{opened[1]}$", command, re.M):
            continue
        if re.search(r"(\\|\||&&)\s*$", line):
            continue
        if subprocess.run(["bash", "-n"], input=command, text=True, check=False,
                          capture_output=True).returncode == 0:
            found.append(command.rstrip())
            command = ""
    return found + ([command] if command else [])


def steps(language, text):
    """Commands of a block, each with its expected output; None if there is none."""
    if language == "sh":
        return [(command, None) for command in commands(text)]
    made = []
    for step in re.split(r"^\$ ", text, flags=re.M)[1:]:
        lines = step.splitlines()
        count = 1
        while lines[count - 1].endswith("\\"):
            count += 1
        made.append(("\n".join(lines[:count]), "\n".join(lines[count:]).rstrip() or None))
    return made


def comment_of(command):
    """The comment behind a command."""
    match = re.search(r"\s# (.*)$", command.splitlines()[-1])
    return match[1] if match else ""


def hasty(text):
    """The command of a block that needs the widgets of a bundle before a line waits for them."""
    is_loading = False
    for line in text.splitlines():
        if line.startswith("until "):
            is_loading = False
        elif is_loading and NEEDS_WIDGETS.match(line):
            return line
        elif LOADS.search(line):
            is_loading = True
    return None


class Page:
    """A page, typed into a shell.

    `script` is the name of an acceptance script, which types only the blocks with `by` and its name. `people` are the
    shells of other users. `/tmp/w` and the socket of the fake clock are in `folder` then."""

    def __init__(self, check, page, shell, folder=None, script=None, people=()):
        self.check, self.page, self.shell = check, page, shell
        self.folder, self.script, self.people = folder, script, dict(people)
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            self.text = file.read()

    def type_all(self):
        """Types the page; returns the number of its blocks, or of those of the script."""
        count = notes = 0
        for block in BLOCK.finditer(self.text):
            said = re.findall(r"<!-- test: (.*?) -->", block["notes"])
            notes += block["notes"].count("<!-- test:")
            text = re.sub(rf"^{block['indent']}", "", block["text"], flags=re.M)
            name = re.match(r"# (\S+\.yaml)\n", text)
            if block["language"] == "yaml" and name:
                said, text = [f"file {name[1]}", *said], text[name.end():]
            line = self.text[:block.start("text")].count("\n")
            where = f"{self.page}:{line}"
            if block["language"] == "sh" and self.script is None:
                self.check.equal(f"{where}: the block waits for the widgets of its bundles", hasty(text), None)
            script = next((note.removeprefix("by ") for note in said if note.startswith("by ")), None)
            if script != self.script:
                if script is not None and self.script is None:
                    self.check.that(f"{where}: Tests/acceptance/{script} types the block",
                                    self.page in types_blocks_of(script))
                continue
            if said or block["language"] in ("sh", "console"):
                count += 1
                if not self.block(where, block["language"], text, [
                        note for note in said if not note.startswith("by ")]):
                    break
        self.check.equal(f"{self.page}: every comment for tests is right before a block",
                         self.text.count("<!-- test:"), notes)
        return count

    def block(self, where, language, text, notes):
        """Types a block; returns False if the rest of the page cannot be typed."""
        before, after, fails, words, left_out, untils, instead = [], [], [], [], [], {}, None
        shell = self.shell
        for note in notes:
            kind, _, rest = note.partition(" ")
            if kind == "skip" and rest.startswith("because "):
                return True
            if kind == "needs":
                if shutil.which(rest) is None:
                    self.check.skip(where, f"{rest} is missing")
                    return True
            elif kind == "as" and rest in self.people:
                shell = self.people[rest]
            elif kind in ("file", "append"):
                sign = ">" if kind == "file" else ">>"
                before.insert(0, f"cat {sign} {rest} <<'END OF FILE'\n{text}END OF FILE")
            elif kind == "run":
                before.append(rest)
            elif kind == "then":
                after.append(rest)
            elif kind == "instead":
                instead = rest
            elif note.endswith(" … fails"):
                fails.append(note.removesuffix(" … fails"))
            elif " … says " in note:
                words.append(tuple(note.split(" … says ", 1)))
            elif " … is left out because " in note:
                left_out.append(note.split(" … ", 1)[0])
            elif " … in a terminal until " in note:
                begin, condition = note.split(" … in a terminal until ", 1)
                untils[begin] = (condition, True)
            elif " … until " in note:
                begin, condition = note.split(" … until ", 1)
                untils[begin] = (condition, False)
            else:
                return self.check.that(f"{where}: {note}", False, "nobody knows what that means")

        def types(command, expected=None, until=(None, False)):
            return self.type(shell, where, command, expected, fails, words, until)

        for command in before:
            if not types(command):
                return False
        if instead is not None:
            todo = [(instead, None)]
        else:
            todo = steps(language, text) if language in ("sh", "console") else []
        met = [command for command, _ in todo]
        for command, expected in todo:
            if any(command.startswith(begin) for begin in left_out):
                continue
            until = next((untils[begin] for begin in untils if command.startswith(begin)), (None, False))
            if not types(command, expected, until):
                return False
        for begin in [*fails, *(begin for begin, _ in words), *left_out, *untils]:
            if not any(command.startswith(begin) for command in [*before, *met]):
                self.check.that(f"{where}: {begin} …", False, "no command of the block begins so")
        return all(types(command) for command in after)

    def moved(self, command):
        if command is None or self.folder is None:
            return command
        return re.sub(r"/tmp/(w\b|fake\.sock\b)", rf"{self.folder}/\1", command)

    def type(self, shell, where, command, expected, fails, words, until):
        wanted = [text for begins, text in words if command.startswith(begins)]
        is_failure = any(command.startswith(begins) for begins in fails)
        comment = comment_of(command)
        if is_failure and comment:
            wanted.append(comment)
        condition, is_in_terminal = until
        is_endless = condition is not None or ENDLESS.search(comment)

        def go():
            typed = self.moved(command)
            if is_in_terminal:
                typed = f"in-terminal {shlex.quote(typed)}"
            if is_endless:
                status, told = shell.type_and_interrupt(typed, self.moved(condition))
            else:
                status, told = shell.type(typed)
            is_right = (status is not None
                        and (expected is not None or (status != 0) == is_failure)
                        and all(agrees(text, told) for text in wanted))
            if expected is not None:
                is_right = is_right and agrees(expected, told, whole=True)
            return is_right, f"status {status}: {told[-1500:]}"

        is_right, told = go()
        if ASKS.match(command) and not is_failure and not is_endless:
            def is_right_now():
                nonlocal is_right, told
                if not is_right:
                    is_right, told = go()
                return is_right
            eventually(is_right_now)
        return self.check.that(f"{where}: {command.splitlines()[0]}", is_right, told)


def types_blocks_of(script):
    """The pages that an acceptance script, or a file of its folder, names."""
    path = os.path.join(ROOT, "Tests", "acceptance", script)
    if not os.access(path, os.X_OK):
        return []
    found = []
    for source in [path, *glob.glob(f"{path}_box/*.py")]:
        with open(source, encoding="utf-8") as file:
            found += re.findall(r'"([\w/.-]+\.md)"', file.read())
    return found


def agrees(expected, told, whole=False):
    """Whether the output is that of the page; `…` stands for any text. Lines of the two streams of
    a program come in any order."""
    if whole and sorted(expected.splitlines()) == sorted(told.splitlines()):
        return True
    pattern = ".*".join(map(re.escape, expected.split("…")))
    return (re.fullmatch if whole else re.search)(pattern, told, re.S) is not None
