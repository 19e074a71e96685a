"""The detection of a daemon that hangs or is stopped, for streams.

Such a daemon keeps its connections, and accepts new ones, but sends nothing. `Liveness` decides when
the daemon is asked and when it is lost, without I/O. `LivenessCheck` does this in a thread, and
`AsyncLivenessCheck` in a task. gRPC's own keepalive is not used: its timeouts differ between versions.

Any answer shows that the daemon runs, so the daemon may refuse the question. A call that fails
because the connection is lost decides nothing, because the stream then ends by itself.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional

import grpc
import grpc.aio

from . import methods
from .errors import Unresponsive

#: The longest single wait in seconds. Locks cannot wait for arbitrary times.
_WAIT_MAX = 86_400.0


@dataclass(frozen=True)
class LivenessPolicy:
    """The times for the question to a silent daemon and for its answer.

    After `quiet_max` without a frame, the stream makes a small call. If no answer comes within
    `answer_max`, the connection counts as lost, with `Unresponsive` as the reason, and the stream
    connects again. The request that opens the stream wants an answer within `answer_max`, too.

    Raises ValueError if a time is not above 0.
    """

    #: Seconds without a frame before the daemon is asked.
    quiet_max: float = 60.0
    #: The longest wait for an answer, in seconds.
    answer_max: float = 5.0

    def __post_init__(self) -> None:
        for name, seconds in (("quiet_max", self.quiet_max), ("answer_max", self.answer_max)):
            if not seconds > 0:
                raise ValueError(f"{name} is {seconds}; use seconds above 0, or liveness=None")


class Liveness:
    """The state of the check of one connection. Any thread may call `heard`."""

    def __init__(self, policy: LivenessPolicy, now: Callable[[], float] = time.monotonic) -> None:
        self.policy = policy
        self.is_lost = False
        self._now = now
        # The request that opens the stream is the first question.
        self._asked_at = now()
        self._heard_at = -math.inf

    def heard(self) -> None:
        """Notes that the daemon has sent something."""
        self._heard_at = self._now()

    def answered(self, code: grpc.StatusCode) -> None:
        """Notes that the question has ended with this code."""
        if code is not grpc.StatusCode.DEADLINE_EXCEEDED:
            self.heard()

    def steps(self) -> Iterator[Optional[float]]:
        """What to do next: wait for this many seconds, or with None ask the daemon, for at most
        `answer_max`. Ends when the daemon is lost."""
        yield min(self.policy.answer_max, _WAIT_MAX)
        while self._heard_at >= self._asked_at:
            left = self._heard_at + self.policy.quiet_max - self._now()
            if left > 0:
                yield min(left, _WAIT_MAX)
            else:
                self._asked_at = self._now()
                yield None
        self.is_lost = True


class _Check:
    """The part of a check that the stream has. It does not keep the stream alive, and the thread or
    task does not keep it alive. So a stream that the program has dropped ends."""

    def __init__(self, policy: LivenessPolicy) -> None:
        self._liveness = Liveness(policy)

    @property
    def is_lost(self) -> bool:
        return self._liveness.is_lost

    def heard(self) -> None:
        """A frame came."""
        self._liveness.heard()

    def error(self, path: str) -> Unresponsive:
        """The reason of the loss."""
        return Unresponsive(path, self._liveness.policy.answer_max)


class LivenessCheck(_Check):
    """Checks a stream in a thread, and cancels the stream if the daemon is lost."""

    def __init__(self, policy: LivenessPolicy, channel: grpc.Channel, stream: Any) -> None:
        super().__init__(policy)
        self._ended = threading.Event()
        threading.Thread(
            target=_check,
            args=(self._liveness, self._ended, channel, stream),
            name="widgetd-liveness",
            daemon=True,
        ).start()

    def end(self) -> None:
        self._ended.set()

    __del__ = end


def _check(
    liveness: Liveness, ended: threading.Event, channel: grpc.Channel, stream: Any
) -> None:
    ask: Any = channel.unary_unary(methods.CHECK_HEALTH.path, None, None)
    for wait in liveness.steps():
        if wait is not None:
            if ended.wait(wait):
                return
            continue
        try:
            ask(b"", timeout=liveness.policy.answer_max)
            liveness.heard()
        except grpc.RpcError as error:
            call: Any = error
            liveness.answered(call.code())
        except ValueError:  # The channel was closed meanwhile.
            return
    if not ended.is_set():
        stream.cancel()


class AsyncLivenessCheck(_Check):
    """Checks a stream in a task, and cancels the stream if the daemon is lost."""

    def __init__(self, policy: LivenessPolicy, channel: grpc.aio.Channel, stream: Any) -> None:
        super().__init__(policy)
        self._task = asyncio.ensure_future(_check_async(self._liveness, channel, stream))

    def end(self) -> None:
        self._task.cancel()

    def __del__(self) -> None:
        if not self._task.get_loop().is_closed():
            self._task.cancel()


async def _check_async(liveness: Liveness, channel: grpc.aio.Channel, stream: Any) -> None:
    ask: Any = channel.unary_unary(methods.CHECK_HEALTH.path, None, None)
    for wait in liveness.steps():
        if wait is not None:
            await asyncio.sleep(wait)
            continue
        try:
            await ask(b"", timeout=liveness.policy.answer_max)
            liveness.heard()
        except grpc.aio.AioRpcError as error:
            liveness.answered(error.code())
        except grpc.aio.UsageError:  # The channel was closed meanwhile.
            return
    stream.cancel()
