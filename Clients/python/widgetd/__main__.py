"""`python -m widgetd`: look at widgets, follow them, send events.

Prints text for people. With --json, it prints one object a line in widgetctl's form, without the
entries of timelines. An interrupt ends it as any other program. If nobody reads its output any more,
it ends quietly with 0.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import select
import signal
import stat
import sys
import threading
from typing import Any, NoReturn, Optional, Sequence

from . import __version__, _json
from .client import Client, Watch
from .errors import CallError, Code, SocketNotFound, WidgetdError
from .frames import Disconnected, Events, Gap, Reconnected, Reset, Snapshot
from .mirror import Mirror
from .enums import LabelOperator
from .widgets import LabelRequirement, Selector, Widget

_STATUS = {
    Code.NOT_FOUND: 3,
    Code.ALREADY_EXISTS: 4,
    Code.FAILED_PRECONDITION: 5,
    Code.ABORTED: 5,
    Code.PERMISSION_DENIED: 6,
    Code.UNAUTHENTICATED: 6,
    Code.UNAVAILABLE: 7,
    Code.DEADLINE_EXCEEDED: 8,
    Code.RESOURCE_EXHAUSTED: 9,
    Code.INVALID_ARGUMENT: 10,
    Code.OUT_OF_RANGE: 10,
}

_EPILOG = """exit status, like widgetctl:
  0 success   1 any other error   2 wrong usage   3 no such widget   4 id exists
  5 refused in this state   6 permission denied   7 daemon not reached   8 timeout
  9 limit exceeded   10 invalid value

examples:
  python -m widgetd watch
  python -m widgetd watch -l panel=top --json | jq -c .type
  python -m widgetd get clock --json
  python -m widgetd send counter click n=1
"""


def main(arguments: Optional[Sequence[str]] = None) -> int:
    # The output is UTF-8 even if the locale has another encoding.
    streams: tuple[Any, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="widgetd: %(message)s")
    try:
        with Client(options.socket, timeout=options.timeout) as client:
            status: int = options.run(client, options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _abandon_output()
        return 0
    except WidgetdError as error:
        return _complain(error, options.json)
    except OSError as error:  # Calls raise a WidgetdError, so this is about the output.
        _abandon_output()
        print(f"widgetd: cannot write the output: {error.strerror}", file=sys.stderr)
        return 1
    except (ValueError, TypeError) as error:
        print(f"widgetd: {error}", file=sys.stderr)
        return 2


def _abandon_output() -> None:
    """Drops further output, even at the end of the interpreter."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _complain(error: WidgetdError, as_json: bool) -> int:
    words = _json.dumps(_json.error(error)) if as_json else f"widgetd: {_words(error)}"
    print(words, file=sys.stderr)
    if isinstance(error, CallError):
        return _STATUS.get(error.code, 1)
    return 7 if isinstance(error, SocketNotFound) else 1


def _words(error: WidgetdError) -> str:
    """The error for people. The daemon names widgetctl; here the next step is this program."""
    if not isinstance(error, CallError) or error.reason != "WIDGET_NOT_FOUND":
        return str(error)
    id = error.metadata.get("widget_id")
    if id is None:
        return str(error)
    return (
        f'There is no widget "{_safe(id)}". `python -m widgetd ls` lists all widgets. '
        f"({error.code.name}: {error.reason})"
    )


# --- The command line -----------------------------------------------------------------------------


def _add_common(parser: argparse.ArgumentParser, is_default: bool) -> None:
    """Adds the options of all commands. They may be before or after the command. Only the options
    before it have defaults, because those after it would replace what was given before."""

    def default(thing: Any) -> Any:
        return thing if is_default else argparse.SUPPRESS

    parser.add_argument(
        "--socket",
        default=default(None),
        metavar="PATH",
        help="The daemon's socket. Default: $WIDGETD_SOCKET, "
        "$XDG_RUNTIME_DIR/widgetd/widgetd.sock, /run/widgetd/widgetd.sock.",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        default=default(False),
        help="Print one JSON object per line.",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=default(30.0),
        metavar="SECONDS",
        help="Give up after this long. Default: 30.",
    )


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    _add_common(common, is_default=False)
    picking = argparse.ArgumentParser(add_help=False)
    picking.add_argument(
        "-l", "--selector", metavar="LABELS", help="Only with these labels: 'a=b,c!=d,f,!g'."
    )
    picking.add_argument(
        "--kind", action="append", default=[], help="Only of this kind; may be repeated."
    )
    picking.add_argument(
        "--family", action="append", default=[], help="Only of this family; may be repeated."
    )
    fields = argparse.ArgumentParser(add_help=False)
    fields.add_argument(
        "--field",
        action="append",
        default=[],
        metavar="PATH",
        help="Only this field: data.KEY, parameters.KEY, labels, …; may be repeated.",
    )
    parser = argparse.ArgumentParser(
        prog="python -m widgetd",
        description="Show and follow the widgets of widgetd.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    _add_common(parser, is_default=True)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Any, help: str, *parents: argparse.ArgumentParser) -> Any:
        made = commands.add_parser(name, help=help, description=help, parents=[*parents, common])
        made.set_defaults(run=run)
        return made

    command("ls", _ls, "List widgets, in display order.", picking, fields)
    get = command("get", _get, "Show widgets.", fields)
    get.add_argument("ids", nargs="+", metavar="ID")
    watch = command(
        "watch", _watch, "Follow widgets: the current state, then every change.", picking, fields
    )
    watch.add_argument(
        "ids", nargs="*", metavar="ID", help="Only these widgets. They need not exist yet."
    )
    watch.add_argument(
        "--events", action="store_true", help="Also show the events of these widgets."
    )
    watch.add_argument(
        "--redacted",
        action="store_true",
        help="Get a redacted view: the daemon sends neither private nodes nor data.",
    )
    watch.add_argument(
        "--min-interval",
        type=float,
        metavar="SECONDS",
        help="Minimum time between two changes. Changes in between are merged.",
    )
    watch.add_argument(
        "--wait", action="store_true", help="Wait for the daemon if it is not running."
    )
    events = command(
        "events", _events, "Follow events, which users and programs send to widgets.", picking
    )
    events.add_argument("ids", nargs="*", metavar="ID", help="Only events of these widgets.")
    events.add_argument(
        "--name", action="append", default=[], help="Only events with this name; may be repeated."
    )
    events.add_argument(
        "--after-sequence", type=int, metavar="N", help="Start after this event. Default: now."
    )
    events.add_argument(
        "--wait", action="store_true", help="Wait for the daemon if it is not running."
    )
    send = command("send", _send, "Send an event to a widget.")
    send.add_argument("id", metavar="ID")
    send.add_argument("name", metavar="EVENT", help="The event's name: click, toggle, …")
    send.add_argument("payload", nargs="*", metavar="KEY=VALUE", help="VALUE is JSON, else text.")
    send.add_argument("--node", default="", help="The node of the event.")
    send.add_argument(
        "--force", action="store_true", help="Send even to a hidden or disabled widget."
    )
    send.add_argument("--request-id", default="", help="Id for a safe retry.")
    command(
        "health",
        _health,
        "Check whether the daemon serves: status 0 if it does, 7 if not, 8 at the timeout.",
    )
    return parser


def _selector(options: argparse.Namespace) -> Selector:
    return Selector(
        ids=getattr(options, "ids", ()),
        kinds=options.kind,
        families=options.family,
        labels=label_requirements(options.selector) if options.selector else (),
    )


_KEY = r"[^\s!=()<>,]+"
_REQUIREMENT = re.compile(
    rf"\s*(?:(?P<key>{_KEY})\s+(?P<word>in|notin)\s*\((?P<list>[^()]*)\)"
    rf"|(?P<absent>!)\s*(?P<gone>{_KEY})"
    rf"|(?P<name>{_KEY})\s*(?P<sign>!=|==|=)(?P<value>[^,]*)"
    rf"|(?P<there>{_KEY}))\s*(?:,|$)"
)


def label_requirements(text: str) -> list[LabelRequirement]:
    """Labels in the form of widgetctl's -l: 'a=b,c!=d,e in (x,y),f,!g'."""
    found, at = [], 0
    while at < len(text) or text.endswith(",") and at == len(text):
        match = _REQUIREMENT.match(text, at)
        if match is None or match.end() == at:
            raise ValueError(
                f"{text!r} selects nothing by labels; write 'a=b,c!=d,e in (x,y),f,!g'"
            )
        at = match.end() + (1 if match.end() == len(text) and not text.endswith(",") else 0)
        if match["key"]:
            operator = LabelOperator.IN if match["word"] == "in" else LabelOperator.NOT_IN
            values = tuple(value.strip() for value in match["list"].split(","))
            found.append(LabelRequirement(match["key"], operator, values))
        elif match["absent"]:
            found.append(LabelRequirement(match["gone"], LabelOperator.NOT_EXISTS))
        elif match["name"]:
            operator = LabelOperator.NOT_IN if match["sign"] == "!=" else LabelOperator.IN
            found.append(LabelRequirement(match["name"], operator, (match["value"].strip(),)))
        else:
            found.append(LabelRequirement(match["there"], LabelOperator.EXISTS))
    return found


def _payload(words: Sequence[str]) -> dict[str, Any]:
    payload = {}
    for word in words:
        key, sign, text = word.partition("=")
        if not sign or not key:
            raise ValueError(f"{word!r} is not a payload; write KEY=VALUE")
        try:
            payload[key] = json.loads(text)
        except (ValueError, RecursionError):
            payload[key] = text
    return payload


# --- The commands ---------------------------------------------------------------------------------


def _ls(client: Client, options: argparse.Namespace) -> int:
    if options.json:
        for widget in client.widgets(_selector(options), fields=options.field):
            print(_json.dumps(_json.widget(widget, options.field)))
        return 0
    rows = [("ID", "KIND", "STATE", "DATA")]
    for widget in client.widgets(_selector(options), fields=options.field):
        rows.append((widget.id, widget.kind, _state(widget), _data(widget)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)] + [row[3]]
        print("  ".join(cells).rstrip())
    return 0


def _get(client: Client, options: argparse.Namespace) -> int:
    for id in options.ids:
        document = _json.widget(client.get_widget(id, fields=options.field), options.field)
        print(_json.dumps(document) if options.json else _block(document), flush=True)
    return 0


def _watch(client: Client, options: argparse.Namespace) -> int:
    watch = client.watch(
        _selector(options),
        fields=options.field,
        events=options.events,
        redacted=options.redacted,
        min_interval=options.min_interval,
        wait=options.wait,
    )
    mirror, wanted = Mirror(), set(options.ids)
    with _until_closed(watch):
        for frame in watch:
            if isinstance(frame, Snapshot):
                _say_missing(wanted, frame)
                wanted = set()
            if options.json:
                for document in _json.frame(frame, options.field):
                    print(_json.dumps(document), flush=True)
            elif isinstance(frame, (Events, Gap, Reset, Disconnected, Reconnected)):
                _say(frame)
            difference = None if options.json else mirror.apply(frame)
            if difference is not None:
                for id in difference.added:
                    _line("+", mirror[id])
                for id in difference.updated:
                    _line("~", mirror[id])
                for widget in difference.removed:
                    print(f"- {_safe(widget.id)}", flush=True)
    return 0


def _say_missing(wanted: set[str], snapshot: Snapshot) -> None:
    """Names the widgets that do not exist yet, on standard error."""
    for message in snapshot.messages:
        wanted = wanted - {widget.id for widget in message.snapshot.widgets}
    for id in sorted(wanted):
        print(f'widgetd: no widget "{_safe(id)}" yet; waiting for it', file=sys.stderr, flush=True)


def _events(client: Client, options: argparse.Namespace) -> int:
    watch = client.watch_events(
        _selector(options),
        names=options.name,
        after_sequence=options.after_sequence,
        wait=options.wait,
    )
    with _until_closed(watch):
        for frame in watch:
            if options.json:
                for document in _json.frame(frame):
                    print(_json.dumps(document), flush=True)
            else:
                _say(frame)
    return 0


def _send(client: Client, options: argparse.Namespace) -> int:
    sent = client.send_event(
        options.id,
        options.name,
        _payload(options.payload),
        node_id=options.node,
        force=options.force,
        client="python -m widgetd",
        request_id=options.request_id,
    )
    if options.json:
        print(_json.dumps({"sequence": sent.sequence, "revision": sent.revision}))
    else:
        print(f"event {sent.sequence}")
    return 0


def _health(client: Client, options: argparse.Namespace) -> int:
    health = client.check_health()
    print(_json.dumps({"status": health.word}) if options.json else health.word)
    return 0 if health.word == "serving" else 7


# --- What people read -----------------------------------------------------------------------------


def _safe(text: str) -> str:
    """The text without characters that control a terminal."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _state(widget: Widget) -> str:
    marks = (" stale" if widget.stale else "") + (" error" if widget.failed else "")
    return widget.state.word + marks


def _entries(data: dict[str, Any]) -> str:
    return "  ".join(f"{_safe(key)}={_safe(_json.dumps(_json.plain(data[key])))}" for key in data)


def _data(widget: Widget) -> str:
    """Without empty lists and maps, unless there is nothing else."""
    full = {key: value for key, value in widget.data.items() if value not in ([], {})}
    return _entries(full or widget.data)


def _line(sign: str, widget: Widget) -> None:
    text = f"{sign} {_safe(widget.id)}  {_state(widget)}  {_data(widget)}"
    print(text.rstrip(), flush=True)


def _block(document: dict[str, Any]) -> str:
    return "\n".join(
        f"{key}: {_safe(value if isinstance(value, str) else _json.dumps(value))}"
        for key, value in document.items()
    )


def _say(frame: Any) -> None:
    """Prints events on standard output, and notices about the stream on standard error."""
    if isinstance(frame, Events):
        for event in frame.events:
            node = f" {_safe(event.node_id)}" if event.node_id else ""
            entries = _entries(event.payload)
            print(
                f"! {_safe(event.widget_id)}{node} {_safe(event.name)}  {entries}".rstrip(),
                flush=True,
            )
        return
    text = None
    if isinstance(frame, Gap):
        text = (
            f"events {frame.first_sequence} to {frame.last_sequence} may be missing;"
            " a restart of the daemon skips numbers that no event has"
        )
    elif isinstance(frame, Reset):
        text = f"starting over ({frame.reason.value})"
    elif isinstance(frame, Disconnected):
        text = f"{frame.error}; reconnecting"
    elif isinstance(frame, Reconnected):
        text = "connected again"
    if text is not None:
        print(f"widgetd: {text}", file=sys.stderr, flush=True)


class _until_closed:
    """Ends a watch when its output is closed, even while there is nothing to write."""

    def __init__(self, watch: Watch[Any]) -> None:
        self._watch = watch

    def __enter__(self) -> None:
        mode = os.fstat(1).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            threading.Thread(target=self._look, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._watch.close()

    def _look(self) -> None:
        poll = select.poll()
        poll.register(1, select.POLLERR)
        poll.poll()
        self._watch.close()


def run() -> NoReturn:
    # Python's own handler raises KeyboardInterrupt, also while gRPC closes a channel. Then a thread of
    # gRPC can print a traceback. Nothing here needs a clean end, so the signal ends the process.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main())


if __name__ == "__main__":
    run()
