# SPDX-License-Identifier: Apache-2.0
"""tf.train.ClusterSpec and tf.train.Server."""
from __future__ import annotations

import atexit
import sys
import time
from typing import TYPE_CHECKING

from millstream import _core
from millstream.training import exit_status, task_stop

if TYPE_CHECKING:
    from typing import Any


class ClusterSpec:
    """The jobs of a cluster and the addresses of their tasks: {"ps": ["host:port"], "worker": {0: "host:port"}}."""

    def __init__(self, cluster: Any) -> None:
        self._jobs = {}
        if isinstance(cluster, dict):
            for job, tasks in cluster.items():
                self._jobs[job] = self._tasks_of(job, tasks)
        elif isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        elif hasattr(cluster, "job"):  # a ClusterDef
            self._jobs = {job.name: dict(job.tasks) for job in cluster.job}
        else:
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a "
                            "`ClusterDef` protocol buffer")
        for job, tasks in self._jobs.items():
            for index, address in tasks.items():
                if not isinstance(address, str):
                    raise TypeError(f"Task address for job '{job}' task {index} must be bytes or unicode")

    @staticmethod
    def _tasks_of(job, tasks):
        if isinstance(tasks, (list, tuple)):
            items = dict(enumerate(tasks))
        elif isinstance(tasks, dict):
            items = {}
            for index, address in tasks.items():
                if not isinstance(index, int):
                    raise TypeError("The keys of `cluster` must be integers")
                items[index] = address
        else:
            raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")
        return {i: a.decode() if isinstance(a, bytes) else a for i, a in items.items()}

    @property
    def jobs(self) -> list[str]:
        return list(self._jobs)

    def _tasks(self, job_name):
        try:
            return self._jobs[job_name]
        except KeyError:
            raise ValueError(f"No such job in cluster: {job_name!r}") from None

    def num_tasks(self, job_name: Any) -> int:
        return len(self._tasks(job_name))

    def task_indices(self, job_name: Any) -> list[int]:
        return sorted(self._tasks(job_name))

    def task_address(self, job_name: Any, task_index: Any) -> str:
        try:
            return self._tasks(job_name)[task_index]
        except KeyError:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}") from None

    def job_tasks(self, job_name):
        tasks = self._tasks(job_name)
        addresses = [None] * (max(tasks) + 1 if tasks else 0)
        for index, address in tasks.items():
            addresses[index] = address
        return addresses

    def as_dict(self) -> Any:
        """Lists where tasks are numbered without gaps, dicts elsewhere."""
        return {job: [tasks[i] for i in range(len(tasks))] if set(tasks) == set(range(len(tasks))) else dict(tasks)
                for job, tasks in self._jobs.items()}

    def as_cluster_def(self):
        from millstream.proto import cluster_pb2
        cluster_def = cluster_pb2.ClusterDef()
        for job in sorted(self._jobs):
            definition = cluster_def.job.add(name=job)
            for index, address in sorted(self._jobs[job].items()):
                definition.tasks[index] = address
        return cluster_def

    def __bool__(self):
        return bool(self._jobs)

    def __eq__(self, other):
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __ne__(self, other):
        return not self == other

    def __repr__(self):
        parts = ", ".join(f"{job!r}: {tasks!r}" for job, tasks in sorted(self.as_dict().items()))
        return f"ClusterSpec({{{parts}}})"


class _Task:
    """What a ServerDef says. The message itself is made only for who asks: Python's protobuf takes 3 MB of a ps."""

    def __init__(self, server_or_cluster_def, job_name, task_index, protocol, config):
        is_message = hasattr(server_or_cluster_def, "job_name") and hasattr(server_or_cluster_def, "SerializeToString")
        base = server_or_cluster_def if is_message else None
        try:
            self.cluster = ClusterSpec(base.cluster if is_message else server_or_cluster_def)
        except TypeError:
            raise TypeError("Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or "
                            "`tf.train.ClusterSpec`.") from None
        self.job_name = job_name if job_name is not None else base.job_name if is_message else ""
        self.task_index = task_index if task_index is not None else base.task_index if is_message else 0
        if not self.job_name:
            jobs = self.cluster.jobs
            if len(jobs) != 1:
                raise ValueError(f"Must specify an explicit `job_name`. The cluster has the jobs {jobs}")
            self.job_name = jobs[0]
            if task_index is None and self.cluster.num_tasks(jobs[0]) != 1:
                raise ValueError("Must specify an explicit `task_index`.")
        self.serialized = _core.server_def(
            base.SerializeToString() if is_message else b"",
            [] if is_message else [(job, index, self.cluster.task_address(job, index))
                                   for job in sorted(self.cluster.jobs) for index in self.cluster.task_indices(job)],
            self.job_name, self.task_index, protocol or "", b"" if config is None else config.SerializeToString())


_running: list = []
_trained_at: set = set()  # targets


def note_training(target=""):
    """This process trains at a cluster: at its own server, or at that of `target`."""
    _trained_at.add(target)
    exit_status.watch()
    exit_status.forget()
    task_stop.install()


@atexit.register
def _stop_all():
    """Threads of servers end before the interpreter does. After a training that ended well, a worker's server tells the ps
    tasks that it leaves, and the last one's that they may end."""
    if exit_status.was_stopped():
        task_stop.save_all()
    _core.begin_exit()
    ended_well = not exit_status.failed() and not exit_status.was_stopped()
    sessions = sys.modules.get("millstream.client.session")
    if sessions is not None:
        sessions.close_sessions_at_clusters()
        time.sleep(0.05 if _running else 0)  # threads that were in a step come out of it
    own = {server.target() for server in _running}
    for server in _running:
        if ended_well and _trained_at:
            server.training_ended()
        elif ended_well and sessions is not None and server.target() in sessions.targets_used():
            server.client_ended()
    for target in _trained_at - own - {""} if ended_well else ():
        _core.leave_as_client(target)
    for server in _running:
        server.stop()


def _find(target):
    """The server of this process with that target, or None."""
    for server in _running:
        if target and not server.done() and server.target() == target:
            return server
    return None


def target_of_address(address):
    """The target of a server of this process that listens there ("host:port"); None if there is none."""
    for server in _running:
        if not server.done() and server.target().rpartition("//")[2] == address:
            return server.target()
    return None


def has_ps(target):
    """Whether the server of this process with that target works with ps tasks."""
    server = _find(target)
    return server is not None and server.has_ps()


def any_ps_answers(target):
    server = _find(target)
    return server is not None and server.any_ps_answers()


def job_is_done(target):
    """Whether a ps said so when a session was last made."""
    server = _find(target)
    return server is not None and server.told_job_is_done()


def told_to_stop():
    """Whether `millstream stop` has ended the job of a server of this process."""
    return any(server.told_to_stop() for server in _running)


def set_collective_leader(target, task):
    """The task that forms groups of collective ops from now on, for the server of this process with that target."""
    _find(target).set_collective_leader(task)


def drop_silent_peers(target):
    """Nobody in this process waits any more for tasks that do not answer."""
    server = _find(target)
    if server is not None:
        server.drop_silent_peers()


class Server:
    """This process as a task of a cluster. Runs in the background from start() on; sessions connect to `target`."""

    def __init__(self, server_or_cluster_def: Any, job_name: Any = None, task_index: Any = None, protocol: Any = None,
                 config: Any = None, start: bool = True) -> None:
        self._task = _Task(server_or_cluster_def, job_name, task_index, protocol, config)
        self._server = None
        self._stopped = False
        if start:
            self.start()

    def start(self) -> None:
        if self._server is None:
            exit_status.watch()
            task_stop.install()
            self._server = _core.Server(self._task.serialized)
            _running.append(self._server)

    def join(self):
        """Blocks until the server is stopped or its job is done. The end of the job ends the program (SystemExit): many TF1
        programs have the code of the workers after it, as TensorFlow's join() never returns. A signal does so too, once
        other tasks have saved what they have here, which they get some seconds for."""
        self.start()
        try:
            self._server.join()
        except (KeyboardInterrupt, task_stop.TaskStopped):
            self._server.end_job("interrupted")
            self._server.join()
            raise
        if not self._stopped:
            raise SystemExit(0)

    def stop(self) -> None:
        self._stopped = True
        if self._server is not None:
            self._server.stop()

    @property
    def server_def(self):
        from millstream.proto import tensorflow_server_pb2
        return tensorflow_server_pb2.ServerDef.FromString(self._task.serialized)

    @property
    def target(self):
        self.start()
        return self._server.target()

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)
