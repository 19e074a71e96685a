"""`widgetctl bar`: the process, the widgets that it shows, and its output read as strictly as the bars do."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

from lib.bars import polybar_parts, tmux_text
from lib.system import PATIENCE, binary, clean_environment

NOTES = """
set: notes
kinds:
- name: note
  data:
  - {name: text, type: string, default: ""}
  - {name: color, type: string, default: ""}
  - {name: since, type: timestamp}
  - {name: pressed, type: int, default: 0}
  - {name: button, type: int, default: 0}
  - {name: direction, type: string, default: ""}
  - {name: clicked, type: int, default: 0}
  events:
  - {name: click, payload: [{name: button, type: int}]}
  reducers:
  - {event: press, nodeId: more, set: {pressed: data.pressed + 1}}
  - {event: click, nodeId: more, set: {button: event.payload.button}}
  - {event: scroll, nodeId: more, set: {direction: event.payload.direction}}
  - {event: click, set: {clicked: event.payload.button}}
  content:
  - families: [inline]
    root: {type: label, id: words, text: =data.text, color: =data.color, tooltip: =data.text}
  - families: [small]
    root:
      type: stack
      id: row
      axis: horizontal
      children:
      - {type: label, id: words, text: =data.text}
      - {type: label, id: more, text: more, shortText: +, events: [press, click, scroll]}
  - families: [medium]
    root: {type: date, id: since, date: =data.since, style: timer}
  - families: [large]
    root:
      type: gauge
      id: share
      text: share
      value: =data.pressed
      max: 4
      color: '#10a020'
      background: '#201030'
      urgent: =data.pressed > 2
      classes: [a b, '="n" + string(data.pressed)']
widgets:
- {id: note, kind: note, family: inline, labels: {panel: top}}
- {id: other, kind: note, family: inline, data: {text: other}}
"""

FORMATS = ("waybar", "i3bar", "swaybar", "i3blocks", "polybar", "yambar", "eww", "tmux", "json",
           "plain")


class Bar:
    """`widgetctl bar`, and the states that it has written."""

    def __init__(self, scratch, format, *arguments, stdin=subprocess.DEVNULL):
        self.format, self.written = format, 0
        command = [binary("widgetctl"), "bar", *arguments]
        if format:
            command += ["--format", format]
        self.process = scratch.start(
            command, stdin=stdin, env=clean_environment(WIDGETD_SOCKET=scratch.socket, TZ="UTC"))
        self.header = None
        if format in ("i3bar", "swaybar"):
            self.header = json.loads(self.process.line())
            assert self.process.line() == "["

    @property
    def pid(self):
        return self.process.pid

    def next(self, seconds=PATIENCE):
        """The next state; None if there is none."""
        line = self.process.line(seconds=seconds)
        if line is None:
            return None
        self.written += 1
        if self.format == "yambar":
            lines = []
            while line:
                lines.append(line)
                line = self.process.line()
            return "\n".join(lines)
        return line

    def wait(self, words):
        """Reads until a state has the words; returns it, or None."""
        while (state := self.next()) is not None:
            if words in state:
                return state
        return None

    def shown(self, text):
        """Reads until the text is shown; returns the text that is shown last."""
        found = None
        while found != text and (state := self.next()) is not None:
            found = parsed(self.format, state)
        return found

    def send(self, line):
        self.process.process.stdin.write(line + "\n")
        self.process.process.stdin.flush()

    def stop(self):
        status = self.process.stop()
        for pipe in (self.process.process.stdin,):
            if pipe:
                pipe.close()
        return status


def pango(text):
    """The text of Pango's markup. Raises for invalid markup, and for elements other than spans of looks."""
    root = ElementTree.fromstring(f"<markup>{text}</markup>")
    known = {"foreground", "background", "fgalpha", "bgalpha", "weight", "style", "underline",
             "strikethrough"}
    for element in root.iter():
        assert element is root or element.tag == "span" and set(element.attrib) <= known, text
    return "".join(root.itertext())


def text_of(format, state, is_stream=True):
    """The text that a bar would show. Raises for what the bar would not read."""
    if format in ("i3bar", "swaybar"):
        assert state.endswith(",") == is_stream, state
        blocks = json.loads(state[:-1] if is_stream else state)
        for block in blocks:
            assert block["markup"] in ("none", "pango"), block
        return "".join(pango(block["full_text"]) if block["markup"] == "pango"
                       else block["full_text"] for block in blocks)
    if format == "waybar":
        state = json.loads(state)
        pango(state["tooltip"])
        return pango(state["text"])
    if format == "i3blocks":
        state = json.loads(state)
        assert state["markup"] == "pango"
        return pango(state["full_text"])
    if format == "polybar":
        return "".join(text for text, _ in polybar_parts(state))
    if format == "tmux":
        return tmux_text(state)
    if format == "yambar":
        return yambar_tags(state)["text"]
    if format in ("eww", "json"):
        return "".join(block["text"] for block in json.loads(state))
    return state


def yambar_tags(state):
    """The tags of a transaction, as yambar-modules-script(5) has them."""
    tags = {}
    for line in state.split("\n"):
        name, kind, value = line.split("|", 2)
        assert re.fullmatch("[a-z]+", name) and name not in tags, line
        if kind == "bool":
            assert value in ("true", "false"), line
        elif kind.startswith("range:"):
            low, high = map(int, kind[6:].split("-"))
            assert low <= int(value) <= high, line
        else:
            assert kind == "string", line
        tags[name] = value
    return tags


def parsed(format, state, is_stream=True):
    try:
        return text_of(format, state, is_stream)
    except (AssertionError, ValueError, ElementTree.ParseError) as error:
        return f"cannot be read: {error!r}: {state!r}"


def data(scratch, field):
    return scratch.ctl("get", "note", "--field", f"data.{field}").stdout.strip()


def begin(check, scratch):
    """A daemon with the widgets `note` and `other`."""
    scratch.daemon()
    path = os.path.join(scratch.folder, "notes.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(NOTES)
    applied = scratch.ctl("apply", "-f", path)
    if not check.equal("the widgets are there", applied.returncode, 0):
        print(applied.stderr)
