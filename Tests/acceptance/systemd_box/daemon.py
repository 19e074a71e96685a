"""Parts of the test of the service: the daemon under systemd."""

import json
import os
import signal

from lib.system import PATIENCE, eventually
from lib.ttrpc import Lost
from systemd_box.machine import RUNTIME_MAX, SOCKET, UNITS, Follower, Writer, check_log


def confinement(check, machine, _):
    if machine.main_pid() == 0:
        check.that("confinement: there is a process to look at", False)
        return
    user = int(machine.status("Uid").split()[0])
    check.that("confinement: the daemon runs as a dedicated user",
               61184 <= user <= RUNTIME_MAX, user)
    check.equal("confinement: the daemon has no capabilities", {machine.status(name) for name in (
        "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}, {"0" * 16})
    check.equal("confinement: the daemon gets no new privileges, and its system calls are filtered",
                (machine.status("NoNewPrivs"), machine.status("Seccomp")), ("1", "2"))
    state = machine.path("/var/lib/private/widgetd")
    held = os.stat(state)
    check.equal("confinement: the daemon owns its state", (held.st_uid, oct(held.st_mode & 0o777)),
                (user, "0o700"))
    check.that("confinement: the daemon sees its state", os.path.exists(
        machine.of_daemon("root/var/lib/widgetd/widgetd.db")))
    hidden = [name for name in ("home", "root", "boot", "var/log", "var/lib/dpkg", "srv", "mnt")
              if os.path.isdir(machine.of_daemon(f"root/{name}"))
              and os.listdir(machine.of_daemon(f"root/{name}"))]
    check.equal("confinement: the daemon does not see homes, logs and other folders", hidden, [])
    written = []
    for name in ("etc", "usr", "run/widgetd", "var/lib", ""):
        try:
            path = machine.of_daemon(f"root/{name}/probe")
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
            os.unlink(path)
            written.append("/" + name)
        except OSError:
            pass
    check.equal("confinement: the daemon can write nowhere else", written, [])
    with open(machine.of_daemon("net/dev"), encoding="ascii") as file:
        devices = [line.split(":")[0].strip() for line in file if ":" in line]
    check.equal("confinement: the daemon has no network", devices, ["lo"])
    pid = str(machine.main_pid())
    programs = os.listdir(machine.of_daemon("root/usr/bin"))
    check.equal("confinement: the daemon sees only its own program and the one that reloads it",
                sorted(programs), ["widgetctl", "widgetd"])
    run = machine.run("nsenter", "-t", pid, "-m", "--", "/usr/bin/widgetctl", "--version")
    check.equal("confinement: the daemon can run the programs that it sees", run.returncode, 0)
    with open(machine.of_daemon("mountinfo"), encoding="utf-8") as file:
        mounts = [line.split()[4:6] for line in file]
    both = [path for path, options in mounts
            if {"rw", "noexec"} - set(options.split(",")) == {"noexec"}]
    check.equal("confinement: the daemon cannot run files that it can write", both, [])


def access(check, machine, _):
    machine.run("useradd", "-m", "-G", "widgetd-clients", "reader")
    machine.run("useradd", "-m", "stranger")
    told = machine.ctl("add", "clock", "--id", "made")
    check.equal("access: root makes widgets", told.returncode, 0)
    told = machine.ctl("get", "clock", "--field", "data.text", user="reader")
    check.equal("access: a member of widgetd-clients reads widgets",
                (told.returncode, told.stdout.strip()), (0, "12:00"))
    check.equal("access: a member of widgetd-clients sends events",
                machine.ctl("send", "clock", "click", user="reader").returncode, 0)
    told = machine.ctl("set", "clock", "text=13:00", user="reader")
    check.equal("access: a member of widgetd-clients changes nothing", told.returncode, 6)
    number = machine.run("id", "-u", "reader").stdout.strip()
    machine.write("/etc/subuid", "reader:700000:65536\n")
    machine.systemctl("reload", "widgetd.service")
    told = machine.run("setpriv", "--reuid", "700005", "--regid", "700005", "--groups",
                       "widgetd-clients", "widgetctl", "set", "clock", "text=13:00")
    check.that("access: a process with a subordinate uid counts as the user of the range",
               told.returncode == 6 and f"user {number} may not" in told.stderr.lower(),
               (number, told.returncode, told.stderr))
    told = machine.ctl("ls", user="stranger")
    check.that("access: a user outside the group is refused with a message",
               told.returncode != 0 and "ermission denied" in told.stderr
               and told.stdout == "", (told.returncode, told.stdout, told.stderr))


def journal(check, machine, _):
    def entries_of(*matches):
        return machine.journal("_SYSTEMD_UNIT=widgetd.service", *matches)

    def serves():
        return [entry for entry in entries_of() if str(entry.get("MESSAGE", "")).startswith("serving")]

    serving = eventually(serves)
    entries = entries_of()
    if not check.that("journal: the daemon says that it serves", serving, entries[-3:]):
        return
    entry = serving[-1]
    check.equal("journal: the messages have the daemon's name and priority",
                (entry.get("SYSLOG_IDENTIFIER"), entry.get("PRIORITY")), ("widgetd", "5"))
    stores = [name for name, value in entry.items() if name.endswith("STORE") and value == "sqlite"]
    check.equal("journal: details are separate fields", len(stores), 1)
    noise = [entry["MESSAGE"] for entry in entries if int(entry.get("PRIORITY", 6)) <= 4
             or "Failed" in str(entry.get("MESSAGE"))]
    check.equal("journal: there are no warnings", noise, [])

    def found(code):
        return [entry for entry in entries_of(f"CODE={code}") if entry.get("METHOD")]

    labels = [word for number in range(65) for word in ("--label", f"l{number}=x")]
    machine.ctl("add", "note", "--id", "crowded", *labels)
    quota = eventually(lambda: found("RESOURCE_EXHAUSTED"))
    check.equal("journal: messages about the daemon have the default level, with their fields",
                [(e["METHOD"], e["PEER_UID"], e["PRIORITY"], e.get("REVISION", "").isdigit())
                 for e in quota],
                [("widgetd.v1.WidgetService/CreateWidget", "0", "4", True)])
    machine.ctl("log-level", "debug")
    machine.ctl("get", "journal-ghost")
    machine.ctl("log-level", "info")
    ghosts = eventually(lambda: [
        entry for entry in found("NOT_FOUND") if entry.get("WIDGET_ID") == "journal-ghost"])
    check.that("journal: messages about a call at debug have widget, method, user and source",
               len(ghosts) == 1 and ghosts[0]["METHOD"].endswith("/GetWidget")
               and ghosts[0]["PEER_UID"] == "0" and ghosts[0]["CODE_FILE"].endswith(".swift"),
               ghosts)


def diagnosis(check, machine, _):
    """The doctor finds a fault of the service, and its command repairs the fault."""
    def doctor(*prefix, user=None, timeout="1m"):
        told = machine.run(*prefix, "widgetctl", "doctor", "-o", "json", "--timeout", timeout,
                           user=user)
        return {entry["check"]: entry for entry in json.loads(told.stdout)["checks"]}

    def failed(checks):
        return [name for name, entry in checks.items() if entry["grade"] == "fail"]

    def mends(what, name, words, timeouts=("1m",)):
        """`words` can name the timeout as TIMEOUT."""
        # On a busy machine, a short timeout can be too short for other answers.
        for timeout in timeouts:
            checks = doctor(timeout=timeout)
            found = checks.get(name, {})
            is_found = (failed(checks)[:1] == [name]
                        and words.replace("TIMEOUT", timeout) in found["found"])
            if is_found:
                break
        check.that(f"diagnosis: {what} is found", is_found, checks)
        machine.run("sh", "-c", found.get("mend", "true"))

    def well(what):
        check.that(f"diagnosis: {what}: no fault is found any more",
                   eventually(lambda: not failed(doctor())),
                   doctor())

    status = json.loads(machine.ctl("status", "--timeout", "1m", "-o", "json").stdout)
    check.that("diagnosis: status tells the service's process and memory",
               status["state"] == "running" and status["pid"] == machine.main_pid()
               and status["memoryBytes"] > 1 << 20, status)
    machine.run("useradd", "-m", "patient")
    found = doctor(user="patient").get("permission", {})
    check.that("diagnosis: a user outside the group is told how to join it",
               found["grade"] == "fail" and found.get("mend")
               == "sudo usermod -aG widgetd-clients patient; newgrp widgetd-clients", found)
    machine.run("usermod", "-aG", "widgetd-clients", "patient")
    found = doctor("setpriv", "--reuid=patient", "--regid=patient", "--clear-groups")["permission"]
    check.that("diagnosis: one who joined after the login is told to log in again",
               found["grade"] == "fail" and "but not in this session" in found["found"]
               and found.get("mend") == "newgrp widgetd-clients", found)
    checks = doctor(user="patient")
    check.that("diagnosis: one who did is told what is allowed", not failed(checks)
               and checks["level"]["found"].startswith("client: patient may read"), checks)

    machine.systemctl("stop", *UNITS)
    mends("a service that is turned off", "file", "there is nothing")
    well("turned on")
    machine.systemctl("stop", *UNITS)
    machine.systemctl("mask", *UNITS)
    mends("a service that is masked", "file", "there is nothing")
    well("not masked any more")
    os.unlink(machine.path(SOCKET))
    mends("a socket that somebody removed", "file", "although widgetd.socket is active")
    well("with a socket again")
    machine.kill(signal.SIGSTOP)
    mends("a daemon that is stopped", "health",
          f"(widgetd, process {machine.main_pid()}) does not answer within TIMEOUT, because it is "
          "stopped", timeouts=("1s", "10s", "30s"))
    well("going on")
    machine.configure(LOG_LEVEL="loud")
    machine.systemctl("stop", "widgetd.service")
    slow_starts(machine)
    gives_up(machine, "health", "--timeout", "5s")
    machine.no_drop_in()
    machine.configure()
    mends("a service that failed", "file", "there is nothing")
    well("with settings that can be used")


def slow_starts(machine):
    """The limit of starts in a minute becomes one of starts in an hour, for slow machines."""
    machine.drop_in("[Unit]\nStartLimitIntervalSec=1h\n")
    # Earlier starts do not count.
    machine.systemctl("reset-failed", "widgetd.socket", "widgetd.service")


def gives_up(machine, *command):
    """Runs a command of widgetctl until systemd does not start the daemon for it any more."""
    def has_given_up():
        machine.ctl(*command)
        return machine.state("widgetd.socket") == "failed"

    return eventually(has_given_up, 5 * PATIENCE)


def reloading(check, machine, _):
    machine.configure(LIMITS_WIDGETS_MAX=4321)
    pid = machine.main_pid()
    told = machine.systemctl("reload", "widgetd.service")
    check.equal("reload: systemctl reload succeeds", (told.returncode, told.stderr), (0, ""))
    with machine.connect() as connection:
        found = connection.call("GetStats")["limits"]["widgets_max"]
    check.equal("reload: the new settings are in force when systemctl returns", found, 4321)
    machine.configure(LIMITS_WIDGETS_MAX="many")
    told = machine.systemctl("reload", "widgetd.service")
    check.that("reload: systemctl reload fails with invalid settings", told.returncode != 0)
    check.equal("reload: the daemon keeps running, in the same process",
                (machine.state(), machine.main_pid()), ("active", pid))
    with machine.connect() as connection:
        found = connection.call("GetStats")["limits"]["widgets_max"]
    check.equal("reload: the daemon keeps its former settings", found, 4321)
    def entries():
        return machine.journal("-u", "widgetd.service", "-n", "50")

    check.that("reload: the journal says which setting is wrong", eventually(lambda: any(
        "widgets_max" in str(entry.get("MESSAGE", "")) and "many" in str(entry.get("MESSAGE", ""))
        or "many" in str(entry) for entry in entries())), [e.get("MESSAGE") for e in entries()[-4:]])
    machine.configure()
    machine.systemctl("set-environment", "WIDGETD_SOCKET=/nowhere")
    told = machine.systemctl("reload", "widgetd.service")
    machine.systemctl("unset-environment", "WIDGETD_SOCKET")
    check.equal("reload: a variable of systemd's does not send it to another socket",
                (told.returncode, told.stderr), (0, ""))


def restarting(check, machine, _):
    """A clean restart: the watch goes on over the same connection."""
    writer, follower = Writer(machine, "restarted"), Follower(machine)
    pid, connections = machine.main_pid(), follower.connections
    for _ in range(3):
        told = machine.systemctl("restart", "widgetd.service")
        writer.goes_on()
    writer.stop()
    check.equal("restart: systemctl restart succeeds", (told.returncode, told.stderr), (0, ""))
    check.that("restart: the daemon is another process", machine.running(pid))
    check.equal("restart: no client is refused meanwhile", writer.refused[:3], [])
    check.that("restart: a watch reaches the last change", follower.reaches(writer.revision),
               (follower.failure, follower.mirror.revision, writer.revision))
    wrong = follower.verdict()
    check.that("restart: a watch has every change once", wrong is None, wrong)
    check.equal("restart: over its first connection", follower.connections, connections)
    check.equal("restart: calls go on over their connection", writer.lost, 0)


def crowding(check, machine, _):
    """Far more connections than the messages that the manager reads at once, over several
    restarts."""
    crowd, watches = [], []
    for number in range(150):
        connection = machine.connect()
        connection.call("GetWidget", id="clock")
        crowd.append(connection)
        if number % 3 == 0:
            watches.append(connection.stream("WatchEvents", names=[f"e{number}"]))
    for watch in watches:
        next(iter(watch))
    counts = []
    for _ in range(3):
        told = machine.systemctl("restart", "widgetd.service")
        check.equal("crowd: systemctl restart succeeds", (told.returncode, told.stderr), (0, ""))
        lost = 0
        for number, connection in enumerate(crowd):
            if number % 3 == 0:
                continue
            try:
                connection.call("GetWidget", id="clock")
            except (Lost, TimeoutError):
                lost += 1
        # systemd reads the daemon's messages about descriptors later than the clients their answers.
        eventually(lambda: machine.shows("widgetd.service", "NFileDescriptorStore") == "0")
        counts.append((lost, machine.shows("widgetd.service", "NFileDescriptorStore")))
    check.equal("crowd: 150 connections go on each time, and none is kept beyond its use", counts,
                [(0, "0")] * 3)
    # Each stream is still that of the connection that asked for it.
    for number in range(0, 150, 3):
        machine.ctl("send", "clock", f"e{number}", "--force")
    heard = []
    for watch in watches:
        frame = next(iter(watch))
        heard.append([event["name"] for event in frame["events"]["events"]])
    check.equal("crowd: every stream still has its own client",
                heard, [[f"e{number}"] for number in range(0, 150, 3)])
    for connection in crowd:
        connection.close()


def two_sockets(check, machine, _):
    machine.drop_in("[Socket]\nListenStream=/run/widgetd/second.sock\n", unit="widgetd.socket")
    machine.systemctl("restart", "widgetd.socket", "widgetd.service")
    check.that("two sockets: it runs", eventually(lambda: machine.running()), machine.state())
    for path in (SOCKET, "/run/widgetd/second.sock"):
        told = machine.run("widgetctl", "--socket", path, "health", "--timeout", "100s")
        check.equal(f"two sockets: {path} is served", told.returncode, 0)
    # A service that does not become ready: until it listens, the kernel names systemd as the
    # listener.
    machine.drop_in("[Service]\nExecStartPre=/usr/bin/widgetctl health --timeout 1h\n")
    machine.systemctl("stop", "widgetd.service")
    machine.systemctl("restart", "widgetd.socket")
    for timeout in ("1s", "10s", "30s"):
        told = machine.run("widgetctl", "doctor", "--socket", "/run/widgetd/second.sock", "-o",
                           "json", "--timeout", timeout)
        found = {entry["check"]: entry
                 for entry in json.loads(told.stdout)["checks"]}.get("health", {})
        is_found = ("(systemd, process 1)" in found.get("found", "") and found.get("mend")
                    == "systemctl restart widgetd.socket widgetd.service")
        if is_found:
            break
    check.that("two sockets: the doctor's command restarts the hanging service, without a kill",
               is_found, found)
    machine.no_drop_in()
    machine.no_drop_in(unit="widgetd.socket")
    machine.systemctl("restart", "widgetd.socket", "widgetd.service")
    eventually(lambda: machine.running())


def killing(check, machine, _):
    writer, follower = Writer(machine, "killed"), Follower(machine)
    with machine.connect() as connection:
        epoch = connection.call("GetStats")["epoch"]
    restarts = int(machine.shows("widgetd.service", "NRestarts"))
    back = []
    for _ in range(5):
        pid = machine.main_pid()
        machine.kill(signal.SIGKILL, pid)
        back.append(bool(eventually(lambda: machine.running(pid))))
        writer.goes_on()
    writer.stop()
    check.equal("kill -9: five in a row, and it comes back each time", back, [True] * 5)
    check.equal("kill -9: systemd counts the restarts",
                int(machine.shows("widgetd.service", "NRestarts")) - restarts, 5)
    check.equal("kill -9: no client is refused meanwhile", writer.refused[:3], [])
    check.that("kill -9: a watch reaches the last change", follower.reaches(writer.revision),
               (follower.failure, follower.mirror.revision, writer.revision))
    wrong = follower.verdict()
    check.that("kill -9: and has every change once", wrong is None, wrong)
    with machine.connect() as connection:
        check.equal("kill -9: it is the same history", connection.call("GetStats")["epoch"], epoch)
    check.equal("kill -9: the stored state is there",
                machine.ctl("get", "clock", "--field", "data.text").stdout.strip(), "12:00")


def watchdog(check, machine, _):
    usec = machine.shows("widgetd.service", "WatchdogUSec")
    check.that("watchdog: the unit has a watchdog", usec not in ("0", "infinity", ""), usec)

    def heard():
        return int(machine.shows("widgetd.service", "WatchdogTimestampMonotonic") or 0)

    # A machine that stops for seconds has a longer time.
    for seconds in (4, 10, 30):
        machine.drop_in(f"[Service]\nWatchdogSec={seconds}s\n")
        machine.systemctl("restart", "widgetd.service")
        pid = machine.main_pid()
        enough = heard() + 2_000_000 * seconds
        eventually(lambda enough=enough, pid=pid: heard() >= enough or machine.main_pid() != pid)
        is_kept = heard() >= enough and machine.main_pid() == pid
        if is_kept:
            break
    check.that("watchdog: a daemon that reports in time is not ended", is_kept,
               (pid, machine.main_pid()))
    follower = Follower(machine)
    machine.kill(signal.SIGSTOP, pid)
    check.that("watchdog: a daemon that hangs is ended, and started again",
               eventually(lambda: machine.running(pid)), machine.shows("widgetd.service", "Result"))
    check.that("watchdog: the journal has the timeout of the watchdog", eventually(lambda: any(
        "atchdog timeout" in str(entry.get("MESSAGE", ""))
        for entry in machine.journal("UNIT=widgetd.service", "-n", "100"))))
    machine.ctl("set", "clock", "text=12:01")
    with machine.connect() as connection:
        revision = connection.call("GetStats")["revision"]
    check.that("watchdog: a watch goes on without a gap", follower.reaches(revision)
               and follower.verdict() is None,
               (follower.failure, follower.mirror.revision, revision))
    machine.no_drop_in()
    machine.systemctl("restart", "widgetd.service")


def storm(check, machine, _):
    """Starts that cannot succeed, with a client that causes them."""
    machine.systemctl("reset-failed")
    machine.configure(STORE="paper")
    slow_starts(machine)
    told = machine.systemctl("restart", "widgetd.service")
    check.that("storm: the daemon does not start with settings that cannot be used",
               told.returncode != 0)
    def entries():
        return machine.journal("_SYSTEMD_UNIT=widgetd.service", "-n", "20")

    check.that("storm: the journal says which setting is wrong", eventually(lambda: any(
        "paper" in str(entry.get("MESSAGE", "")) and "sqlite" in str(entry.get("MESSAGE", ""))
        for entry in entries())), [entry.get("MESSAGE") for entry in entries()])
    check_log(check, machine, "widgetd", {"paper": "3"})
    check.that("storm: clients cannot cause endless starts",
               gives_up(machine, "ls", "--timeout", "2s"), machine.state("widgetd.socket"))
    machine.no_drop_in()
    machine.configure()
    machine.systemctl("reset-failed", "widgetd.socket", "widgetd.service")
    machine.systemctl("start", "widgetd.socket")
    told = machine.ctl("get", "clock", "--field", "data.text")
    check.that("storm: after a correction, the two commands of docs/service.md start it again",
               told.returncode == 0, (told.stderr, machine.systemctl(
                   "status", "widgetd.socket", "widgetd.service").stdout))
    machine.drop_in("[Service]\nRestartSec=10ms\n[Unit]\nStartLimitBurst=4\n"
                    "StartLimitIntervalSec=1h\n")
    machine.systemctl("restart", "widgetd.service")

    def given_up():
        pid = machine.main_pid()
        if pid:
            machine.kill(signal.SIGKILL, pid)
        return machine.state() == "failed"

    check.that("storm: a daemon that dies again and again is given up", eventually(given_up))
    machine.no_drop_in()
    machine.systemctl("reset-failed", "widgetd.socket", "widgetd.service")
    machine.systemctl("start", "widgetd.socket")
    check.equal("storm: the daemon starts again on request", machine.ctl("health").returncode, 0)
