# SPDX-License-Identifier: Apache-2.0
"""Starts the tasks of a cluster as processes of the command line tool; for tests and benchmarks."""
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python/tests"))
from ports import free_ports


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _stands_still(pid):
    def state(thread):
        with open(f"/proc/{pid}/task/{thread}/stat") as f:
            return f.read().rpartition(")")[2].split()[0]
    try:
        return all(state(thread) == "T" for thread in os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:  # a thread has ended meanwhile
        return False


class Cluster:
    """Tasks like {"ps": 1, "worker": 2}, started and stopped by name: cluster.kill("ps", 0)."""

    def __init__(self, program, start=True, flags=(), status_pages=False, **jobs):
        self.program, self.flags = program, list(flags)
        ports = iter(free_ports(2 * sum(jobs.values())))
        self.spec = {job: [f"127.0.0.1:{next(ports)}" for _ in range(count)] for job, count in jobs.items()}
        self.processes = {}
        self.status_ports = {}
        if status_pages:
            self.status_ports = {(job, task): next(ports) for job, count in jobs.items() for task in range(count)}
        if start:
            for job, count in jobs.items():
                for task in range(count):
                    self.start(job, task)

    def start(self, job, task, wait=True):
        command = [self.program, "server", "--cluster", json.dumps(self.spec), "--job_name", job, "--task_index", str(task)]
        if (job, task) in self.status_ports:
            command += ["--status_port", str(self.status_ports[job, task])]
        log = None if os.environ.get("SHOW_SERVERS") else subprocess.DEVNULL
        self.processes[job, task] = subprocess.Popen(command + self.flags, stdout=log, stderr=log, preexec_fn=_die_with_parent)
        if wait:
            self.wait(job, task)

    def wait(self, job, task, seconds=60):
        """Until the task serves, and its status page too if it has one."""
        ports = [int(self.spec[job][task].rsplit(":", 1)[1])]
        if (job, task) in self.status_ports:
            ports.append(self.status_ports[job, task])  # comes second
        deadline = time.monotonic() + seconds
        while ports:
            try:
                socket.create_connection(("127.0.0.1", ports[0]), 0.5).close()
                ports.pop(0)
            except OSError:
                if self.processes[job, task].poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{job} {task} did not start") from None
                time.sleep(0.02)

    def target(self, job, task=0):
        return "grpc://" + self.spec[job][task]

    def status_url(self, job, task=0):
        return f"http://127.0.0.1:{self.status_ports[job, task]}/"

    def signal(self, job, task, number):
        process = self.processes[job, task]
        process.send_signal(number)
        deadline = time.time() + 60
        while number == signal.SIGSTOP and not _stands_still(process.pid):  # threads still answer for a moment
            assert time.time() < deadline, f"{job} {task} does not stop"
            time.sleep(0.001)

    def kill(self, job, task):
        process = self.processes.pop((job, task))
        process.kill()
        process.wait()

    def alive(self, job, task):
        return self.processes[job, task].poll() is None

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        self.processes.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
