"""A scripted daemon over gRPC, and a relay that loses connections.

`FakeDaemon` answers unary calls from `answers` and streams from `scripts`, one script a stream:
each step is a message to send, a `Status` to end with, an `Event` to wait for, or HANG. It records
its requests. Nothing here waits for a clock.
"""

import os
import queue
import shutil
import socket
import tempfile
import threading
from concurrent import futures

import grpc
from widgetd import messages as pb
from widgetd._proto.health import health_pb2
from widgetd._proto.rpc import error_details_pb2, status_pb2

PATIENCE = 120.0
HANG = object()

CODES = {code.value[0]: code for code in grpc.StatusCode}


class Status(Exception):
    """How a call ends. Without a reason it carries no details, like an error of gRPC's own."""

    def __init__(
        self, code, message, reason="", domain="widgetd", violations=(), retry=None, **metadata
    ):
        self.code, self.message, self.reason, self.domain = code, message, reason, domain
        self.violations, self.retry, self.metadata = violations, retry, metadata

    def encoded(self):
        status = status_pb2.Status(code=self.code, message=self.message)
        info = error_details_pb2.ErrorInfo(
            reason=self.reason, domain=self.domain, metadata=self.metadata
        )
        details = [("ErrorInfo", info)]
        if self.violations:
            bad = error_details_pb2.BadRequest()
            for field, description in self.violations:
                bad.field_violations.add(field=field, description=description)
            details.append(("BadRequest", bad))
        if self.retry is not None:
            wait = error_details_pb2.RetryInfo()
            wait.retry_delay.FromNanoseconds(int(self.retry * 1e9))
            details.append(("RetryInfo", wait))
        for name, detail in details:
            status.details.add(
                type_url="type.googleapis.com/google.rpc." + name, value=detail.SerializeToString()
            )
        return status.SerializeToString()

    def end(self, context):
        if self.reason:
            context.set_trailing_metadata((("grpc-status-details-bin", self.encoded()),))
        context.abort(CODES[self.code], "the words of the trailer")


class FakeDaemon(grpc.GenericRpcHandler):
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="widgetd-py-")
        self.path = os.path.join(self.folder, "s")
        self.answers = {}  # by method: bytes or message, Status, or a function of the request
        self.scripts = queue.Queue()
        self.calls = queue.Queue()  # (method, encoded request)
        self.streams = queue.Queue()  # (method, encoded request)
        self.sessions = queue.Queue()  # of providers, each a Conversation
        self.server = None
        self.start()

    def start(self):
        self.server = grpc.server(futures.ThreadPoolExecutor(16), handlers=(self,))
        self.server.add_insecure_port("unix:" + self.path)
        self.server.start()

    def stop(self):
        self.server.stop(None).wait(PATIENCE)

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def service(self, details):
        method = details.method.rpartition("/")[2]
        if method == "Provide":
            return grpc.stream_stream_rpc_method_handler(self._provide)
        if method in ("WatchWidgets", "WatchEvents"):
            return grpc.unary_stream_rpc_method_handler(
                lambda request, context: self._stream(details.method, request, context)
            )
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._answer(details.method, method, request, context)
        )

    def _answer(self, path, method, request, context):
        self.calls.put((path, request))
        answer = self.answers.get(method, b"")
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Status):
            answer.end(context)
        return answer if isinstance(answer, bytes) else answer.SerializeToString()

    def _stream(self, path, request, context):
        self.streams.put((path, request))
        over = threading.Event()
        if not context.add_callback(over.set):
            over.set()
        try:
            script = self.scripts.get_nowait()
        except queue.Empty:
            Status(13, "no script is left", "INTERNAL").end(context)
        for step in script:
            if step is HANG:
                over.wait()
            elif isinstance(step, threading.Event):
                step.wait(PATIENCE)
            elif isinstance(step, Status):
                step.end(context)
            else:
                yield step.SerializeToString()

    def _provide(self, requests, context):
        conversation = Conversation(requests)
        self.sessions.put(conversation)
        # After the end of the call, nothing waits for further steps of the test.
        if not context.add_callback(lambda: (conversation.over.set(), conversation.end())):
            # The call has already ended, so nobody receives the status.
            conversation.over.set()
            return
        while True:
            step = conversation.said.get()
            if isinstance(step, Status):
                step.end(context)
            if step is None:
                return
            yield step.SerializeToString()

    def session(self):
        """The next session of a provider, and its first frame."""
        made = self.sessions.get(timeout=PATIENCE)
        return made, made.hear("open")

    # The requests.

    def request(self, kind):
        """The next stream's request."""
        return kind.FromString(self.streams.get(timeout=PATIENCE)[1])

    def call(self, kind):
        path, request = self.calls.get(timeout=PATIENCE)
        return path, kind.FromString(request)


class Conversation:
    """The daemon's side of a provider's session."""

    def __init__(self, requests):
        self.said = queue.Queue()
        self.heard = queue.Queue()
        self.over = threading.Event()
        threading.Thread(target=self._listen, args=(requests,), daemon=True).start()

    def _listen(self, requests):
        try:
            for request in requests:
                self.heard.put(pb.ProvideRequest.FromString(request))
        except Exception:  # The call has ended.
            pass

    def say(self, **frame):
        self.said.put(pb.ProvideResponse(**frame))

    def end(self, status=None):
        self.said.put(status)

    def hear(self, kind):
        """The next frame, which must be of this kind; keep_alive is passed over."""
        while True:
            frame = self.heard.get(timeout=PATIENCE)
            which = frame.WhichOneof("frame")
            if which == kind:
                return getattr(frame, kind)
            if which != "keep_alive":
                raise AssertionError(f"{which} came, not {kind}: {frame}")

    def open(self, epoch=7, lease=60, audience=False):
        self.say(
            opened=pb.ProvideOpened(
                session_id=1,
                epoch=epoch,
                revision=3,
                first_sequence=1,
                lease={"seconds": lease},
                includes_audience=audience,
            )
        )

    def accept(self, epoch=7):
        """Opens the session and accepts its kinds."""
        self.open(epoch)
        kinds = self.hear("kinds")
        result = pb.ProvideResult(id=kinds.id, revision=4)
        self.say(result=result)
        return kinds


class Relay:
    """Passes bytes on to a socket. It can close every connection at once. It can also hang: then it
    accepts bytes and connections, but passes nothing on."""

    def __init__(self, folder, to):
        self.path = os.path.join(folder, "relay")
        self.to = to
        self.pairs = []
        self._passes = threading.Event()
        self._passes.set()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self.to)
            except OSError:  # There is no daemon at the moment.
                near.close()
                far.close()
                continue
            self.pairs.append((near, far))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source, sink):
        try:
            while True:
                data = source.recv(1 << 16)
                if not data:
                    break
                self._passes.wait()
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        source.close()

    def hang(self):
        self._passes.clear()

    def go_on(self):
        self._passes.set()

    def drop(self):
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # Wakes the thread that waits in accept.
        self.listener.close()
        self.go_on()
        self.drop()


# --- Messages -------------------------------------------------------------------------------------


def value(thing):
    return pb.Value(int_value=thing)


def widget(id, position=0, revision=1, **data):
    made = pb.Widget(id=id, kind="k", position=position, revision=revision, created_revision=1)
    made.presence.CopyFrom(pb.Presence(visible=True, enabled=True, state=1))
    for key, thing in data.items():
        made.data[key].CopyFrom(value(thing))
    return made


def opened(revision=0, epoch=7, last=0, subscription=1):
    said = pb.WatchOpened(
        subscription_id=subscription, epoch=epoch, revision=revision, last_sequence=last
    )
    return pb.WatchWidgetsResponse(opened=said)


def chunk(*widgets, removed=()):
    return pb.WatchWidgetsResponse(snapshot=pb.SnapshotChunk(widgets=widgets, removed_ids=removed))


def synced(revision):
    return pb.WatchWidgetsResponse(
        synced=pb.WatchSynced(revision=revision, resume_token=b"t%d" % revision)
    )


def added(made):
    return pb.WidgetChange(added=pb.WidgetAdded(widget=made))


def updated(id, revision, **data):
    change = pb.WidgetChange(updated=pb.WidgetUpdated(id=id, revision=revision))
    for key, thing in data.items():
        change.updated.set_data[key].CopyFrom(value(thing))
    return change


def removed(id):
    return pb.WidgetChange(removed=pb.WidgetRemoved(id=id))


def changes(start, end, *items, more=False):
    made = pb.ChangeSet(from_revision=start, changes=items, more=more)
    if not more:
        made.to_revision, made.resume_token = end, b"t%d" % end
    return pb.WatchWidgetsResponse(changes=made)


def progress(revision, last=0):
    said = pb.WatchProgress(revision=revision, resume_token=b"t%d" % revision, last_sequence=last)
    return pb.WatchWidgetsResponse(progress=said)


def batch(*numbers):
    return pb.EventBatch(
        events=[pb.Event(sequence=n, widget_id="a", name="click") for n in numbers]
    )


def events(*numbers):
    return pb.WatchWidgetsResponse(events=batch(*numbers))


def gap(first, last):
    return pb.WatchWidgetsResponse(gap=pb.EventGap(first_sequence=first, last_sequence=last))


def serving():
    return health_pb2.HealthCheckResponse(status=1)
