"""The daemon that a benchmark starts with the help of the acceptance tests."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def choose_daemon(needs_grpc=False):
    """Makes `Scratch.daemon` start WIDGETD_BINARY, or else a release build.

    Ends the program if there is no such daemon. `Scratch` looks for the name widgetd in a folder, so
    a daemon of another name is refused: without that, another file of the folder would be measured.
    """
    named = os.environ.get("WIDGETD_BINARY")
    folders = [".build"] if needs_grpc else [".build", ".build/without-grpc"]
    built = [os.path.join(ROOT, folder, "release", "widgetd") for folder in folders]
    if named and os.path.basename(named) != "widgetd":
        raise SystemExit(f"WIDGETD_BINARY is {named}, but the program must have the name widgetd")
    for path in [named] if named else built:
        if os.access(path, os.X_OK):
            os.environ["WIDGETD_BINARIES"] = os.path.dirname(os.path.abspath(path))
            return
    raise SystemExit(
        f"WIDGETD_BINARY is {named}, which is no program" if named else
        "there is no release build of widgetd; run benchmarks/build, or set WIDGETD_BINARY")
