"""What makes counts of instructions the same from run to run, and from one processor to the next."""

import os
import struct
import subprocess
import tempfile

CLOCK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "instructions", "clock.c")
ENVIRONMENT = {
    "SWIFT_DETERMINISTIC_HASHING": "1",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM"}
# A second after its start, the daemon gives memory back. All counts must include this, or none.
START_SECONDS = 3


def build_clock(folder):
    """Compiles the slow clock. Returns the path of its library."""
    library = os.path.join(folder, "clock.so")
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-shared", "-fPIC", "-o", library, CLOCK], check=True)
    return library


class SlowClock:
    """A clock for one daemon. It is right until `begin`, and slow from then on."""

    def __init__(self, library):
        self._switch = tempfile.NamedTemporaryFile(prefix="widgetd-slow-")
        self._number = 0
        self._write()
        self.environment = {"LD_PRELOAD": library, "WIDGETD_SLOW_CLOCK": self._switch.name}

    def begin(self):
        self.put_forward(1)

    def put_forward(self, microseconds):
        self._number += microseconds
        self._write()

    def _write(self):
        os.pwrite(self._switch.fileno(), struct.pack("=q", self._number), 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._switch.close()
