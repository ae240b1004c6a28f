# SPDX-License-Identifier: Apache-2.0
"""The processes of one training job under test, and what their workers have written so far."""
import ctypes
import json
import os
import secrets
import signal
import subprocess
import sys
import time

_HERE = os.path.dirname(os.path.abspath(__file__))
PORT = 2222


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class WorkerLog:
    """The lines of a worker, read as they come."""

    def __init__(self, path):
        self._path, self._offset, self.events = path, 0, []

    def read(self):
        try:
            with open(self._path, encoding="utf-8") as f:
                f.seek(self._offset)
                text = f.read()
        except FileNotFoundError:
            return self.events
        whole = text.rfind("\n") + 1  # a killed worker may leave half a line
        self._offset += len(text[:whole].encode())
        for line in text[:whole].splitlines():
            try:
                self.events.append(json.loads(line))
            except ValueError:
                self.events.append({"t": 0.0, "event": "torn"})
        return self.events

    def steps_since(self, moment):
        return sum(1 for e in reversed(self.read()[-2000:]) if e["event"] == "step" and e["t"] > moment)


class Tasks:
    """Tasks by name, such as ("ps", 0). Started, killed and started again as a supervisor would do it."""

    def __init__(self, hosts, folder, mode, num_ps, num_workers, links="", size=1000, pause=0.01):
        self.hosts, self.folder, self.mode = hosts, folder, mode
        self.names = [("ps", i) for i in range(num_ps)] + [("worker", i) for i in range(num_workers)]
        self.host_of = {name: i % hosts.count for i, name in enumerate(self.names)}
        ports = {name: PORT + i if hosts.has_network else 20000 + os.getpid() % 10000 + i for i, name in enumerate(self.names)}
        self.address = {name: f"{hosts.address(self.host_of[name])}:{ports[name]}" for name in self.names}
        self.checkpoints = os.path.join(folder, "checkpoints") if mode != "plain" else ""
        logs = [os.path.join(folder, f"worker{i}.jsonl") for i in range(num_workers)]
        config = {"cluster": {job: [self.address[n] for n in self.names if n[0] == job] for job in ("ps", "worker")},
                  "mode": mode, "checkpoints": self.checkpoints, "logs": logs, "pause": pause, "size": size}
        self._config = os.path.join(folder, "config.json")
        with open(self._config, "w", encoding="utf-8") as f:
            json.dump(config, f)
        token = os.path.join(folder, "token")
        with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as f:
            f.write(secrets.token_hex(16))
        self.environment = dict(os.environ, MILLSTREAM_TOKEN_FILE=token, MILLSTREAM_KEEP_PS="1", MILLSTREAM_FILE_ROOT=folder)
        if links:
            self.environment["MILLSTREAM_LINKS"] = links
        self.logs = {("worker", i): WorkerLog(path) for i, path in enumerate(logs)}
        self.processes = {}
        self.ps_lost = []  # when a ps was killed: values may fall back to a checkpoint afterwards

    def output(self, name):
        return os.path.join(self.folder, f"{name[0]}{name[1]}.out")

    def start(self, name):
        command = self.hosts.command(self.host_of[name], [sys.executable, os.path.join(_HERE, "workload.py"), self._config, name[0], str(name[1])])
        with open(self.output(name), "ab") as out:
            self.processes[name] = subprocess.Popen(command, env=self.environment, stdout=out, stderr=out, preexec_fn=_die_with_parent)

    def start_all(self):
        for name in self.names:
            self.start(name)

    def pid(self, name):
        """`ip netns exec` becomes the program, so it is the process that was started."""
        return self.processes[name].pid

    def kill(self, name):
        if name[0] == "ps":
            self.ps_lost.append(time.time())
        self.processes[name].kill()
        self.processes[name].wait()

    def send(self, name, number):
        if self.processes[name].poll() is None:
            self.processes[name].send_signal(number)

    def ended(self):
        """Those that have ended by themselves, with their exit codes."""
        return {name: process.returncode for name, process in self.processes.items() if process.poll() is not None}

    def behind(self, moment, steps=2):
        """Workers that have not had that many steps answered since then."""
        return [name for name, log in self.logs.items() if log.steps_since(moment) < steps]

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
        for process in self.processes.values():
            process.wait()
