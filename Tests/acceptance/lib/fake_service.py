"""A service on D-Bus that carries out commands, one on each line of standard input.

    own NAME [replace]      takes a name
    release NAME            gives it back
    set NAME TEXT           changes a property, and says so
    forget NAME             says that a property is invalid
    signal TEXT             sends the signal Said
    huge                    sets the property Text to 3 MB
    die                     ends at once

Runs in the system's Python, which has Debian's dbus and gi.
"""

import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

INTERFACE = "org.example.Player"
PROPERTIES = "org.freedesktop.DBus.Properties"


class Player(dbus.service.Object):
    def __init__(self, bus):
        super().__init__(bus, "/org/example/Player")
        self.state = {
            "Status": dbus.String("Paused"), "Volume": dbus.Double(0.5), "Text": dbus.String(""),
            "Metadata": dbus.Dictionary(
                {"artist": dbus.Array(["Sibelius"], signature="s"), "length": dbus.UInt64(7)},
                signature="sv"),
        }

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return self.state if interface == INTERFACE else {}

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    @dbus.service.signal(INTERFACE, signature="su")
    def Said(self, text, number):
        pass

    @dbus.service.method(INTERFACE, in_signature="sa{sv}", out_signature="su")
    def Say(self, text, options):
        if text == "no":
            raise dbus.DBusException("not that", name="org.example.Refused")
        self.Said(text, len(options))
        return text.upper(), len(options)


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(sys.argv[1])
    player = Player(bus)
    loop = GLib.MainLoop()

    def told(*_):
        words = sys.stdin.readline().split()
        if not words or words[0] == "die":
            loop.quit()
            return False
        verb, rest = words[0], words[1:]
        if verb == "own":
            bus.request_name(rest[0])
        elif verb == "release":
            bus.release_name(rest[0])
        elif verb == "set":
            player.state[rest[0]] = dbus.String(rest[1])
            player.PropertiesChanged(INTERFACE, {rest[0]: player.state[rest[0]]}, [])
        elif verb == "forget":
            player.PropertiesChanged(INTERFACE, {}, [rest[0]])
        elif verb == "signal":
            player.Said(rest[0], 3)
        elif verb == "huge":
            player.state["Text"] = dbus.String("x" * 3_000_000)
            player.PropertiesChanged(INTERFACE, {"Text": player.state["Text"]}, [])
        print("done", flush=True)
        return True

    GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, told)
    print("ready", flush=True)
    loop.run()


main()
