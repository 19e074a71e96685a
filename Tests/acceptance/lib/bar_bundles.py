"""A daemon and a host that run bundles for a bar: the bundles of Clients/bundles, or changed copies."""

import json
import os

from .protobuf import ROOT
from .system import Scratch, binary, clean_environment

BUNDLES = os.path.join(ROOT, "Clients", "bundles")


class Stage(Scratch):
    """A daemon, and a host that runs a folder of bundles."""

    def begin(self, bundles, *arguments, **environment):
        self.daemon()
        with open(os.path.join(self.folder, "host-log"), "ab") as log:
            self.start([binary("widgetd-host"), "--socket", self.socket, "--bundles", bundles,
                        *arguments], env=clean_environment(
                            HOME=self.folder, **{
                                "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.folder}/no-bus",
                                **environment}), log=log)

    def copy(self, name, changes=(), programs=()):
        """A bundle with other texts, and with other programs in place of the system's."""
        folder = os.path.join(self.folder, "bundles", name)
        os.makedirs(folder)
        with open(os.path.join(BUNDLES, name, "bundle.yaml"), encoding="utf-8") as file:
            text = file.read()
        for old, new in changes:
            assert old in text, (name, old)
            text = text.replace(old, new)
        with open(os.path.join(folder, "bundle.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        for program, script in dict(programs).items():
            path = os.path.join(folder, program)
            with open(path, "w", encoding="utf-8") as file:
                file.write(script)
            os.chmod(path, 0o755)

    def press(self, name):
        return self.ctl("send", name, "press", "--node", "line", "--wait").returncode

    def picture(self, name, family):
        return self.ctl("view", name, "--family", family, "--width", "60").stdout

    def line(self, name):
        """The line in a bar, without the mark of a stale widget and the lines with the reason."""
        lines = self.picture(name, "inline").strip().splitlines() or [""]
        return lines[-1].strip().removesuffix("↻").strip()

    def block(self, name):
        """The block of a widget in a bar."""
        return json.loads(self.ctl("bar", "--format", "json", "--once", name).stdout)[0]

    def turn(self, name, direction):
        """Turns the wheel over a widget in a bar."""
        button = 4 + ("up", "down", "left", "right").index(direction)
        return self.ctl("bar", "--click", str(button), name)
