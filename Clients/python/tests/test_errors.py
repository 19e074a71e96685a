import os
import socket
import tempfile
import unittest

import widgetd
from widgetd import errors
from widgetd._address import socket_path, target

from .fake import FakeDaemon, Status


class StatusTests(unittest.TestCase):
    def test_a_status_becomes_the_class_of_its_reason_with_all_details(self):
        status = Status(
            8,
            "Too many.",
            "QUOTA_EXCEEDED",
            limit="widgets_max",
            maximum="3",
            violations=[("widget.id", "is too long")],
            retry=1.5,
        )
        error = errors.call_error(8, "words", status.encoded())
        self.assertIs(type(error), widgetd.QuotaExceeded)
        self.assertIsInstance(error, widgetd.ResourceExhausted)
        self.assertEqual(
            (error.code, error.reason), (widgetd.Code.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED")
        )
        self.assertEqual(error.message, "Too many.")
        self.assertEqual(error.metadata, {"limit": "widgets_max", "maximum": "3"})
        self.assertEqual(error.violations, (("widget.id", "is too long"),))
        self.assertEqual(error.retry_delay, 1.5)
        self.assertEqual(error.status, status.encoded())
        self.assertIn("Too many. (RESOURCE_EXHAUSTED: QUOTA_EXCEEDED)", str(error))

    def test_a_wrong_field_is_named_once(self):
        violations = [("id", "must be text"), ("kind", "is missing")]
        error = errors.call_error(
            3, "", Status(3, "id: must be text", "INVALID_FIELD", violations=violations).encoded()
        )
        self.assertEqual(
            str(error), "id: must be text (INVALID_ARGUMENT: INVALID_FIELD); kind: is missing"
        )

    def test_errors_about_kinds_have_their_own_classes(self):
        for code, reason, kind, base in (
            (5, "BLOB_NOT_FOUND", widgetd.BlobNotFound, widgetd.NotFound),
            (5, "KIND_NOT_FOUND", widgetd.KindNotFound, widgetd.NotFound),
            (6, "KIND_CLAIMED", widgetd.KindClaimed, widgetd.AlreadyExists),
            (9, "REDUCER_FAILED", widgetd.ReducerFailed, widgetd.FailedPrecondition),
            (5, "NODE_NOT_FOUND", widgetd.NodeNotFound, widgetd.NotFound),
            (9, "NODE_HIDDEN", widgetd.NodeHidden, widgetd.FailedPrecondition),
            (9, "NODE_DISABLED", widgetd.NodeDisabled, widgetd.FailedPrecondition),
        ):
            error = errors.call_error(code, "", Status(code, "No.", reason, kind="k").encoded())
            self.assertIs(type(error), kind)
            self.assertIsInstance(error, base)
            self.assertEqual(error.metadata, {"kind": "k"})

    def test_the_code_decides_for_an_unknown_reason(self):
        error = errors.call_error(9, "", Status(9, "No.", "BRAND_NEW").encoded())
        self.assertIs(type(error), widgetd.FailedPrecondition)
        self.assertEqual(error.reason, "BRAND_NEW")

    def test_the_code_decides_for_a_known_reason_with_another_code(self):
        error = errors.call_error(9, "", Status(9, "No.", "WIDGET_NOT_FOUND").encoded())
        self.assertIs(type(error), widgetd.FailedPrecondition)

    def test_a_reason_of_another_domain_is_not_one_of_widgetd(self):
        error = errors.call_error(5, "", Status(5, "No.", "WIDGET_NOT_FOUND", "other").encoded())
        self.assertEqual((type(error), error.reason), (widgetd.NotFound, ""))

    def test_bytes_that_are_not_a_status_are_ignored(self):
        error = errors.call_error(5, "words", b"\xff\xff")
        self.assertEqual(
            (type(error), error.message, error.status), (widgetd.NotFound, "words", None)
        )

    def test_every_code_has_its_own_class(self):
        classes = {type(errors.call_error(code, "", None)) for code in range(1, 17)}
        self.assertEqual(len(classes), 16)
        self.assertEqual(errors.call_error(99, "", None).code, widgetd.Code.UNKNOWN)

    def test_it_comes_over_the_wire_in_the_trailer(self):
        with FakeDaemon() as daemon, widgetd.Client(daemon.path) as client:
            daemon.answers["GetWidget"] = Status(5, "Nö.", "WIDGET_NOT_FOUND", widget_id="x")
            with self.assertRaises(widgetd.WidgetNotFound) as caught:
                client.get_widget("x")
            self.assertEqual(caught.exception.metadata, {"widget_id": "x"})
            self.assertEqual(caught.exception.message, "Nö.")


class ConnectionTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def failure(self, path):
        with widgetd.Client(path) as client, self.assertRaises(widgetd.ConnectionFailed) as caught:
            client.get_stats()
        return str(caught.exception)

    def test_no_socket_says_so_and_what_to_do(self):
        path = os.path.join(self.folder, "none")
        self.assertEqual(
            self.failure(path),
            f"cannot connect to the daemon at {path}: there is no such "
            "socket; is widgetd running, and is this its socket?",
        )

    def test_a_stale_socket_says_so(self):
        path = os.path.join(self.folder, "stale")
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(path)
        self.assertIn("no program listens there", self.failure(path))

    def test_a_path_that_is_too_long_fails_before_anything_else(self):
        with self.assertRaises(widgetd.ConnectionFailed) as caught:
            widgetd.Client("/" + "x" * 103)
        self.assertIn("103 bytes", str(caught.exception))
        self.assertEqual(len(socket_path("/" + "x" * 102)), 103)

    def test_a_watch_raises_at_once_if_there_is_no_daemon_at_the_beginning(self):
        with widgetd.Client(os.path.join(self.folder, "none")) as client:
            with self.assertRaises(widgetd.ConnectionFailed):
                next(client.watch())

    def test_the_socket_is_searched_in_the_places_of_widgetctl(self):
        runtime = os.path.join(self.folder, "widgetd")
        os.mkdir(runtime)
        with self.assertRaises(widgetd.SocketNotFound) as caught:
            socket_path(None, {"XDG_RUNTIME_DIR": self.folder})
        self.assertEqual(caught.exception.tried[0], os.path.join(runtime, "widgetd.sock"))
        self.assertEqual(caught.exception.tried[-1], "/run/widgetd/widgetd.sock")
        open(os.path.join(runtime, "widgetd.sock"), "w").close()
        found = socket_path(None, {"XDG_RUNTIME_DIR": self.folder})
        self.assertEqual(found, os.path.join(runtime, "widgetd.sock"))
        self.assertEqual(socket_path(None, {"WIDGETD_SOCKET": "unix:///a/b"}), "/a/b")
        self.assertEqual(socket_path("unix:/c", {"WIDGETD_SOCKET": "/a/b"}), "/c")

    def test_special_characters_of_a_uri_are_escaped(self):
        self.assertEqual(target("/a b%?#"), "unix:/a%20b%25%3F%23")

    def test_a_closed_client_says_so(self):
        with FakeDaemon() as daemon:
            client = widgetd.Client(daemon.path)
            client.close()
            with self.assertRaisesRegex(widgetd.WidgetdError, "was closed"):
                client.get_stats()
