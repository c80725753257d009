#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Client lifetimes under one corund: what it holds of memory and descriptors must not grow with their number.

    scripts/soak_daemon.py CORUN PROGRAM [LIFETIMES [SHARE_OF_PROGRAMS]]
    scripts/soak_daemon.py CORUN PROGRAM --minutes MINUTES [SEED]

Most lifetimes are connections that say what a client says (join, a context, leave; or garbage, a partial message, an end in the middle), one in
SHARE_OF_PROGRAMS [200] is PROGRAM under `corun share`, every fourth of these is killed. Prints a row for each tenth of them: memory (resident, and the
part that is not shared), descriptors, mappings. Ends with 1 if there are more than two descriptors or mappings more in the last row than in the second, or the memory by more than
a twentieth.

With --minutes, drawn from the seed [18]: programs that run, are killed, stand still and go on, beside those connections; policies, goals, files of the configuration with
SIGHUP (limits, patience, metrics), and another corund in its place (SIGUSR2), as long as that.
"""
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HEADER = struct.Struct("<II")
CONTEXT, LIST = 1, 15  # rows of src/wire/messages.def


def status(pid):
    """Resident and private KiB, descriptors, mappings."""
    fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    rss, anonymous = (int(fields[name].split()[0]) for name in ("VmRSS", "RssAnon"))
    return rss, anonymous, len(os.listdir(f"/proc/{pid}/fd")), len(pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines())


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(path)
    return client


def join_of(corun, path):
    """The bytes with which a program joins, from one that does, so that sizes and versions are those of this build."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(2)
    program = subprocess.Popen([corun, "share", "--socket", path, "--", PROGRAM], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while True:  # the command looks whether there is a daemon, then the program comes
            client, _ = listener.accept()
            head = client.recv(HEADER.size, socket.MSG_WAITALL)
            if len(head) == HEADER.size:
                body = client.recv(HEADER.unpack(head)[1], socket.MSG_WAITALL)
                return head + body
            client.close()
    finally:
        program.kill()
        program.wait()
        listener.close()
        os.unlink(path)


def live(path, join, kind):
    """One lifetime of a connection."""
    client = connect(path)
    try:
        if kind == 0:  # a whole life: joins, has a context, is gone
            client.sendall(join + HEADER.pack(CONTEXT, 4) + bytes(4))
            client.recv(65536)
        elif kind == 1:  # ends in the middle of a message
            client.sendall(join + HEADER.pack(CONTEXT, 4)[:5])
        elif kind == 2:
            client.sendall(random.randbytes(64))
        elif kind == 3:  # asks, and does not read
            client.sendall((HEADER.pack(LIST, 4) + bytes(4)) * 20)
        elif kind == 4:  # several contexts, the files of which it never takes
            client.sendall(join + (HEADER.pack(CONTEXT, 4) + bytes(4)))
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        client.close()


def main():
    lifetimes = int(sys.argv[3]) if len(sys.argv) > 3 else 5000
    each = int(sys.argv[4]) if len(sys.argv) > 4 else 200
    random.seed(18)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        join = join_of(CORUN, path)
        daemon = subprocess.Popen([CORUN, "daemon", "--simulate", "gtx980:sms=2", "--quiet", "--socket", path], stdin=subprocess.DEVNULL)
        while not os.path.exists(path):
            time.sleep(0.05)
        try:
            begun = time.monotonic()
            for number in range(1, lifetimes + 1):
                if number % each:
                    live(path, join, number % 5)
                else:
                    program = subprocess.Popen([CORUN, "share", "--socket", path, "--", PROGRAM], stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
                    if number // each % 4 == 0:
                        time.sleep(random.uniform(0.05, 0.3))
                        os.killpg(program.pid, signal.SIGKILL)
                        program.wait()
                    elif program.wait(120) != 0:
                        raise SystemExit("a program has failed")
                if number % max(1, lifetimes // 10) == 0:
                    subprocess.run([CORUN, "ps", "--socket", path], stdout=subprocess.DEVNULL, check=True)  # all before it has been done
                    rows.append(status(daemon.pid))
                    print(f"{number:7} lifetimes, {time.monotonic() - begun:6.1f} s: {rows[-1][0]:7} KiB resident, {rows[-1][1]:7} KiB of its own, "
                          f"{rows[-1][2]:3} descriptors, {rows[-1][3]:4} mappings", flush=True)
            daemon.send_signal(signal.SIGTERM)
            if daemon.wait(30) != 0:
                raise SystemExit("corund has failed")
        finally:
            daemon.kill()
            daemon.wait()
    judge(rows)


POLICIES = "even smk smqos:gate=off left-over fixed spart-qos priority warped-slicer".split()


class Random:
    """What happens to one corund, drawn from a seed."""
    def __init__(self, folder, seed):
        self.drawn, self.folder, self.path, self.programs, self.counts = random.Random(seed), folder, f"{folder}/socket", [], {}
        self.join = join_of(CORUN, self.path)
        self.configure()
        self.daemon = subprocess.Popen([CORUN, "daemon", "--quiet", "--configuration", f"{folder}/corund.yaml"], stdin=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        while not os.path.exists(self.path):
            time.sleep(0.05)

    def configure(self):
        rows = ["{user: 0}", "{group: 0, memory: %dM}" % self.drawn.randint(1, 100), "{user: 1, clients: %d}" % self.drawn.randint(1, 5), "{share: 0.5, clients: 2}"]
        lines = ["simulate: [\"gtx980:sms=2\", \"gtx980:sms=4\"]", f"socket: {self.path}", f"patience: {self.drawn.choice(['1s', '10s'])}"]
        lines += [f"limits: [{', '.join(self.drawn.sample(rows[:3], self.drawn.randint(0, 3)) + self.drawn.choice([[], rows[3:]]))}]"]
        lines += [f"metrics: {self.folder}/corund.prom", "metrics_interval: 1s"] * self.drawn.randint(0, 1)
        with open(f"{self.folder}/new.yaml", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(f"{self.folder}/new.yaml", f"{self.folder}/corund.yaml")  # corund may read it at any moment

    def ask(self, *words):
        subprocess.run([CORUN, *words], env=dict(os.environ, CORUN_DAEMON_SOCKET=self.path), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=300, check=False)

    def start(self):
        goal = self.drawn.choice([[], ["--goal", f"ipc={self.drawn.randint(1, 100)}"], ["--isolated", "200", "--goal", "30%"]])
        if len(self.programs) < 6:
            self.programs.append(subprocess.Popen([CORUN, "share", "--socket", self.path, *goal, "--", PROGRAM], stdin=subprocess.DEVNULL,
                                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True))

    def signal_one(self, number):
        if self.programs:
            one = self.drawn.choice(self.programs)
            if one.poll() is None:
                os.killpg(one.pid, number)

    def hold(self):
        self.signal_one(signal.SIGSTOP)
        time.sleep(self.drawn.uniform(0, 0.3))
        for one in self.programs:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGCONT)

    def reload(self):
        self.configure()
        self.daemon.send_signal(signal.SIGHUP)

    def one(self):
        what = self.drawn.choices(["connect", "start", "kill", "hold", "policy", "goal", "reload", "upgrade", "list"], [200, 20, 6, 3, 5, 5, 4, 1, 3])[0]
        self.counts[what] = self.counts.get(what, 0) + 1
        if what == "connect":
            live(self.path, self.join, self.drawn.randrange(5))
        elif what == "start":
            self.start()
        elif what == "kill":
            self.signal_one(signal.SIGKILL)
        elif what == "hold":
            self.hold()
        elif what == "policy":
            self.ask("policy", *self.drawn.choice([[], ["--gpu", "1"]]), self.drawn.choice(POLICIES))
        elif what == "goal" and self.programs:
            self.ask("goal", str(self.drawn.choice(self.programs).pid), self.drawn.choice(["none", "ipc=5", "20%"]))
        elif what == "reload":
            self.reload()
        elif what == "upgrade":
            self.daemon.send_signal(signal.SIGUSR2)
        elif what == "list":
            self.ask("ps")
        self.programs = [one for one in self.programs if one.poll() is None]

    def settle(self):
        """Nobody is there any more."""
        for one in self.programs:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
                one.wait()
        self.programs = []
        for _ in range(3):
            self.ask("ps")
            time.sleep(0.2)


def soak(minutes, seed):
    """A row for each tenth of the time."""
    rows, begun = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        rounds = Random(folder, seed)
        try:
            for tenth in range(1, 11):
                while time.monotonic() - begun < 6 * tenth * minutes:
                    try:
                        rounds.one()
                    except ConnectionRefusedError:
                        time.sleep(0.1)  # nobody listens: it has ended
                    if rounds.daemon.poll() is not None:
                        raise SystemExit(f"corund has ended with {rounds.daemon.returncode} after {rounds.counts}")
                rounds.settle()
                rows.append(status(rounds.daemon.pid))
                print(f"{time.monotonic() - begun:7.0f} s: {rows[-1][0]:7} KiB resident, {rows[-1][1]:7} KiB of its own, {rows[-1][2]:3} descriptors, "
                      f"{rows[-1][3]:4} mappings; {rounds.counts}", flush=True)
            rounds.daemon.send_signal(signal.SIGTERM)
            if rounds.daemon.wait(30) != 0:
                raise SystemExit("corund has failed")
        finally:
            rounds.daemon.kill()
            rounds.daemon.wait()
    half = [tuple(map(max, zip(*part))) for part in (rows[:5], rows[5:])]  # another corund begins with little
    judge(half)


def judge(rows):
    first, last = rows[1 if len(rows) > 2 else 0], rows[-1]
    sys.exit(last[2] > first[2] + 2 or last[3] > first[3] + 2 or last[1] > 1.05 * first[1])


CORUN, PROGRAM = (os.path.abspath(word) for word in sys.argv[1:3])
if sys.argv[3:4] == ["--minutes"]:
    soak(float(sys.argv[4]), int(sys.argv[5]) if len(sys.argv) > 5 else 18)
else:
    main()
