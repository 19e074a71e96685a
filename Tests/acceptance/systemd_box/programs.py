"""Parts of the test of the service: the programs beside the daemon, and a user's own daemon."""

import json
import os
import re
import shutil
import signal
import subprocess
from datetime import datetime, timedelta, timezone

from lib.protobuf import ROOT
from lib.system import eventually
from systemd_box.machine import EXAMPLES, PROGRAMS, check_log, documented_block


def sysmon(check, machine, packages):
    told = machine.install(packages.now, "widgetd-sysmon")
    check.equal("sysmon: the package installs", told.returncode, 0)
    check.equal("sysmon: the service runs", machine.state("widgetd-sysmon.service"), "active")
    told = machine.ctl("watch", "--until", "sysmon/counter.data.n>=0", "--timeout", "100s")
    check.equal("sysmon: the widgets are there", told.returncode, 0)
    told = machine.run("systemd-analyze", "verify", "widgetd-sysmon.service")
    check.equal("sysmon: systemd-analyze verify finds nothing",
                (told.returncode, told.stderr.strip()), (0, ""))
    pid = machine.shows("widgetd-sysmon.service", "MainPID")
    check.equal("sysmon: the service does not see the daemon's state", [
        os.path.exists(machine.path(f"{root}/var/lib/private/widgetd/widgetd.db"))
        for root in (f"/proc/{pid}/root", "")], [False, True])
    check.that("sysmon: the service does not see the daemon's process",
               os.readlink(machine.path(f"/proc/{pid}/ns/user"))
               != os.readlink(machine.of_daemon("ns/user")))
    machine.kill(signal.SIGKILL)
    check_log(check, machine, "widgetd-sysmon",
              {"lost the daemon": "4", "the daemon is back": "6"})
    number = machine.ctl("get", "sysmon/counter", "--field", "data.n").stdout.strip()
    machine.systemctl("restart", "widgetd.service")
    machine.ctl("send", "sysmon/counter", "click")
    told = machine.ctl("watch", "--until", f"sysmon/counter.data.n>{number}", "--timeout", "100s")
    check.that("sysmon: the service goes on after a restart of the daemon", told.returncode == 0
               and machine.shows("widgetd-sysmon.service", "NRestarts") == "0", told.stderr)
    check.equal("sysmon: the service stops in order", machine.systemctl(
        "stop", "widgetd-sysmon.service").returncode, 0)

    def told():
        return machine.ctl("get", "sysmon/clock", "-o", "json").stdout

    check.that("sysmon: the stopped service marks its widgets stale",
               eventually(lambda: re.search('"stale": ?true', told())),
               told()[:200])


# The unit of docs/service.md, with a program.
OWN_PROVIDER = documented_block("Who may use it", "ini").replace(
    "[Service]\n", "[Service]\nExecStart=/usr/bin/sleep infinity\n")


# The bundle's first program reports its rights. The second one keeps running, with a child in
# another session. The third one fails.
PROBE = """
bundle: probe
format: 1
version: 1.0.0
permissions:
  commands: ["${bundle}/look", "${bundle}/stay", "${bundle}/fail"]
kinds:
  probe:
    data: {found: {type: "map(string, string)", default: {}}, looks: 0, stays: 0}
    sources:
      look:
        command: ["${bundle}/look"]
        every: 1h
        parse: words
        set:
          found: "result.transformMapEntry(i, w, {w[0]: w[1]})"
          looks: data.looks + 1
      stay: {command: ["${bundle}/stay"], lines: true, set: {stays: data.stays + 1}}
  failing:
    data: {text: ""}
    sources:
      fail: {command: ["${bundle}/fail"], every: 1h, set: {text: result}}
widgets: [{id: probe, kind: probe}, {id: failing, kind: failing}]
"""


LOOK = """#!/bin/sh
can() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "$name yes"; else echo "$name no"; fi; }
daemon=$(pgrep -x widgetd)
echo "user $(id -un)"
echo "home $HOME"
can see-daemon test -n "$daemon"
can see-memory head -c 1 /proc/$daemon/maps
can see-files ls /proc/$daemon/root/var/lib/widgetd
can see-state ls /var/lib/private/widgetd
can see-homes ls /home/someone
can write-bundles touch /var/lib/widgetd-host/bundles/x
can write-own touch "$(dirname "$0")/x"
can write-settings touch /etc/widgetd/bundles/x
can write-home touch "$HOME/x"
can write-tmp touch /tmp/x
for folder in "$HOME" /tmp /var/tmp /dev/shm; do
  cp /bin/true "$folder/true" 2>/dev/null
  can "run-in:$folder" "$folder/true"
done
can run-installed /bin/true
can show-network ip link show lo
can become-root setpriv --reuid 0 true
if command -v ping >/dev/null; then can ping ping -n -c 1 -W 100 127.0.0.1; else echo ping missing; fi
"""


FAIL = """#!/bin/sh
echo "fail: the first line of the errors" >&2
echo "and a second one" >&2
exit 3
"""


STAY = """#!/bin/sh
setsid sleep 86397 &
echo here
exec sleep 86398
"""


PING_SETTING = "/etc/sysctl.d/60-ping.conf"


def sysctl(machine, *words):
    """Runs sysctl for the network of the box, whose settings are its own. Inside the box, all settings of the
    kernel are read-only, because most of them belong to this machine."""
    return subprocess.run(
        ["nsenter", "-t", str(machine.pid), "--net", "--", "sysctl", *words], capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=60, check=False)


def forbid_ping(machine):
    """Makes the setting of a new network: no group may ping."""
    return sysctl(machine, "-w", "net.ipv4.ping_group_range=1 0")


def permit_ping(machine, page):
    """Carries out the commands of docs/service.md that permit all groups to ping."""
    lines = re.search(r"```sh\n(echo net\.ipv4\.ping_group_range .*\n)sudo sysctl --system\n```", page)[1]
    machine.run("sh", "-c", lines.replace("sudo ", ""))
    # All other files of `--system` are about this machine.
    return sysctl(machine, "-p", machine.path(PING_SETTING))


def host(check, machine, packages):
    """Bundles in the system's folders, and their rights."""
    unit, store = "widgetd-host.service", "/var/lib/widgetd-host/bundles"
    told = machine.install(packages.now, "widgetd-host")
    check.equal("host: the package installs", (told.returncode, machine.state(unit)),
                (0, "active"))
    told = machine.run("systemd-analyze", "verify", unit)
    check.equal("host: systemd-analyze verify finds nothing", (told.returncode, told.stderr.strip()),
                (0, ""))
    check.equal("host: the folders of bundles are root's", machine.run(
        "stat", "-c", "%U %a", store, "/etc/widgetd/bundles").stdout.split("\n")[:2], ["root 755"] * 2)

    def reaches(what, *conditions):
        words = [word for condition in conditions for word in ("--until", condition)]
        told = machine.ctl("watch", *words, "--timeout", "100s")
        ids = {condition.split(".")[0].split(":")[0] for condition in conditions}
        check.that(f"host: {what}", told.returncode == 0,
                   (told.stderr, machine.ctl("get", *ids, "-o", "json").stdout[-1500:]))

    def status_becomes(words):
        check.that(f"host: systemctl status says: {words}", eventually(
            lambda: machine.shows(unit, "StatusText") == words), machine.shows(unit, "StatusText"))

    def put(name, **files):
        # First beside its place, because a bundle must appear as a whole.
        shutil.rmtree(machine.path("/new"), ignore_errors=True)
        for file, text in files.items():
            path = f"/new/{file.replace('_', '.')}"
            machine.write(path, text)
            os.chmod(machine.path(path), 0o755)
        machine.run("mv", "/new", f"{store}/{name}")

    # The usual steps: take an example, and install it.
    machine.run("cp", "-r", f"{EXAMPLES}/load", "/etc/widgetd/bundles/")
    machine.run("cp", "-r", f"{EXAMPLES}/counter", "/root/")
    told = machine.ctl("bundle", "install", "/root/counter")
    check.that("host: root installs a bundle, and is told which widgets get its kind",
               told.returncode == 0 and "2 widgets of kind" in told.stderr, told)
    reaches("a bundle in each of the two folders is there", "bundle/load.data.state==running",
            "bundle/counter.data.state==running")
    reaches("a widget shows the machine", "load.data.one>=0", "load.data.uptime!=null")
    status_becomes("Runs 2 bundles")
    machine.ctl("send", "counter", "press", "--node", "plus")
    reaches("a press arrives", "counter.data.n==1")
    path = machine.path(f"{store}/counter/bundle.yaml")
    with open(path, encoding="utf-8") as file:
        before = file.read()
    after = before.replace("default: 1,", "default: 5,").replace("version: 1.0.0", "version: 1.1.0")
    with open(path, "w", encoding="utf-8") as file:
        file.write(after)
    reaches("a bundle that is changed follows", "bundle/counter.data.version==1.1.0")
    machine.ctl("send", "counter", "press", "--node", "plus")
    reaches("with what its widget held", "counter.data.n==6")
    with open(path, "w", encoding="utf-8") as file:
        file.write(after.replace("kinds:", "kind:"))
    reaches("one that is broken is told of", "bundle/counter.data.state==failed")
    told = machine.ctl("get", "bundle/counter", "--field", "data.problem").stdout
    check.that("host: a mistake is reported with the place",
               f"{store}/counter/bundle.yaml:" in told, told)
    def entries():
        return machine.journal(f"_SYSTEMD_UNIT={unit}")

    check.that("host: the journal has the mistake too", eventually(lambda: any(
        "counter/bundle.yaml:" in str(entry.get("MESSAGE", "")) for entry in entries())),
        [entry.get("MESSAGE") for entry in entries()[-4:]])
    check_log(check, machine, "widgetd-host", {"counter/bundle.yaml:": "4", " read from ": "6"})
    noise = [entry["MESSAGE"] for entry in entries() if "Failed" in str(entry.get("MESSAGE"))]
    check.equal("host: the journal has no other warning", noise, [])
    with open(path, "w", encoding="utf-8") as file:
        file.write(after)
    reaches("and mended", "bundle/counter.data.state==running")

    # The example has other names here, because this machine already has a widget and a kind named
    # clock.
    with open(machine.path(f"{EXAMPLES}/clock/bundle.yaml"), encoding="utf-8") as file:
        put("zoned", bundle_yaml=re.sub(r"\bclock\b", "zoned", file.read()))

    def tokyo():
        return (datetime.now(timezone.utc) + timedelta(hours=9)).strftime("%H:%M")

    def shows_tokyo():
        times = {tokyo()}
        shown = machine.ctl("view", "zoned-tokyo").stdout
        return any(time in shown for time in times | {tokyo()})

    check.that("host: a clock shows the time in its zone", eventually(shows_tokyo),
               machine.ctl("view", "zoned-tokyo").stdout)
    shutil.rmtree(machine.path(f"{store}/zoned"))

    machine.systemctl("restart", "widgetd.service")
    machine.ctl("send", "counter", "press", "--node", "plus")
    reaches("it goes on after a restart of the daemon", "counter.data.n==11")
    revision = machine.ctl("get", "load", "--field", "revision").stdout.strip()
    reaches("and feeds its widgets", f"load.revision>{revision}", "load:fresh")
    check.equal("host: a changed bundle runs without a restart of the host",
                machine.shows(unit, "NRestarts"), "0")

    machine.write("/home/someone/letter", "")
    no_ping = "" if shutil.which("ping") else "there is no program ping: apt-get install iputils-ping"
    if not no_ping and (told := forbid_ping(machine)).returncode:
        no_ping = f"the box cannot change net.ipv4.ping_group_range: {told.stderr.strip()}"
    if no_ping:
        check.skip("host: `ping`", no_ping)
    put("probe", bundle_yaml=PROBE, look=LOOK, stay=STAY, fail=FAIL)
    reaches("programs of a bundle run", "probe.data.stays==1", "probe.data.looks==1")

    def rights():
        """What the programs of the bundle can do, and whether they can ping."""
        found = json.loads(machine.ctl("get", "probe", "-o", "json").stdout)["data"]["found"]
        return found, found.pop("ping", None)

    found, can_ping = rights()
    if not no_ping:
        check.equal("host: `ping` fails without the drop-in and the setting", can_ping, "no")
    check.that("host: the first line of a program's errors reaches its widget", eventually(
        lambda: "fail: the first line of the errors" in machine.ctl(
            "get", "failing", "-o", "json").stdout), machine.ctl("get", "failing", "-o", "json"))
    check.equal("host: the host's programs have only the rights that they need", found, {
        "user": "widgetd", "home": "/var/lib/widgetd-host/home", "see-daemon": "yes",
        "see-memory": "no", "see-files": "no", "see-state": "no", "see-homes": "no",
        "write-bundles": "no", "write-own": "no", "write-settings": "no", "write-home": "yes",
        "write-tmp": "yes", "run-in:/var/lib/widgetd-host/home": "no", "run-in:/tmp": "no",
        "run-in:/var/tmp": "no", "run-in:/dev/shm": "no", "run-installed": "yes",
        "show-network": "no", "become-root": "no"})

    with open(os.path.join(ROOT, "docs", "service.md"), encoding="utf-8") as file:
        page = file.read()
    permits = re.search(r"```ini\n(\[Service\]\nSystemCallFilter=.*?)```", page, re.S)[1]
    machine.drop_in(permits, unit=unit, name="calls")
    machine.systemctl("restart", unit)
    reaches("programs run again with the drop-in of docs/service.md", "probe.data.looks==2")
    permitted, can_ping = rights()
    check.equal("host: with it `ip` works, and nothing else that was refused", {
        name: can for name, can in permitted.items() if can != found[name]}, {"show-network": "yes"})
    if not no_ping:
        check.equal("host: `ping` fails with the drop-in alone", can_ping, "no")
        told = permit_ping(machine, page)
        check.equal("host: the kernel takes the setting of docs/service.md", told.returncode, 0)
    # Programs need no restart of the host for the setting.
    machine.ctl("refresh", "probe")
    reaches("programs run again with the setting of the kernel for `ping`", "probe.data.looks==3")
    if not no_ping:
        check.equal("host: `ping` works with the drop-in and the setting", rights()[1], "yes")
    machine.no_drop_in(unit=unit, name="calls")
    machine.systemctl("restart", unit)
    reaches("and without the drop-in", "probe.data.looks==4")
    check.equal("host: without the drop-in, all of it is refused again", rights(),
                (found, "missing" if not shutil.which("ping") else "no"))
    if not no_ping:
        forbid_ping(machine)
        os.unlink(machine.path(PING_SETTING))

    def sleepers():
        return machine.run("pgrep", "-f", "^sleep 8639[78]").stdout.split()

    check.that("host: a program that runs on, and its child, are there", eventually(
        lambda: len(sleepers()) == 2), sleepers())
    server = machine.start("python3", f"{EXAMPLES}/feed/server")
    server.stdout.readline()
    machine.run("cp", "-r", f"{EXAMPLES}/feed", store)
    reaches("HTTP servers are asked", "feed.data.posts!=[]")
    server.kill()
    server.wait()

    first, pid = set(sleepers()), machine.shows(unit, "MainPID")
    machine.kill(signal.SIGKILL, pid)
    check.that("host: after kill -9 it comes back", eventually(
        lambda: machine.shows(unit, "MainPID") not in ("0", pid) and machine.state(unit) == "active"))
    check.that("host: no program appears twice after kill -9", eventually(
        lambda: len(sleepers()) == 2 and not first & set(sleepers())), (first, sleepers()))
    check.equal("host: the service restarts", machine.systemctl("restart", unit).returncode, 0)
    machine.ctl("send", "counter", "press", "--node", "plus")
    reaches("and its widgets are as they were", "counter.data.n==16", "counter:fresh")
    check.equal("host: the service stops in order", machine.systemctl("stop", unit).returncode, 0)
    check.equal("host: no program of the stopped host is left", sleepers(), [])
    check.equal("host: the result of the service is success",
                machine.shows(unit, "Result"), "success")
    reaches("its widgets are stale then", "load:stale", "counter:stale",
            "bundle/load.data.state==stopped")
    machine.systemctl("start", unit)


def providers(check, machine, packages):
    """Providers start and stop with the socket, and doctor reports a provider that does not run."""
    names = ("widgetd-host.service", "widgetd-sysmon.service")
    told = machine.install(packages.now, "widgetd-host", "widgetd-sysmon")
    check.equal("providers: the packages install", told.returncode, 0)
    machine.write("/etc/systemd/system/own.service", OWN_PROVIDER)
    machine.systemctl("enable", "--now", "own.service")
    names += ("own.service",)
    machine.systemctl("start", *names)

    def states():
        return [machine.state(name) for name in names]

    def doctor():
        told = machine.ctl("doctor", "-o", "json", "--timeout", "1m")
        return {entry["check"]: entry for entry in json.loads(told.stdout)["checks"]}

    check.equal("providers: all of them run", states(), ["active"] * 3)
    found = doctor().get("providers", {})
    check.that("providers: doctor says that all providers run", found.get("grade") == "ok"
               and all(name in found["found"] for name in names), found)
    machine.systemctl("stop", "widgetd.socket")
    check.equal("providers: the providers stop with the socket", states(), ["inactive"] * 3)
    machine.systemctl("start", "widgetd.socket")
    check.that("providers: the providers start with the socket", eventually(
        lambda: states() == ["active"] * 3), states())
    machine.systemctl("disable", "--now", "widgetd.socket")
    check.equal("providers: disable --now of the socket stops the providers", states(), ["inactive"] * 3)
    machine.systemctl("enable", "--now", "widgetd.socket")
    check.that("providers: enable --now starts the providers", eventually(
        lambda: states() == ["active"] * 3), states())
    machine.systemctl("disable", "--now", *names)
    found = doctor().get("providers", {})
    check.that("providers: a disabled provider is not reported", not any(
        name in found.get("found", "") for name in names), found)
    machine.systemctl("enable", "--now", *names)
    check.equal("providers: disable --now and enable --now of each works", states(),
                ["active"] * 3)
    for name in names:
        machine.systemctl("stop", name)
        found = doctor().get("providers", {})
        if check.that(f"providers: doctor reports that {name} does not run",
                      found.get("grade") == "warn"
                      and name in found["found"] and "inactive" in found["found"]
                      and found.get("mend") == f"systemctl start {name}", found):
            machine.run("sh", "-c", found["mend"])
        check.equal(f"providers: doctor's command starts {name}", machine.state(name), "active")
    machine.drop_in("[Service]\nExecStart=\nExecStart=/bin/false\nType=exec\nRestart=no\n",
                    unit=names[0])
    machine.systemctl("restart", names[0])
    eventually(lambda: machine.state(names[0]) == "failed")
    machine.no_drop_in(unit=names[0])
    found = doctor().get("providers", {})
    if check.that("providers: doctor names the one that failed, and where its log is",
                  found.get("grade") == "warn" and f"{names[0]} failed" in found["found"]
                  and f"journalctl -u {names[0]}" in found["found"], found):
        machine.run("sh", "-c", found["mend"])
    check.that("providers: doctor's command repairs the failed provider", eventually(
        lambda: states() == ["active"] * 3), states())
    machine.systemctl("disable", "--now", "own.service")
    os.unlink(machine.path("/etc/systemd/system/own.service"))
    machine.systemctl("daemon-reload")


def user_instance(check, machine, packages):
    env, reason = machine.login("owner")
    if env is None:
        check.skip("user instance", reason)
        return
    runtime = env["XDG_RUNTIME_DIR"]

    def own(*words):
        return machine.run(*words, user="owner", env=env)

    told = own("systemctl", "--user", "is-active", "widgetd.socket")
    check.equal("user instance: it is not enabled by default", told.stdout.strip(), "inactive")
    told = own("systemctl", "--user", "enable", "--now", "widgetd.socket")
    check.equal("user instance: enable --now starts the socket", told.returncode, 0)
    told = own("widgetctl", "add", "clock", "--id", "mine")
    check.equal("user instance: the user adds a widget", told.returncode, 0)
    # The service reports that it is ready when it serves. Its first client may have an answer
    # before that.
    check.that("user instance: the first client started the service", eventually(lambda: own(
        "systemctl", "--user", "is-active", "widgetd.service").stdout.strip() == "active"))
    check.that("user instance: it is another one than the system's",
               "mine" in own("widgetctl", "ls").stdout and "mine" not in machine.ctl("ls").stdout)
    check.that("user instance: its state is in the user's home", os.path.exists(
        machine.path("/home/owner/.local/state/widgetd/widgetd.db")))
    path = f"{runtime}/widgetd/widgetd.sock"
    check.equal("user instance: its socket is the user's alone",
                machine.run("stat", "-c", "%U %a", path).stdout.strip(), "owner 600")
    check.equal("user instance: systemctl --user reload works",
                own("systemctl", "--user", "reload", "widgetd.service").returncode, 0)
    own("systemctl", "--user", "set-environment", "WIDGETD_SOCKET=/nowhere")
    check.equal("user instance: reload works with a variable that names another socket",
                own("systemctl", "--user", "reload", "widgetd.service").returncode, 0)
    own("systemctl", "--user", "unset-environment", "WIDGETD_SOCKET")
    check.equal("user instance: systemctl --user restart works", own(
        "systemctl", "--user", "restart", "widgetd.service").returncode, 0)
    check.that("user instance: and nothing is lost", "mine" in own("widgetctl", "ls").stdout)
    machine.install(packages.now, "widgetd-host")
    told = own("systemctl", "--user", "enable", "--now", "widgetd-host")
    check.equal("user instance: systemctl --user enable --now widgetd-host works",
                (told.returncode, own("systemctl", "--user", "is-active", "widgetd-host").stdout),
                (0, "active\n"))
    own("mkdir", "-p", "/home/owner/.local/share/widgetd/bundles")
    machine.systemctl("start", "dbus.socket")
    own("cp", "-r", f"{EXAMPLES}/units", "/home/owner/.local/share/widgetd/bundles/")
    told = own("widgetctl", "watch", "--until", "units.data.units!=[]", "--timeout", "100s")
    check.that("user instance: a bundle in the user's folder is there, and its program can use D-Bus",
               told.returncode == 0, (told.stderr, own("widgetctl", "ls").stdout[-1000:]))
    told = machine.install(packages.later, *PROGRAMS)
    check.that("user instance: an upgrade names users with daemons and hosts of the old version",
               all(re.search(rf"^{name}: .*: process \d+ of owner$", told.stdout, re.M)
                   for name in ("widgetd", "widgetd-host")), told.stdout[-2000:])
    check.that("user instance: and how they are restarted",
               "systemctl --user restart widgetd-host.service" in told.stdout, told.stdout[-2000:])
    check.that("user instance: but does not name the service, which it restarts", not re.search(
        r"process \d+ of (?!owner)", told.stdout), told.stdout[-2000:])

    def doctor():
        told = own("widgetctl", "doctor", "-o", "json")
        return {entry["check"]: entry for entry in json.loads(told.stdout)["checks"]}

    for name, unit in (("version", "widgetd.service"), ("providers", "widgetd-host.service")):
        found = doctor().get(name, {})
        if check.that(f"user instance: doctor sees that {unit} still runs",
                      found.get("grade") == "warn"
                      and "was replaced or removed" in found["found"] and found.get("mend")
                      == f"systemctl --user restart {unit}", found):
            own("sh", "-c", found["mend"])
        check.that("user instance: and its command repairs that", eventually(
            lambda: doctor().get(name, {}).get("grade") == "ok"), doctor())
    machine.systemctl("stop", "owner-manager.service")
    machine.install(packages.now, *PROGRAMS)
