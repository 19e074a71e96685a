"""The Python library as users install it: in environments, with the programs of its README.

The environments are in .build/python-client. Needs pip and a package index the first time.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv

from lib.protobuf import ROOT

LIBRARY = os.path.join(ROOT, "Clients", "python")
FOLDER = os.path.join(ROOT, ".build", "python-client")
BUILD = ["flit_core>=3.8,<5"]
#: The environments with the newest and the oldest packages that the library supports.
SUPPORTED = ("newest", "oldest")
ENVIRONMENTS = {
    "newest": [
        "grpcio<2",
        "protobuf<8",
        "googleapis-common-protos",
        "grpcio-health-checking",
        "grpcio-tools",
        "mypy",
        "types-grpcio",
        "types-protobuf",
    ],
    "oldest": [
        "grpcio==1.51.1",
        "protobuf==4.21.12",
        "googleapis-common-protos==1.57.0",
        "grpcio-health-checking==1.51.1",
    ],
    # Separate, because `python-client` can install the library at the same time.
    "provider": ["grpcio<2", "protobuf<8"],
}


def python(name):
    return os.path.join(FOLDER, name, "bin", "python")


def run(command, **options):
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=1800, **options
    )


def prepare(name):
    """Creates or reuses an environment, and installs the library in its present state."""
    packages = ENVIRONMENTS[name]
    wanted = hashlib.sha256("\n".join([sys.version, *packages, *BUILD]).encode()).hexdigest()
    mark = os.path.join(FOLDER, name, "made-of")
    if not os.path.exists(mark) or open(mark, encoding="utf-8").read() != wanted:
        shutil.rmtree(os.path.join(FOLDER, name), ignore_errors=True)
        venv.create(os.path.join(FOLDER, name), with_pip=True)
        made = run([python(name), "-m", "pip", "install", "-q", *packages, *BUILD])
        if made.returncode != 0:
            raise SystemExit(f"FAIL  pip cannot install {packages}: {made.stderr[-2000:]}")
        with open(mark, "w", encoding="utf-8") as file:
            file.write(wanted)
    made = run(
        [
            python(name),
            "-m",
            "pip",
            "install",
            "-q",
            "--no-build-isolation",
            "--no-deps",
            "--force-reinstall",
            LIBRARY,
        ]
    )
    if made.returncode != 0:
        raise SystemExit(f"FAIL  pip cannot install {LIBRARY}: {made.stderr[-2000:]}")


def snippets():
    with open(os.path.join(LIBRARY, "README.md"), encoding="utf-8") as file:
        return re.findall(r"```python\n(.*?)```", file.read(), re.S)
