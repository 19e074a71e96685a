"""A session of a provider in the suite. Every frame is checked against section 15 of
docs/PROTOCOL.md.

`ProvideReader` keeps what the client has said and what it is owed for that. That each frame with an
id gets exactly one result and those come in order, that events ascend and no more of them come than
may be unacknowledged, that a data request's number is never another widget's: all of it is checked
with every frame, whatever the scenario is about.
"""

from collections import deque

from suite import messages
from suite.drivers import Answer, Driver, Failed
from suite.messages import Document
from suite.streams import Reader

# The client's frames that have a result.
WITH_RESULT = {"kinds", "update", "acknowledge", "answer"}


class ProvideReader(Reader):
    """A stream of Provide."""

    request = "widgetd.v1.ProvideRequest"
    response = "widgetd.v1.ProvideResponse"

    def __init__(self, driver: Driver, number: int, unacknowledged_max: int) -> None:
        super().__init__(driver, number)
        self.unacknowledged_max = unacknowledged_max
        # Whether the client sends no more, and whether the end has come.
        self.is_finished = self.is_over = False
        # The ids of frames that may still get a result, also 0; in order.
        self.owed: deque[int] = deque()
        # The last sequence numbers of events and gaps that came and are not acknowledged.
        self.unacknowledged: list[int] = []
        # The widget of each data request.
        self.asked: dict[int, str] = {}

    def said(self, frame: Document) -> None:
        """Notes a frame that the client is about to send."""
        (kind, content), = frame.items()
        if kind in WITH_RESULT:
            self.owed.append(content.get("id", 0))
        if kind == "acknowledge":
            sequence = content.get("sequence", 0)
            self.unacknowledged = [each for each in self.unacknowledged if each > sequence]

    def next(self) -> tuple[str, Document] | Answer:
        """The next frame as its kind and its content, or the end. An error's code is its name."""
        frame = super().next()
        if isinstance(frame, Answer):
            self.is_over = True
            missing = [each for each in self.owed if each]
            if frame.ok and self.is_finished and missing:
                raise Failed(f"the conversation ended without a result for {missing}")
            return frame
        kind, content = frame
        if kind == "result" and "error" in content:
            content["error"]["code"] = messages.CODES[content["error"].get("code", 0)]
        return kind, content

    def _check(self, kind: str, message: Document) -> None:
        content = message[kind]
        if kind == "opened":
            self._opens(message)
            self.last_sequence = content.get("first_sequence", 0) - 1
        elif kind == "result":
            self._result(content)
        elif kind in ("event", "gap"):
            if kind == "event":
                self._events("events", {"events": [content]})
            else:
                self._events(kind, content)
            self.unacknowledged.append(self.last_sequence or 0)
            if len(self.unacknowledged) > self.unacknowledged_max:
                raise Failed(f"{len(self.unacknowledged)} events that are not acknowledged")
        elif kind == "data_request":
            widget = content["widget"]["id"]
            if self.asked.setdefault(content.get("id", 0), widget) != widget:
                raise Failed(f"data request {content.get('id', 0)} was one of another widget")

    def _result(self, content: Document) -> None:
        number, error = content.get("id", 0), content.get("error")
        # Results of frames without an id are sent only for failures.
        while self.owed and number and self.owed[0] == 0:
            self.owed.popleft()
        if not self.owed or self.owed[0] != number:
            raise Failed(f"a result for {number}, expected one for {list(self.owed)}")
        self.owed.popleft()
        if error is None:
            if number == 0:
                raise Failed("a result for a frame without an id, which did not fail")
        elif not (error.get("code") and error.get("reason") and error.get("message")):
            raise Failed(f"an error without its code, reason or words: {error}")
