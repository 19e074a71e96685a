"""A program for notifications on D-Bus, as dunst or mako answers the bundle: fake_notifier.py ADDRESS NAME [old].

It prints a line when it has the name, and ends when its standard input does. It reports NAME as its
name: with `dunst` and `mako` it has their interfaces. There are two notifications that wait, and
one in the history. An `old` mako has neither a history nor modes.
"""

import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NOTIFICATIONS = "org.freedesktop.Notifications"
PROPERTIES = "org.freedesktop.DBus.Properties"
DUNST = "org.dunstproject.cmd0"
MAKO = "fr.emersion.Mako"


class Notifications(dbus.service.Object):
    def __init__(self, bus, name):
        super().__init__(bus, "/org/freedesktop/Notifications")
        self.name, self.is_paused = name, False

    @dbus.service.method(NOTIFICATIONS, out_signature="ssss")
    def GetServerInformation(self):
        return self.name, "example", "1", "1.2"

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        if self.name != "dunst" or interface != DUNST:
            raise dbus.DBusException("no such interface", name="org.freedesktop.DBus.Error.UnknownInterface")
        return {"paused": dbus.Boolean(self.is_paused), "displayedLength": dbus.UInt32(0),
                "waitingLength": dbus.UInt32(2), "historyLength": dbus.UInt32(1)}

    @dbus.service.method(PROPERTIES, in_signature="ssv")
    def Set(self, interface, name, value):
        if (interface, name, type(value)) != (DUNST, "paused", dbus.Boolean):
            raise dbus.DBusException(f"no property {name}", name="org.freedesktop.DBus.Error.UnknownProperty")
        self.is_paused = bool(value)


class OldMako(dbus.service.Object):
    def __init__(self, bus):
        super().__init__(bus, "/fr/emersion/Mako")
        self.modes = ["default", "work"]

    @dbus.service.method(MAKO, out_signature="aa{sv}")
    def ListNotifications(self):
        return [{"app-name": dbus.String("mail")}, {"app-name": dbus.String("chat")}]


class Mako(OldMako):
    @dbus.service.method(MAKO, out_signature="aa{sv}")
    def ListHistory(self):
        return [{"app-name": dbus.String("mail")}]

    @dbus.service.method(MAKO, out_signature="as")
    def ListModes(self):
        return self.modes

    @dbus.service.method(MAKO, in_signature="as")
    def SetModes(self, modes):
        self.modes = [str(mode) for mode in modes]


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(sys.argv[1])
    objects = [Notifications(bus, sys.argv[2])]
    if sys.argv[2] == "mako":
        objects.append((OldMako if "old" in sys.argv[3:] else Mako)(bus))
    bus.request_name(NOTIFICATIONS)
    loop = GLib.MainLoop()
    GLib.io_add_watch(sys.stdin, GLib.IO_HUP, lambda *_: loop.quit())
    print("ready", flush=True)
    loop.run()


main()
