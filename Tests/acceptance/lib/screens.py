"""Screens without a monitor: Xvfb and sway, with pictures of them and a pointer to click with."""

import os
import select
import shutil
import socket
import struct
import subprocess
import zlib

from lib.system import PATIENCE, clean_environment, eventually, tied


class Picture:
    """Pixels as (red, green, blue), row by row."""

    def __init__(self, width, height, rows):
        self.width, self.height, self.rows = width, height, rows

    def count(self, color):
        """How many pixels have exactly this colour."""
        return sum(row[x:x + 3] == bytes(color) for row in self.rows
                   for x in range(0, len(row), 3)) if any(
                       bytes(color) in row for row in self.rows) else 0

    def middle(self, color):
        """The middle of all pixels of this colour; None if there is none."""
        found = [(x // 3, y) for y, row in enumerate(self.rows)
                 for x in range(0, len(row), 3) if row[x:x + 3] == bytes(color)]
        if not found:
            return None
        return sum(x for x, _ in found) // len(found), sum(y for _, y in found) // len(found)

    def png(self, height):
        """The topmost rows as a PNG file."""
        def chunk(kind, data):
            return (struct.pack(">I", len(data)) + kind + data
                    + struct.pack(">I", zlib.crc32(kind + data)))

        data = b"".join(b"\0" + row for row in self.rows[:height])
        return (b"\x89PNG\r\n\x1a\n"
                + chunk(b"IHDR", struct.pack(">IIBBBBB", self.width, min(height, self.height),
                                             8, 2, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b""))


class XScreen:
    """An X server without a monitor. Use in a `with` statement."""

    needs = ("Xvfb", "xdotool")
    width, height = 1200, 60

    def __init__(self, scratch):
        self.scratch = scratch
        self.folder = os.path.join(scratch.folder, "x")
        os.makedirs(self.folder, exist_ok=True)
        reading, writing = os.pipe()
        # It chooses a free display, and prints its number.
        self.process = subprocess.Popen(
            tied(["Xvfb", "-displayfd", str(writing), "-screen", "0",
                  f"{self.width}x{self.height}x24", "-fbdir", self.folder, "-nolisten", "tcp", "-noreset"]),
            pass_fds=[writing], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=clean_environment())
        os.close(writing)
        number = b""
        while not number.endswith(b"\n"):
            if not select.select([reading], [], [], PATIENCE)[0]:
                raise AssertionError("Xvfb did not get ready")
            part = os.read(reading, 16)
            if not part:
                raise AssertionError("Xvfb did not start")
            number += part
        os.close(reading)
        self.environment = {"DISPLAY": f":{number.decode().strip()}"}

    def picture(self):
        """The screen, from the file in xwd format that Xvfb keeps."""
        with open(os.path.join(self.folder, "Xvfb_screen0"), "rb") as file:
            data = file.read()
        header = struct.unpack(">25I", data[:100])
        start = header[0] + header[19] * 12
        width, height, line = header[4], header[5], header[12]
        rows = []
        for y in range(height):
            row = data[start + y * line:start + y * line + width * 4]
            pixels = bytearray(width * 3)
            pixels[0::3], pixels[1::3], pixels[2::3] = row[2::4], row[1::4], row[0::4]
            rows.append(bytes(pixels))
        return Picture(width, height, rows)

    def click(self, place, button):
        x, y = place
        subprocess.run(["xdotool", "mousemove", str(x), str(y), "click", str(button)],
                       env=clean_environment(**self.environment), check=True, timeout=PATIENCE,
                       stdout=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)


class Pointer:
    """A mouse for a compositor of wlroots: wlr-virtual-pointer-unstable-v1 over its socket."""

    buttons = {1: 0x110, 2: 0x112, 3: 0x111}

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.send(1, 1, struct.pack("=I", 2))  # wl_display.get_registry: object 2
        self.send(1, 0, struct.pack("=I", 3))  # wl_display.sync: object 3
        name = version = None
        for sender, code, body in self.messages():
            if (sender, code) == (3, 0):
                break
            if (sender, code) == (2, 0):
                found, length = struct.unpack_from("=II", body)
                interface = body[8:8 + length - 1].decode()
                if interface == "zwlr_virtual_pointer_manager_v1":
                    name, version = found, min(1, struct.unpack("=I", body[-4:])[0])
        assert name is not None, "the compositor knows no virtual pointers"
        word = b"zwlr_virtual_pointer_manager_v1\0"
        self.send(2, 0, struct.pack("=II", name, len(word)) + word + struct.pack("=II", version, 4))
        self.send(4, 0, struct.pack("=II", 0, 5))  # create_virtual_pointer: object 5

    def send(self, target, code, body=b""):
        self.socket.sendall(struct.pack("=II", target, (len(body) + 8) << 16 | code) + body)

    def messages(self):
        data = b""
        while True:
            data += self.socket.recv(65536)
            while len(data) >= 8:
                sender, word = struct.unpack_from("=II", data)
                if len(data) < word >> 16:
                    break
                yield sender, word & 0xFFFF, data[8:word >> 16]
                data = data[word >> 16:]

    def move(self, x, y, width, height):
        self.send(5, 1, struct.pack("=IIIII", 0, x, y, width, height))
        self.send(5, 4)

    def click(self, button):
        if button in self.buttons:
            for state in (1, 0):
                self.send(5, 2, struct.pack("=III", 0, self.buttons[button], state))
                self.send(5, 4)
            return
        step = -1 if button == 4 else 1
        self.send(5, 5, struct.pack("=I", 0))  # axis_source: wheel
        self.send(5, 7, struct.pack("=IIii", 0, 0, step * 15 * 256, step))  # axis_discrete
        self.send(5, 4)

    def close(self):
        self.socket.close()


class SwayScreen:
    """A sway without a monitor, with a configuration. Use in a `with` statement."""

    needs = ("sway", "grim", "swaymsg")
    # The size that wlroots gives to an output without a monitor.
    width, height = 1280, 720

    def __init__(self, scratch, configuration, path, **variables):
        self.scratch = scratch
        self.folder = os.path.join(scratch.folder, "w")
        os.makedirs(self.folder, mode=0o700)
        self.log = open(os.path.join(scratch.folder, "sway.log"), "wb")  # noqa: SIM115
        self.environment = {
            "XDG_RUNTIME_DIR": self.folder, "WLR_BACKENDS": "headless",
            "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman", "PATH": path,
            "WLR_HEADLESS_OUTPUTS": "1", **variables}
        environment = clean_environment(**self.environment)
        for name in ("WAYLAND_DISPLAY", "DISPLAY", "SWAYSOCK", "I3SOCK"):
            environment.pop(name, None)
        # sway refuses to run as root, so it runs in a user namespace where root has another user
        # id.
        as_user = ["unshare", "--user", "--map-user=1000"] if os.getuid() == 0 else []
        self.process = subprocess.Popen(
            [*as_user, "sway", "-c", configuration], stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, env=environment)

        def names(start, end=""):
            return [name for name in os.listdir(self.folder)
                    if name.startswith(start) and name.endswith(end)]

        if not eventually(lambda: names("sway-ipc") and [
                name for name in names("wayland-") if not name.endswith(".lock")]):
            raise AssertionError("sway did not start: " + self.log_text()[-500:])
        display = [name for name in names("wayland-") if not name.endswith(".lock")][0]
        self.environment["WAYLAND_DISPLAY"] = display
        self.environment["SWAYSOCK"] = os.path.join(self.folder, names("sway-ipc")[0])
        self.pointer = Pointer(os.path.join(self.folder, display))

    def message(self, *words):
        return subprocess.run(["swaymsg", *words], capture_output=True, text=True, check=False,
                              timeout=PATIENCE, env=clean_environment(**self.environment))

    def log_text(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def picture(self):
        data = subprocess.run(["grim", "-g", f"0,0 {self.width}x60", "-t", "ppm", "-"],
                              capture_output=True, timeout=PATIENCE,
                              check=False, env=clean_environment(**self.environment)).stdout
        if not data.startswith(b"P6"):
            return Picture(0, 0, [])
        _, width, height, _, pixels = data.replace(b"\n", b" ", 3).split(b" ", 4)
        width, height = int(width), int(height)
        return Picture(width, height,
                       [pixels[y * width * 3:(y + 1) * width * 3] for y in range(height)])

    def click(self, place, button):
        # A client takes a click only after it knows that the pointer is over it.
        self.pointer.move(*place, self.width, self.height)
        self.message("-t", "get_seats")
        self.picture()
        self.pointer.click(button)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pointer.close()
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
