"""Calls of the Python library against a daemon: widgets, kinds, and the documents of its command.

The library is installed only in the environments of `python_library`.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
from datetime import datetime, timezone

import widgetd

from lib.private_widgets import SECRET, create_mail, remove_mail
from lib.system import PATIENCE, clean_environment


def raised(kind, call):
    """The error of this class that the call raises; otherwise what happened."""
    try:
        return call()
    except kind as error:
        return error


def calls(check, scratch, client):
    made = client.create_widget("gauge", "cpu", labels={"panel": "top"}, data={"percent": 12})
    check.that(
        "a widget is created as requested",
        made.id == "cpu"
        and made.visible
        and made.data == {"percent": 12}
        and made.labels == {"panel": "top"},
        made,
    )
    check.equal("a created widget is read again, with its etag", client.get_widget("cpu"), made)
    error = raised(widgetd.WidgetExists, lambda: client.create_widget("gauge", "cpu"))
    check.that(
        "an existing id is WidgetExists", isinstance(error, widgetd.WidgetExists), error
    )
    error = raised(widgetd.WidgetNotFound, lambda: client.get_widget("ghost"))
    check.that(
        "a missing widget is WidgetNotFound, with reason and metadata",
        isinstance(error, widgetd.WidgetNotFound)
        and error.reason == "WIDGET_NOT_FOUND"
        and error.code.name == "NOT_FOUND"
        and error.metadata == {"widget_id": "ghost"},
        error,
    )
    error = raised(widgetd.InvalidArgument, lambda: client.create_widget("gauge", "no id"))
    check.that(
        "a wrong field is named",
        isinstance(error, widgetd.InvalidArgument)
        and any("id" in field for field, _ in error.violations),
        error,
    )
    changed = client.update_widget("cpu", {"percent": 13}, etag=made.etag, request_id="r")
    check.that(
        "an update with the etag is made",
        changed.changed and changed.widget is not None and changed.widget.data == {"percent": 13},
        changed,
    )
    check.equal(
        "a repeated request_id makes the change once",
        client.update_widget("cpu", {"percent": 13}, etag=made.etag, request_id="r"),
        changed,
    )
    error = raised(
        widgetd.EtagMismatch, lambda: client.update_widget("cpu", {"x": 1}, etag=made.etag)
    )
    check.that(
        "an old etag is EtagMismatch", isinstance(error, widgetd.EtagMismatch), error
    )
    check.equal(
        "hiding returns the changes", client.set_presence("hide", ids=["cpu"]).changed_ids, ("cpu",)
    )
    error = raised(widgetd.WidgetHidden, lambda: client.send_event("cpu", "click"))
    check.that("a hidden widget takes no event", isinstance(error, widgetd.WidgetHidden), error)
    client.set_presence("show", all=True)
    spec = widgetd.WidgetSpec
    applied = client.apply_widgets([spec("a", "k"), spec("b", "k")], apply_set="s")
    check.equal(
        "a set is applied", [action.word for _, action in applied.results], ["created", "created"]
    )
    client.move_widget("b", first=True)
    check.equal("widgets are moved and listed in order",
                [w.id for w in client.widgets()], ["b", "cpu", "a"])
    check.equal(
        "widgets are listed by label",
        [w.id for w in client.widgets(widgetd.Selector(labels={"panel": "top"}))],
        ["cpu"],
    )
    client.delete_widget("a")
    check.equal("one is deleted", [w.id for w in client.list_widgets().widgets], ["b", "cpu"])
    stats = client.get_stats()
    check.that(
        "stats",
        stats.widgets == 2 and stats.pid == scratch.daemon_process.pid and stats.limits,
        stats,
    )
    previous = client.set_log_level("debug")
    check.equal("the log level", client.set_log_level(previous), widgetd.LogLevel.DEBUG)
    check.equal("a reload", client.reload(), widgetd.Reloaded((), ()))
    check.equal("health", client.check_health("widgetd.v1.WidgetService"), widgetd.Health.SERVING)
    error = raised(widgetd.NotFound, lambda: client.check_health("nobody"))
    check.that("health of an unknown service", isinstance(error, widgetd.NotFound), error)
    values = {"t": None, "b": [True, {"x": 1.5}], "y": b"\0\xff", "u": "ü", "i": -(2**63)}
    client.update_widget("cpu", values)
    held = client.get_widget("cpu").data
    check.equal("all kinds of values survive", {k: held[k] for k in values}, values)


def kinds(check, client):
    kind = widgetd.Kind(
        "dial",
        display_name="Dial",
        families=["small", "large"],
        parameters=[widgetd.Field("source", "string", required=True)],
        data=[widgetd.Field("level", "double", 0.0), widgetd.Field("note", "string")],
        events=[widgetd.EventType("turn", payload=[widgetd.Field("by", "int", 1)])],
        reducers=[
            widgetd.Reducer("turn", set={"level": "data.level + 6.0 / double(event.payload.by)"}),
            widgetd.Reducer("turn", condition="12 / event.payload.by > 4", unset=["note"]),
        ],
        transition=widgetd.Transition(widgetd.Curve.LINEAR),
    )
    client.create_widget("dial", "old", data={"level": 3, "junk": 1})
    tried = client.apply_kinds([kind], provider="python", validate_only=True)
    created = widgetd.KindResult(
        "dial",
        widgetd.ApplyAction.CREATED,
        widgets_changed=1,
        lost_fields=(widgetd.LostField("old", "data.junk", True),),
        lost_fields_count=1,
    )
    check.equal("a dry run checks a kind", tried.results, (created,))
    error = raised(widgetd.KindNotFound, lambda: client.get_kind("dial"))
    check.that(
        "a dry run registers no kind: KindNotFound, with its name",
        isinstance(error, widgetd.KindNotFound) and error.metadata == {"kind": "dial"},
        error,
    )
    made = client.apply_kinds([kind], provider="python", request_id="kinds")
    check.equal("the kind is registered", made.results, (created,))
    check.equal(
        "a repeated request_id registers the kind once",
        client.apply_kinds([kind], provider="python", request_id="kinds"),
        made,
    )
    held = client.get_kind("dial")
    check.that(
        "the kind is read as it was declared",
        held.data == (widgetd.Field("level", "double", 0.0), widgetd.Field("note", "string"))
        and held.message_pb().events == kind.message_pb().events
        and held.message_pb().reducers == kind.message_pb().reducers
        and (held.families, held.transition) == (
            (widgetd.Family.SMALL, widgetd.Family.LARGE), kind.transition)
        and (held.provider, held.owner_uid) == ("python", os.getuid())
        and held.revision == made.revision
        and held.update_time is not None,
        held,
    )
    check.equal(
        "a kind that is applied again is unchanged",
        client.apply_kinds([held], provider="python").results,
        (widgetd.KindResult("dial", widgetd.ApplyAction.UNCHANGED),),
    )
    data = client.get_widget("old").data
    check.that(
        "the widgets of a changed kind were changed to fit",
        data == {"level": 3.0} and isinstance(data["level"], float),
        data,
    )
    error = raised(
        widgetd.InvalidArgument, lambda: client.update_widget("old", {"level": "high"})
    )
    check.that(
        "data that does not fit is InvalidArgument, with the field",
        isinstance(error, widgetd.InvalidArgument)
        and [field for field, _ in error.violations] == ["patch.set_data[level]"],
        error,
    )
    client.update_widget("old", {"note": "x"})
    client.send_event("old", "turn", {"by": 2})
    check.equal("an event runs the reducer of the kind",
                client.get_widget("old").data, {"level": 6.0})
    error = raised(widgetd.ReducerFailed, lambda: client.send_event("old", "turn", {"by": 0}))
    check.that(
        "a reducer that fails is ReducerFailed, with the place",
        isinstance(error, widgetd.ReducerFailed)
        and error.metadata
        == {"widget_id": "old", "event": "turn", "place": "reducers[1].condition"},
        error,
    )
    error = raised(widgetd.KindClaimed, lambda: client.apply_kinds([kind], provider="other"))
    check.that(
        "another provider's kind is KindClaimed",
        isinstance(error, widgetd.KindClaimed)
        and error.metadata == {"kind": "dial", "provider": "python"},
        error,
    )
    many = [widgetd.Kind(f"many{n:04}") for n in range(700)]
    client.apply_kinds(many, provider="many")
    names = sorted(["activity", "dial", "help", "smart-stack", *(each.name for each in many)])
    page = client.list_kinds(page_size=2)
    check.equal(
        "a page of kinds", ([each.name for each in page.kinds], page.next_page_token),
        (["activity", "dial"], "dial"),
    )
    check.equal("all kinds are listed, in order", [each.name for each in client.kinds()], names)

    async def asynchronous():
        async with widgetd.AsyncClient(client.path) as other:
            return [each.name async for each in other.kinds()], await other.get_kind("dial")

    check.equal("asyncio lists the same kinds", asyncio.run(asynchronous()), (names, held))
    pruned = client.apply_kinds([], provider="many", prune=True)
    check.that(
        "pruning removes a provider's own kinds, and no others",
        len(pruned.results) == 700
        and {result.action for result in pruned.results} == {widgetd.ApplyAction.DELETED}
        and [each.name for each in client.kinds()] == ["activity", "dial", "help", "smart-stack"],
        pruned.results[:3],
    )
    check.that("a kind is removed", client.delete_kind("dial") > pruned.revision)
    check.that("a missing kind is ignored on request",
               client.delete_kind("dial", allow_missing=True) > 0)
    error = raised(widgetd.KindNotFound, lambda: client.delete_kind("dial"))
    check.that("otherwise it is KindNotFound", isinstance(error, widgetd.KindNotFound), error)
    check.equal("the widgets of a removed kind stay, with the data that did not fit",
                client.get_widget("old").data,
                {"level": 6.0, "junk": 1})
    client.delete_widget("old")


def documents(result):
    """The output, with times cut to Python's microseconds."""

    def cut(match):
        return f".{match[1][:6]:0<6}Z"

    return [json.loads(re.sub(r"\.(\d+)Z", cut, line)) for line in result.stdout.splitlines()]


def without_entries(printed):
    """widgetctl also prints the entries of timelines, which files for `apply` need."""
    for document in printed:
        for key in ("entries", "policy"):
            document.get("timeline", {}).pop(key, None)
    return printed


def matches_widgetctl(check, scratch, client):
    """`python -m widgetd --json` prints the same as widgetctl."""
    # Far from today, so nothing changes by itself.
    times = [datetime(year, 1, 1, tzinfo=timezone.utc) for year in (2025, 3000, 3001)]
    entries = [widgetd.TimelineEntry(time, {"n": 1}, 2.5) for time in times[:2]]
    client.update_widget("cpu", timeline=widgetd.Timeline(entries, "after", *times[1:]))
    check.that("a widget is in a timeline", '"nextTime"' in scratch.ctl(
        "get", "cpu", "-o", "jsonl").stdout)
    check.equal(
        "get --json prints what widgetctl prints",
        documents(command(scratch, "get", "cpu", "--json")),
        without_entries(documents(scratch.ctl("get", "cpu", "-o", "jsonl"))),
    )
    check.equal(
        "ls --json too",
        documents(command(scratch, "ls", "--json")),
        without_entries(documents(scratch.ctl("ls", "-o", "jsonl"))),
    )
    check.equal(
        "with single fields too",
        documents(command(scratch, "ls", "--json", "--field", "data.percent")),
        documents(scratch.ctl("ls", "-o", "jsonl", "--field", "data.percent")),
    )
    check.equal(
        "with the timeline alone too",
        documents(command(scratch, "ls", "--json", "--field", "timeline")),
        documents(scratch.ctl("ls", "-o", "jsonl", "--field", "timeline")),
    )
    client.update_widget("cpu", clear_timeline=True)
    for arguments in (["get", "ghost"], ["send", "ghost", "click"]):
        check.equal(
            f"{arguments[0]} of a missing widget has the same exit status",
            command(scratch, *arguments).returncode,
            scratch.ctl(*arguments).returncode,
        )


def redacted(check, scratch):
    """`python -m widgetd watch --redacted` prints no private part of a widget."""
    create_mail(scratch)
    for form in ((), ("--json",)):
        lines = {}
        for flag in ((), ("--redacted",)):
            follower = scratch.start(
                [sys.executable, "-m", "widgetd", "watch", "mail", *form, *flag],
                env=clean_environment(WIDGETD_SOCKET=scratch.socket, PYTHONUNBUFFERED="1"))
            found = lines[flag] = []
            follower.line(lambda line, found=found: found.append(line) or "mail" in line)
            scratch.ctl("disable", "mail")
            follower.line(lambda line, found=found: found.append(line) or "disable" in line
                          or '"enabled":false' in line.replace(" ", ""))
            scratch.ctl("enable", "mail")
            follower.stop()
        words = " ".join(("watch", *form))
        check.that(f"{words}: without --redacted, private text is shown",
                   SECRET in "".join(lines[()]), lines[()])
        check.that(f"{words}: with --redacted, it is not", len(lines[("--redacted",)]) > 1
                   and SECRET not in "".join(lines[("--redacted",)]), lines[("--redacted",)])
    remove_mail(scratch)


def command(scratch, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "widgetd", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=False,
        env=clean_environment(WIDGETD_SOCKET=scratch.socket),
    )
