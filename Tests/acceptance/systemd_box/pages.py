"""Part of the test of the service: the pages of the documentation, typed in the machine."""

import os
import shutil

from lib.protobuf import ROOT
from lib.system import clean_environment
from lib.typed_pages import Page, Shell
from systemd_box.machine import PROGRAMS

#: The whole page is typed, by root for the user `ann`.
SERVICE = "docs/service.md"
#: Some blocks of these pages are typed, by the user `ben`.
OTHERS = ("README.md", "docs/first-widget.md", "docs/bars.md", "docs/tour.md")

# The machine may have no sudo. A copy of setpriv with the setuid bit does the same without a password.
SUDO = """#!/bin/sh
exec /usr/local/libexec/become-root --reuid 0 --regid 0 --clear-groups "$@"
"""
# A build takes minutes, so this program copies the packages that the real one has made.
PACKAGE = """#!/bin/sh
mkdir -p .build && cp -r /srv/packages .build
"""
# apt has no terminal for its questions, and no network for recommended packages.
APT = """APT::Get::Assume-Yes "true";
APT::Install-Recommends "false";
"""


def pages(check, machine, packages):
    """The pages begin without packages, and end without them."""
    prepare(machine, packages)
    purge(check, machine)
    env, reason = machine.login("ben")
    if env is None:
        check.skip("pages: the services of a user", reason)
    else:
        ben = shell(machine, "ben", **env)
        typed(check, ben, {}, OTHERS, script="systemd")
        machine.systemctl("stop", "ben-manager.service")
        purge(check, machine)
    env, reason = machine.login("ann", "systemd-journal")
    if env is None:
        check.skip("pages: the page of the service", reason)
    else:
        root = shell(machine, "root", HOME="/root", USER="ann")
        typed(check, root, {"ann": shell(machine, "ann", **env)}, [SERVICE])
        machine.systemctl("stop", "ann-manager.service")
        purge(check, machine)
    machine.run("sh", "-c", "rm -rf /var/backups/widgetd-* /etc/update-motd.d/50-widgets "
                "/etc/systemd/system/widgetd-host.service.d")
    machine.systemctl("daemon-reload")


def prepare(machine, packages):
    shutil.rmtree(machine.path("/srv/packages"), ignore_errors=True)
    shutil.copytree(packages.now, machine.path("/srv/packages"))
    machine.run("chmod", "-R", "a+rX", "/srv/packages")
    machine.run("install", "-D", "-m", "4755", "/usr/bin/setpriv", "/usr/local/libexec/become-root")
    with open(os.path.join(ROOT, "Tests", "acceptance", "lib", "programs", "in-terminal"),
              encoding="utf-8") as file:
        in_terminal = file.read()
    for name, text in (("sudo", SUDO), ("in-terminal", in_terminal)):
        machine.write(f"/usr/local/bin/{name}", text)
        os.chmod(machine.path(f"/usr/local/bin/{name}"), 0o755)
    machine.write("/etc/apt/apt.conf.d/99yes", APT)
    # Users reach the system's systemd over D-Bus.
    machine.systemctl("start", "dbus.socket")


def purge(check, machine):
    told = machine.run("dpkg", "--purge", *reversed(PROGRAMS))
    machine.run("rm", "-rf", "/etc/widgetd", "/var/lib/widgetd-host")
    check.equal("pages: the packages are purged between pages", told.returncode, 0)


def shell(machine, user, **environment):
    """A shell of a user in the machine, in a folder like the source tree."""
    folder, tree = f"/srv/said-{user}", f"/srv/tree-{user}/widgetd"
    os.makedirs(machine.path(folder), exist_ok=True)
    machine.write(f"{tree}/scripts/package", PACKAGE)
    os.chmod(machine.path(f"{tree}/scripts/package"), 0o755)
    machine.run("chown", "-R", user, f"/srv/tree-{user}")
    words = ["env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
             *(f"{name}={value}" for name, value in environment.items())]
    if user != "root":
        words += ["setpriv", "--reuid", user, "--regid", user, "--init-groups"]
    return Shell(folder, clean_environment(), tree, machine.command(*words), machine.path)


def typed(check, typist, people, names, script=None):
    """Types pages into one shell, one after the other."""
    failed = check.failed
    try:
        for name in names:
            count = Page(check, name, typist, script=script, people=people).type_all()
            check.that(f"pages: {name} has blocks for this test", count > 0)
    finally:
        shells = [typist, *people.values()]
        if check.failed > failed:
            for each in shells:
                print(f"--- all commands with their output ---\n{each.all_said()}", flush=True)
        for each in shells:
            each.close()
