"""Checks that print a line each, and the summary that ends a script."""

import os
import sys
import threading
import traceback

from lib.system import eventually


class Checks:
    """Use in a `with` statement; leaves the process with 1 if a check failed or the script broke."""

    def __init__(self, title):
        self.title, self.passed, self.failed = title, 0, 0
        self.skipped = []
        self.lock = threading.Lock()

    def __enter__(self):
        print(f"# {self.title}", flush=True)
        return self

    def that(self, what, holds, found=""):
        """Records one check; `found` is shown if it fails."""
        words = f"FAIL  {what}" + (f": {found}" if found != "" else "")
        # Threads can check at the same time.
        with self.lock:
            self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
            print(f"ok    {what}" if holds else words, flush=True)
        return holds

    def equal(self, what, found, expected):
        return self.that(what, found == expected, f"expected {expected!r}, found {found!r}")

    def becomes(self, what, ask, expected):
        """Waits until `ask` returns the expected value, and records the last answer."""
        found = None

        def is_expected():
            nonlocal found
            found = ask()
            return found == expected

        eventually(is_expected)
        return self.equal(what, found, expected)

    def skip(self, what, why):
        """Records a check that is not possible here; the last line names it."""
        self.skipped.append(f"{what} ({why})")
        print(f"skip  {what}: {why}", flush=True)

    def __exit__(self, kind, error, trace):
        if error is not None and kind is not SystemExit:
            if kind is KeyboardInterrupt:
                return
            self.failed += 1
            traceback.print_exception(kind, error, trace)
            print(f"FAIL  {self.title}: broke off with {kind.__name__}: {error}", flush=True)
        skipped = "; skipped: " + ", ".join(self.skipped) if self.skipped else ""
        print(f"{self.passed} passed, {self.failed} failed{skipped}", flush=True)
        sys.stdout.flush()
        os._exit(1 if self.failed else 0)
