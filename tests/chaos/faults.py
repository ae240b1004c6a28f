# SPDX-License-Identifier: Apache-2.0
"""What can go wrong. A fault is a function of (tasks, random) that breaks something and returns (what it did, how to mend it).

The harness waits for as long as the fault says, mends it, and then expects every worker to go on. A new fault is a function with
the decorator; `needs` names what it cannot do without.
"""
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Callable

FAULTS = {}


@dataclass
class Broken:
    what: str
    seconds: float
    mend: Callable[[], None]
    may_end_workers: bool = False  # a worker's program may end by an error, and is started again


def fault(needs=()):
    def register(function):
        FAULTS[function.__name__] = (function, frozenset(needs))
        return function
    return register


def _named(name):
    return f"{name[0]}:{name[1]}"


def _task(tasks, random, job=None):
    return random.choice([name for name in tasks.names if job in (None, name[0])])


def _killed(tasks, name, seconds):
    tasks.kill(name)
    return Broken(f"killed {_named(name)}, started again after {seconds:.1f} s", seconds, lambda: tasks.start(name))


@fault()
def kill_worker(tasks, random):
    return _killed(tasks, _task(tasks, random, "worker"), random.choice([0, 0.5, 3]))


@fault()
def kill_ps(tasks, random):
    return _killed(tasks, _task(tasks, random, "ps"), random.choice([0, 0.5, 3]))


@fault()
def kill_all_ps(tasks, random):
    names = [name for name in tasks.names if name[0] == "ps"]
    for name in names:
        tasks.kill(name)
    return Broken("killed every ps", random.choice([0, 1]), lambda: [tasks.start(name) for name in names])


@fault()
def stop_task(tasks, random):
    name, seconds = _task(tasks, random), random.choice([0.1, 1, 4, 12])
    tasks.send(name, signal.SIGSTOP)
    return Broken(f"stopped {_named(name)} for {seconds} s", seconds, lambda: tasks.send(name, signal.SIGCONT))


@fault(["network"])
def half_open(tasks, random):
    """Packets of one direction are lost: one end believes that all is well."""
    a, b = random.sample(range(tasks.hosts.count), 2)
    seconds = random.choice([0.5, 3, 12, 35, 45])
    tasks.hosts.drop(a, b)
    return Broken(f"dropped packets from host {a} to host {b} for {seconds} s", seconds, tasks.hosts.heal)


@fault(["network"])
def cut(tasks, random):
    a, b = random.sample(range(tasks.hosts.count), 2)
    seconds = random.choice([0.5, 3, 12, 35])
    tasks.hosts.drop(a, b)
    tasks.hosts.drop(b, a)
    return Broken(f"cut hosts {a} and {b} apart for {seconds} s", seconds, tasks.hosts.heal)


@fault(["network"])
def reset_connections(tasks, random):
    a, b = random.sample(range(tasks.hosts.count), 2)
    seconds = random.choice([0.2, 2])
    tasks.hosts.reset(a, b)
    return Broken(f"reset connections from host {a} to host {b} for {seconds} s", seconds, tasks.hosts.heal)


@fault(["network"])
def lose_packets(tasks, random):
    host, probability = random.randrange(tasks.hosts.count), random.choice([0.02, 0.2])
    tasks.hosts.lose(host, probability)
    return Broken(f"lost {probability:.0%} of the packets to host {host}", 4, tasks.hosts.heal)


_SQUATTER = """
import socket, sys, threading
address, answer = sys.argv[1], sys.argv[2].encode().decode("unicode_escape").encode("latin-1")
host, port = address.rsplit(":", 1)
server = socket.create_server((host, int(port)))
print("ready", flush=True)
held = []
while True:
    connection, _ = server.accept()
    if answer == b"close":
        connection.close()
        continue
    held.append(connection)
    if answer:
        connection.sendall(answer)
"""
_ANSWERS = {"says nothing": "", "closes connections": "close", "answers 404": "HTTP/1.1 404 Not Found\\r\\nContent-Length: 0\\r\\n\\r\\n",
            "answers garbage": "\\x00\\xff\\x17nonsense"}


@fault()
def squat_port(tasks, random):
    """Another program holds the address of a task that is away."""
    name, (how, answer) = _task(tasks, random), random.choice(list(_ANSWERS.items()))
    tasks.kill(name)
    command = tasks.hosts.command(tasks.host_of[name], [sys.executable, "-c", _SQUATTER, tasks.address[name], answer])
    squatter = subprocess.Popen(command, stdout=subprocess.PIPE)
    squatter.stdout.readline()

    def mend():
        squatter.kill()
        squatter.wait()
        tasks.start(name)
    return Broken(f"another program at the address of {_named(name)} {how}", random.choice([1, 6]), mend)


_CLIENT = """
import os, sys
import millstream as tf
with tf.device("/job:ps/task:0"):
    queue = tf.FIFOQueue(10, tf.float32, shared_name="nobody_fills_this")
    taken = queue.dequeue()
for _ in range(3):
    session = tf.Session(sys.argv[1])
    session.run(tf.constant(1))
print("ready", flush=True)
session.run(taken)
"""


@fault()
def client_vanishes(tasks, random):
    """A client with three sessions and a step that waits is killed."""
    name = _task(tasks, random)
    client = subprocess.Popen(tasks.hosts.command(tasks.host_of[name], [sys.executable, "-c", _CLIENT, "grpc://" + tasks.address[name]]),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=tasks.environment)
    client.stdout.readline()
    client.kill()
    client.wait()
    return Broken(f"a client of {_named(name)} vanished in the middle of a step", 0.5, lambda: None)


@fault(["checkpoints"])
def full_disk(tasks, random):
    filler = os.path.join(tasks.checkpoints, "filler")
    with open(filler, "wb") as f:
        try:
            while True:
                f.write(bytes(1 << 16))
                f.flush()
        except OSError:
            pass
    return Broken("filled the disk of the checkpoints", 4, lambda: os.remove(filler), may_end_workers=True)


@fault(["checkpoints"])
def read_only_disk(tasks, random):
    folder = tasks.checkpoints  # a second mount of it, since files that are open for writing keep the first one writable
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
    return Broken("made the disk of the checkpoints read-only", 4, lambda: subprocess.run(["umount", "-l", folder], check=True), may_end_workers=True)


@fault(["checkpoints"])
def damage_checkpoint(tasks, random):
    """The newest checkpoint loses half of its data, and a ps is killed: the one before is restored."""
    files = sorted((os.path.join(tasks.checkpoints, f) for f in os.listdir(tasks.checkpoints) if ".data-" in f), key=os.path.getmtime)
    name = _task(tasks, random, "ps")
    if len(files) >= 2:
        with open(files[-1], "r+b") as f:
            f.truncate(os.path.getsize(files[-1]) // 2)
    broken = _killed(tasks, name, 0.5)
    broken.what += " with the newest checkpoint cut in half"
    return broken


