# SPDX-License-Identifier: Apache-2.0
"""Starts the tasks of a cluster as processes of the command line tool; for tests and benchmarks."""
import ctypes
import json
import os
import signal
import socket
import subprocess
import time


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


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

    def wait(self, job, task, seconds=30):
        host, port = self.spec[job][task].rsplit(":", 1)
        for _ in range(int(seconds * 50)):
            try:
                socket.create_connection((host, int(port)), 0.5).close()
                return
            except OSError:
                if self.processes[job, task].poll() is not None:
                    break
                time.sleep(0.02)
        raise RuntimeError(f"{job} {task} did not start")

    def target(self, job, task=0):
        return "grpc://" + self.spec[job][task]

    def status_url(self, job, task=0):
        return f"http://127.0.0.1:{self.status_ports[job, task]}/"

    def signal(self, job, task, number):
        self.processes[job, task].send_signal(number)

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
