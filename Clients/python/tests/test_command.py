"""`python -m widgetd`, the README's snippet and the conformance driver, as processes."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import unittest

from widgetd import messages as pb

from .fake import (
    HANG,
    PATIENCE,
    FakeDaemon,
    Status,
    added,
    changes,
    chunk,
    events,
    opened,
    synced,
    updated,
    widget,
)

README = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "README.md")


class ProcessCase(unittest.TestCase):
    def setUp(self):
        self.daemon = FakeDaemon()
        self.addCleanup(self.daemon.close)

    def start(self, *arguments, **options):
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("WIDGETD_", "XDG_"))
        }
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            text=True,
            env={**environment, "WIDGETD_SOCKET": self.daemon.path, **options.pop("env", {})},
            **options,
        )

        def end():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe and not pipe.closed:
                    pipe.close()

        self.addCleanup(end)
        return process

    def run_command(self, *arguments, **options):
        process = self.start("-m", "widgetd", *arguments, **options)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def script(self, *steps):
        self.daemon.scripts.put(steps)


class CommandTests(ProcessCase):
    def test_ls_prints_a_table_or_a_widget_a_line(self):
        page = pb.ListWidgetsResponse(widgets=[widget("a", n=1), widget("bb", 1)])
        page.widgets[1].data["t"].string_value = "\x1b[31mred"
        # An empty list would take the room of other data.
        page.widgets[1].data["rows"].list_value.SetInParent()
        self.daemon.answers["ListWidgets"] = page
        status, out, err = self.run_command("ls", "-l", "panel=top", "--kind", "k")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(
            out.splitlines(),
            [
                "ID  KIND  STATE    DATA",
                "a   k     visible  n=1",
                'bb  k     visible  t="\\u001b[31mred"',
            ],
        )
        _, asked = self.daemon.call(pb.ListWidgetsRequest)
        self.assertEqual((asked.selector.labels[0].key, asked.selector.kinds), ("panel", ["k"]))
        status, out, _ = self.run_command("ls", "--json")
        self.assertEqual([json.loads(line)["id"] for line in out.splitlines()], ["a", "bb"])

    def test_get_prints_one(self):
        self.daemon.answers["GetWidget"] = pb.GetWidgetResponse(widget=widget("a", n=1))
        status, out, _ = self.run_command("get", "a", "--json")
        self.assertEqual(status, 0)
        document = json.loads(out)
        self.assertEqual((document["data"], document["state"]), ({"n": 1}, "visible"))
        self.assertIn('data: {"n":1}', self.run_command("get", "a")[1])

    def test_send_reads_values_as_json_or_else_as_text(self):
        self.daemon.answers["SendEvent"] = pb.SendEventResponse(sequence=3, revision=2)
        status, out, _ = self.run_command("send", "a", "click", "n=1", "who=Ada", "--json")
        self.assertEqual((status, json.loads(out)), (0, {"sequence": 3, "revision": 2}))
        _, asked = self.daemon.call(pb.SendEventRequest)
        self.assertEqual(
            (asked.payload["n"].int_value, asked.payload["who"].string_value), (1, "Ada")
        )
        self.assertEqual(self.run_command("send", "a", "click", "what")[0], 2)

    def test_errors_name_the_reason_and_the_next_step(self):
        self.daemon.answers["GetWidget"] = Status(
            8, "The limit x is reached. Remove widgets.", "QUOTA_EXCEEDED", limit="x"
        )
        status, out, err = self.run_command("get", "x")
        told = (
            "widgetd: The limit x is reached. Remove widgets. "
            "(RESOURCE_EXHAUSTED: QUOTA_EXCEEDED)\n"
        )
        self.assertEqual((status, out, err), (9, "", told))
        status, _, err = self.run_command("get", "x", "--json")
        self.assertEqual(json.loads(err)["error"]["reason"], "QUOTA_EXCEEDED")

    def test_a_missing_widget_is_answered_with_a_command(self):
        self.daemon.answers["GetWidget"] = Status(
            5,
            'There is no widget "a". `widgetctl ls` lists all widgets.',
            "WIDGET_NOT_FOUND",
            widget_id="a",
        )
        status, out, err = self.run_command("get", "a")
        told = (
            'widgetd: There is no widget "a". `python -m widgetd ls` lists all widgets. '
            "(NOT_FOUND: WIDGET_NOT_FOUND)\n"
        )
        self.assertEqual((status, out, err), (3, "", told))
        status, _, err = self.run_command("get", "a", "--json")
        self.assertEqual(json.loads(err)["error"]["reason"], "WIDGET_NOT_FOUND")

    def test_common_options_may_be_before_or_after_the_command(self):
        self.daemon.answers["ListWidgets"] = pb.ListWidgetsResponse(widgets=[widget("a")])
        for arguments in (
            ("--json", "--socket", self.daemon.path, "ls"),
            ("ls", "--json", "--socket", self.daemon.path),
            ("--socket", self.daemon.path, "ls", "--json"),
        ):
            status, out, err = self.run_command(*arguments, env={"WIDGETD_SOCKET": "/nowhere"})
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(json.loads(out)["id"], "a")

    def test_watch_names_the_widgets_that_do_not_exist_yet(self):
        self.script(opened(), chunk(widget("a")), synced(1))
        status, _, err = self.run_command("watch", "a", "b", "c")
        self.assertEqual(status, 0)
        self.assertEqual(
            err,
            'widgetd: no widget "b" yet; waiting for it\n'
            'widgetd: no widget "c" yet; waiting for it\n',
        )

    def test_without_a_daemon_it_says_what_to_do(self):
        self.daemon.stop()
        status, _, err = self.run_command("watch", "--socket", self.daemon.path + "x")
        self.assertEqual(status, 7)
        self.assertIn("there is no such socket; is widgetd running", err)
        self.assertEqual(len(err.splitlines()), 1)
        status, _, err = self.run_command(
            "ls", env={"WIDGETD_SOCKET": "", "XDG_RUNTIME_DIR": "/none"}
        )
        self.assertEqual(status, 7)
        self.assertIn("Start widgetd, or name its socket in $WIDGETD_SOCKET", err)

    def test_watch_prints_a_frame_a_line_at_once(self):
        go = threading.Event()
        self.addCleanup(go.set)
        self.script(
            opened(),
            chunk(widget("a", n=1)),
            synced(1),
            go,
            changes(1, 2, updated("a", 2, n=2), added(widget("b")), more=True),
            changes(1, 3),
            events(4),
            HANG,
        )
        process = self.start("-m", "widgetd", "watch", "--json", "--events")
        read = [json.loads(process.stdout.readline()) for _ in range(3)]
        self.assertEqual([d["type"] for d in read], ["opened", "snapshot", "synced"])
        go.set()
        change, event = (json.loads(process.stdout.readline()) for _ in range(2))
        self.assertEqual((change["fromRevision"], change["toRevision"]), (1, 3))
        self.assertEqual(
            change["changes"][0], {"updated": {"id": "a", "revision": 2, "setData": {"n": 2}}}
        )
        self.assertEqual(change["changes"][1]["added"]["widget"]["id"], "b")
        self.assertEqual((event["type"], event["sequence"]), ("event", 4))

    def test_watch_prints_what_changes_for_people(self):
        self.script(
            opened(), chunk(widget("a", n=1)), synced(1), changes(1, 2, updated("a", 2, n=2))
        )
        status, out, err = self.run_command("watch")
        self.assertEqual((status, out, err), (0, "+ a  visible  n=1\n~ a  visible  n=2\n", ""))

    def test_an_interrupt_ends_it_silently(self):
        # A script ignores SIGINT in background processes, and this process would inherit that.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.script(opened(), synced(1), HANG)
        process = self.start("-m", "widgetd", "watch", "--json")
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, err), (-signal.SIGINT, ""))

    def test_a_closed_pipe_ends_it_silently_even_without_new_output(self):
        self.script(opened(), synced(1), HANG)
        process = self.start("-m", "widgetd", "watch", "--json")
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertEqual(process.stderr.read(), "")

    def test_a_closed_pipe_ends_a_list_silently(self):
        big = pb.ListWidgetsResponse(
            widgets=[widget(f"w{n}") for n in range(1000)], next_page_token="x"
        )
        self.daemon.answers["ListWidgets"] = big  # The list has no end.
        process = self.start("-m", "widgetd", "ls", "--json")
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertEqual(process.stderr.read(), "")

    def test_output_that_cannot_be_written_is_named(self):
        self.daemon.answers["ListWidgets"] = pb.ListWidgetsResponse(widgets=[widget("a")])
        with open("/dev/full", "w", encoding="ascii") as full:
            process = self.start("-m", "widgetd", "ls", stdout=full)
        self.assertEqual(process.wait(PATIENCE), 1)
        self.assertEqual(
            process.stderr.read(),
            "widgetd: cannot write the output: No space left on device\n",
        )

    def test_health(self):
        from widgetd._proto.health import health_pb2

        self.daemon.answers["Check"] = health_pb2.HealthCheckResponse(status=1)
        self.assertEqual(self.run_command("health"), (0, "serving\n", ""))
        self.daemon.answers["Check"] = health_pb2.HealthCheckResponse(status=2)
        self.assertEqual(self.run_command("health")[0], 7)


def readme_snippets():
    with open(README, encoding="utf-8") as file:
        return re.findall(r"```python\n(.*?)```", file.read(), re.S)


class ReadmeTests(ProcessCase):
    def test_its_first_snippet_follows_state_in_five_lines(self):
        snippet = readme_snippets()[0]
        self.assertLessEqual(len([line for line in snippet.splitlines() if line.strip()]), 5)
        self.script(
            opened(), chunk(widget("a", n=1)), synced(1), changes(1, 2, updated("a", 2, n=2))
        )
        process = self.start("-c", snippet)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, err), (0, ""))
        self.assertEqual(out, "1 {'a': {'n': 1}}\n2 {'a': {'n': 2}}\n")

    def test_the_others_are_python(self):
        for snippet in readme_snippets():
            # The flag allows await at the top level.
            compile(snippet, "README.md", "exec", flags=0x2000)


class DriverTests(ProcessCase):
    def setUp(self):
        super().setUp()
        self.driver = self.start(
            "-m", "widgetd._conformance", self.daemon.path, stdin=subprocess.PIPE
        )

    def say(self, *words):
        self.driver.stdin.write(" ".join(words) + "\n")
        self.driver.stdin.flush()

    def hear(self):
        return self.driver.stdout.readline().split()

    def test_calls(self):
        self.say("supports")
        self.assertIn("follow", self.hear())
        self.daemon.answers["GetWidget"] = pb.GetWidgetResponse(widget=widget("a"))
        self.say("call", "1", "widgetd.v1.WidgetService/GetWidget", "0", "-")
        self.assertEqual(
            self.hear(),
            ["answer", "1", "ok", self.daemon.answers["GetWidget"].SerializeToString().hex()],
        )
        refusal = self.daemon.answers["GetWidget"] = Status(5, "No.", "WIDGET_NOT_FOUND")
        self.say("call", "2", "widgetd.v1.WidgetService/GetWidget", "9000", "0a0178")
        self.assertEqual(
            self.hear(), ["answer", "2", "error", "NOT_FOUND", refusal.encoded().hex()]
        )
        self.say("call", "3", "widgetd.v1.WidgetService/GetWidget", "-5", "-")
        self.assertEqual(self.hear(), ["answer", "3", "error", "DEADLINE_EXCEEDED", "-"])
        self.say("quit")
        self.assertEqual(self.driver.wait(PATIENCE), 0)

    def test_streams(self):
        self.script(opened(), synced(1), HANG)
        self.say("open", "1", "widgetd.v1.WidgetService/WatchWidgets", "0", "-")
        self.assertEqual(
            [self.hear() for _ in range(2)],
            [["frame", "1", m.SerializeToString().hex()] for m in (opened(), synced(1))],
        )
        self.say("cancel", "1")
        self.assertEqual(self.hear(), ["end", "1", "error", "CANCELLED", "-"])
        refusal = Status(11, "Gone.", "REVISION_COMPACTED")
        self.script(refusal)
        self.say("open", "2", "widgetd.v1.WidgetService/WatchWidgets", "0", "-")
        self.assertEqual(
            self.hear(), ["end", "2", "error", "OUT_OF_RANGE", refusal.encoded().hex()]
        )

    def test_a_paused_stream_prints_nothing_until_it_continues(self):
        go = threading.Event()
        self.addCleanup(go.set)
        self.script(opened(), go, synced(1))
        self.say("open", "1", "widgetd.v1.WidgetService/WatchWidgets", "0", "-")
        self.hear()
        self.say("pause", "1")
        self.assertEqual(self.hear(), ["paused", "1"])
        go.set()
        self.say("continue", "1")
        self.assertEqual(self.hear(), ["continued", "1"])
        self.assertEqual(self.hear()[0:2], ["frame", "1"])
        self.assertEqual(self.hear(), ["end", "1", "ok", "-"])

    def test_following_goes_on(self):
        self.script(opened(), chunk(widget("a")), synced(1), Status(14, "Bye.", "SHUTTING_DOWN"))
        self.script(opened(), changes(1, 2, updated("a", 2, n=2)), HANG)
        self.say("follow", "1", "-")
        kinds = [
            pb.WatchWidgetsResponse.FromString(bytes.fromhex(self.hear()[2])).WhichOneof("frame")
            for _ in range(5)
        ]
        self.assertEqual(kinds, ["opened", "snapshot", "synced", "opened", "changes"])
        self.say("cancel", "1")
        self.assertEqual(self.hear(), ["end", "1", "error", "CANCELLED", "-"])
