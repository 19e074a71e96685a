"""Streams of the Python library while the daemon is stopped and continued.

The library is installed only in the environments of `python_library`.
"""

import asyncio
import time

import widgetd

from lib.system import suspended

#: A live daemon answers within 10 s, also on a busy machine.
QUICK = {"retry": widgetd.RetryPolicy(0.01, 0.2), "liveness": widgetd.LivenessPolicy(0.2, 10)}

#: The daemon is asked several times, and answers, before it is stopped.
SILENCE = 1.0


def _names(frames):
    return [type(frame).__name__ for frame in frames]


def _watched(scratch, client):
    """The reports of a watch. The daemon is stopped until the watch reports that."""
    frames = []
    with client.watch(widgetd.Selector(ids=["cpu"]), **QUICK) as watch:
        frames += [next(watch), next(watch)]
        time.sleep(SILENCE)
        with suspended(scratch.daemon_process.pid):
            frames.append(next(watch))
        client.update_widget("cpu", {"percent": 1})
        client.update_widget("cpu", {"percent": 2})
        while not isinstance(frames[-1], widgetd.frames.Changes):
            frames.append(next(watch))
    return frames


async def _watched_async(scratch):
    """The same with asyncio."""
    frames = []
    async with widgetd.AsyncClient(scratch.socket) as client:
        async with client.watch(widgetd.Selector(ids=["cpu"]), **QUICK) as watch:
            frames += [await watch.__anext__(), await watch.__anext__()]
            await asyncio.sleep(SILENCE)
            with suspended(scratch.daemon_process.pid):
                frames.append(await watch.__anext__())
            await client.update_widget("cpu", {"percent": 3})
            while not isinstance(frames[-1], widgetd.frames.Changes):
                frames.append(await watch.__anext__())
    return frames


def _refused(scratch, client):
    """The error of a watch that begins while the daemon is stopped."""
    with suspended(scratch.daemon_process.pid):
        try:
            next(client.watch(**QUICK))
        except widgetd.WidgetdError as error:
            return error
    return None


def hanging(check, scratch, client):
    loss = ["Opened", "Snapshot", "Disconnected", "Reconnected", "Opened", "Changes"]
    for name, frames in (("a watch", _watched(scratch, client)),
                         ("with asyncio, it", asyncio.run(_watched_async(scratch)))):
        check.equal(f"{name} reports a daemon that hangs, and resumes when the daemon goes on",
                    _names(frames), loss)
        error = getattr(frames[2], "error", None)
        check.that("the error names the socket and the next step",
                   isinstance(error, widgetd.Unresponsive) and scratch.socket in str(error)
                   and "does not answer within 10 s" in str(error)
                   and "continue or restart it" in str(error), error)
    error = _refused(scratch, client)
    check.that("a watch that begins while the daemon hangs is refused",
               isinstance(error, widgetd.Unresponsive), error)
    lever = widgetd.Kind("lever", data=[widgetd.Field("turn", "int", 0)])
    client.create_widget("lever", "hanging")
    with widgetd.Provider("py-hanging", [lever], scratch.socket, **QUICK) as provider:
        asked = next(each for each in provider if isinstance(each, widgetd.DataRequest))
        provider.answer(asked, {"turn": 1})
        with suspended(scratch.daemon_process.pid):
            check.equal("a change does not wait for a daemon that hangs",
                        provider.update("hanging", {"turn": 2}), None)
            lost = next(each for each in provider if isinstance(each, widgetd.Disconnected))
            check.that("a provider reports a daemon that hangs",
                       isinstance(lost.error, widgetd.Unresponsive), lost)
        asked = next(each for each in provider if isinstance(each, widgetd.DataRequest))
        provider.answer(asked, {"turn": 3})
        check.equal("a provider provides again when the daemon goes on",
                    client.get_widget("hanging").data, {"turn": 3})
    client.delete_widget("hanging")
    client.delete_kind("lever")
