"""The calls of both clients against a scripted daemon: names, pages, deadlines, retries and errors."""

import asyncio
import inspect
import threading
import unittest.mock

import widgetd
from widgetd import methods
from widgetd import messages as pb
from widgetd._channel import can_be_repeated
from widgetd._requests import PIECE_BYTES

from .daemon_case import DaemonCase, names
from .fake import Status, widget


class ClientTests(DaemonCase):
    def test_there_is_a_method_for_every_rpc(self):
        from widgetd._proto.v1 import admin_service_pb2, catalog_service_pb2, widget_service_pb2

        known = {m.path for m in vars(methods).values() if isinstance(m, methods.Method)}
        for file, name in (
            (widget_service_pb2, "WidgetService"),
            (catalog_service_pb2, "CatalogService"),
            (admin_service_pb2, "AdminService"),
        ):
            for rpc in file.DESCRIPTOR.services_by_name[name].methods:
                self.assertIn(f"/widgetd.v1.{name}/{rpc.name}", known)
                called = "".join("_" + c.lower() if c.isupper() else c for c in rpc.name).lstrip(
                    "_"
                )
                called = {"watch_widgets": "watch"}.get(called, called)
                self.assertTrue(callable(getattr(widgetd.Client, called)), called)

    def test_messages_has_the_messages_of_every_rpc(self):
        for method in vars(methods).values():
            if isinstance(method, methods.Method) and method.service.startswith("widgetd."):
                for message in (method.request, method.response):
                    self.assertIs(getattr(pb, message.__name__, None), message)

    def test_both_clients_have_the_same_methods_and_arguments(self):
        def shape(of):
            found = {}
            for name, method in inspect.getmembers(of, inspect.isfunction):
                if not name.startswith("_"):
                    found[name] = [
                        (p.name, p.kind, p.default if p.name != "retry" else None)
                        for p in inspect.signature(method).parameters.values()
                    ]
            return found

        self.assertEqual(shape(widgetd.Client), shape(widgetd.AsyncClient))

    def test_all_widgets_are_read_page_by_page(self):
        def answer(request):
            at = int(pb.ListWidgetsRequest.FromString(request).page_token or 0)
            token = str(at + 1) if at < 2 else ""
            return pb.ListWidgetsResponse(widgets=[widget(f"w{at}")], next_page_token=token)

        self.daemon.answers["ListWidgets"] = answer
        self.assertEqual([w.id for w in self.client.widgets()], ["w0", "w1", "w2"])

    def test_a_list_without_end_is_an_error(self):
        def circle(request):
            token = pb.ListWidgetsRequest.FromString(request).page_token
            return pb.ListWidgetsResponse(next_page_token="b" if token == "a" else "a")

        def more(request):
            number = int(pb.ListKindsRequest.FromString(request).page_token or 0)
            return pb.ListKindsResponse(next_page_token=str(number + 1))

        self.daemon.answers["ListWidgets"] = circle
        with self.assertRaisesRegex(widgetd.ProtocolError, "an earlier page"):
            list(self.client.widgets())
        self.daemon.answers["ListKinds"] = more
        with unittest.mock.patch("widgetd._pages.PageTokens.COUNT_MAX", 50):
            with self.assertRaisesRegex(widgetd.ProtocolError, "more than 50 pages"):
                list(self.client.kinds())

    def test_all_kinds_are_read_page_by_page(self):
        pages = {"": "a", "a": "b", "b": "c"}

        def answer(request):
            name = pages[pb.ListKindsRequest.FromString(request).page_token]
            token = name if name in pages else ""
            return pb.ListKindsResponse(kinds=[pb.Kind(name=name)], next_page_token=token)

        async def names():
            async with widgetd.AsyncClient(self.relay.path) as client:
                return [kind.name async for kind in client.kinds()]

        self.daemon.answers["ListKinds"] = answer
        self.assertEqual([kind.name for kind in self.client.kinds()], ["a", "b", "c"])
        self.assertEqual(asyncio.run(names()), ["a", "b", "c"])

    def blob_pieces(self, second):
        """Answers the first piece of a file, and calls `second` for the next one. Returns a file of
        two pieces."""

        def answer(request):
            asked = pb.UploadBlobRequest.FromString(request)
            refusal = second() if asked.blob_id else None
            return refusal or pb.UploadBlobResponse(blob_id="b", size=len(asked.data))

        self.daemon.answers["UploadBlob"] = answer
        return bytes(PIECE_BYTES + 1)

    def deleted_blob(self):
        """The blob of the call after both pieces."""
        for _ in range(2):
            self.assertEqual(self.daemon.calls.get()[0], "/widgetd.v1.BlobService/UploadBlob")
        path, request = self.daemon.call(pb.DeleteBlobRequest)
        self.assertEqual(path, "/widgetd.v1.BlobService/DeleteBlob")
        return request.blob_id

    def test_a_failed_upload_deletes_its_part_and_raises_its_error(self):
        data = self.blob_pieces(lambda: Status(8, "full", "QUOTA_EXCEEDED"))

        async def upload():
            async with widgetd.AsyncClient(self.relay.path) as client:
                await client.upload(data)

        # A failed deletion does not hide the error of the upload.
        for deletion in (pb.DeleteBlobResponse(), Status(5, "gone", "BLOB_NOT_FOUND")):
            self.daemon.answers["DeleteBlob"] = deletion
            for make in (lambda: self.client.upload(data), lambda: asyncio.run(upload())):
                with self.assertRaises(widgetd.QuotaExceeded):
                    make()
                self.assertEqual(self.deleted_blob(), "b")
                self.assertTrue(self.daemon.calls.empty())

    def test_an_upload_without_a_first_piece_deletes_nothing(self):
        self.daemon.answers["UploadBlob"] = Status(8, "full", "QUOTA_EXCEEDED")
        with self.assertRaises(widgetd.QuotaExceeded):
            self.client.upload(b"x")
        self.daemon.calls.get()
        self.assertTrue(self.daemon.calls.empty())

    def test_a_cancelled_upload_deletes_its_part(self):
        arrived, over = threading.Event(), threading.Event()
        self.addCleanup(over.set)

        def wait():
            arrived.set()
            over.wait()

        data = self.blob_pieces(wait)

        async def cancel():
            async with widgetd.AsyncClient(self.relay.path) as client:
                upload = asyncio.create_task(client.upload(data))
                await asyncio.get_running_loop().run_in_executor(None, arrived.wait)
                upload.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await upload

        asyncio.run(cancel())
        self.assertEqual(self.deleted_blob(), "b")

    def test_the_same_request_has_the_same_bytes(self):
        data = {f"key{n}": n for n in range(50)}
        for order in (data, dict(reversed(list(data.items())))):
            self.client.update_widget("a", order, request_id="r")
        first, second = (self.daemon.calls.get()[1] for _ in range(2))
        self.assertEqual(first, second)

    def test_a_call_ends_at_its_deadline(self):
        over = threading.Event()
        self.addCleanup(over.set)
        self.daemon.answers["GetWidget"] = lambda request: over.wait() or b""
        with self.assertRaises(widgetd.DeadlineExceeded) as caught:
            self.client.get_widget("a", timeout=0.05)
        self.assertIn("did not answer within 0.05 s", str(caught.exception))
        with self.assertRaises(widgetd.DeadlineExceeded):
            self.client.get_widget("a", timeout=-1)

    def test_a_lost_connection_is_reported_where_a_change_may_have_been_made(self):
        def lose(request):
            self.relay.drop()
            return b""

        self.daemon.answers["UpdateWidget"] = lose
        for make in (
            lambda: self.client.update_widget("a", {"n": 1}),
            lambda: asyncio.run(self.update()),
        ):
            with self.assertRaises(widgetd.ConnectionLost) as caught:
                make()
            self.assertIn("request id", str(caught.exception))
            self.assertEqual(self.daemon.calls.qsize(), 1)
            self.daemon.calls.get()

    async def update(self, **arguments):
        async with widgetd.AsyncClient(self.relay.path) as client:
            return await client.update_widget("a", {"n": 1}, **arguments)

    def test_a_repeatable_call_is_made_again_with_the_same_bytes(self):
        def lose_once(answer):
            left = [True]

            def answered(request):
                if left and left.pop():
                    self.relay.drop()
                return answer

            return answered

        for make in (
            lambda: self.client.update_widget("a", {"n": 1}, request_id="r"),
            lambda: asyncio.run(self.update(request_id="r")),
        ):
            self.daemon.answers["UpdateWidget"] = lose_once(pb.UpdateWidgetResponse(revision=7))
            self.assertEqual(make().revision, 7)
            asked = {self.daemon.calls.get() for _ in range(self.daemon.calls.qsize())}
            self.assertEqual(len(asked), 1)
        self.daemon.answers["GetWidget"] = lose_once(pb.GetWidgetResponse(widget=widget("a")))
        self.assertEqual(self.client.get_widget("a").id, "a")
        self.daemon.answers["GetKind"] = lose_once(pb.GetKindResponse(kind=pb.Kind(name="k")))
        self.assertEqual(self.client.get_kind("k").name, "k")
        self.daemon.answers["ListKinds"] = lose_once(pb.ListKindsResponse(revision=5))
        self.assertEqual(self.client.list_kinds().revision, 5)

    def test_repeatable_methods_are_unary_and_have_an_idempotency_level(self):
        for name, method in vars(methods).items():
            if not isinstance(method, methods.Method) or method.service.startswith("grpc."):
                continue
            file = method.request.DESCRIPTOR.file
            described = file.services_by_name[method.service.rsplit(".", 1)[1]]
            options = described.methods_by_name[method.name].GetOptions()
            repeats = options.idempotency_level != 0 and not method.is_stream
            self.assertEqual(method.is_repeatable, repeats, name)

    def test_a_call_of_a_repeatable_method_is_made_again(self):
        for method, request in (
            (methods.DIFF_BUNDLE, pb.DiffBundleRequest()),
            (methods.READ_BLOB, pb.ReadBlobRequest()),
            (methods.CHECK_HEALTH, methods.CHECK_HEALTH.request()),
            (methods.UPDATE_WIDGET, pb.UpdateWidgetRequest(request_id="r")),
        ):
            self.assertTrue(can_be_repeated(method, request), method.name)
        self.assertFalse(can_be_repeated(methods.UPDATE_WIDGET, pb.UpdateWidgetRequest()))

    def test_wrong_arguments_fail_before_anything_is_sent(self):
        for wrong in (
            lambda: self.client.move_widget("a"),
            lambda: self.client.move_widget("a", first=True, after="b"),
            lambda: self.client.set_presence("explode", all=True),
            lambda: self.client.watch(after_sequence=1),
            lambda: self.client.get_widget("\ud800"),
            lambda: self.client.apply_kinds([widgetd.Kind("k", families=["huge"])]),
            lambda: self.client.apply_kinds(
                [widgetd.Kind("k", data=[widgetd.Field("n", default=2**63)])]
            ),
            lambda: self.client.call(methods.WATCH_WIDGETS, pb.WatchWidgetsRequest()),
        ):
            with self.assertRaises(ValueError):
                wrong()
        for wrong in (
            lambda: self.client.watch(widgetd.Selector(ids="abc")),
            lambda: self.client.get_widget("a", fields="data"),
            lambda: self.client.create_widget("k", labels={"a": 1}),
            lambda: self.client.apply_kinds([widgetd.Kind("k", families="small")]),
            lambda: self.client.apply_kinds(
                [widgetd.Kind("k", reducers=[widgetd.Reducer("e", set={"n": 1})])]
            ),
            lambda: self.client.apply_kinds(
                [widgetd.Kind("k", reducers=[widgetd.Reducer("e", unset="n")])]
            ),
        ):
            with self.assertRaises(TypeError):
                wrong()
        self.assertTrue(self.daemon.calls.empty() and self.daemon.streams.empty())

    def test_an_answer_that_is_not_a_message_is_a_protocol_error(self):
        self.daemon.answers["GetWidget"] = b"\xff"
        with self.assertRaises(widgetd.ProtocolError):
            self.client.get_widget("a")
