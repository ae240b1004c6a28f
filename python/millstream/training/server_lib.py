# SPDX-License-Identifier: Apache-2.0
"""tf.train.ClusterSpec and tf.train.Server."""
import atexit
import os
import socket
import sys
import time

from millstream import _core


class ClusterSpec:
    """The jobs of a cluster and the addresses of their tasks: {"ps": ["host:port"], "worker": {0: "host:port"}}."""

    def __init__(self, cluster):
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
    def jobs(self):
        return list(self._jobs)

    def _tasks(self, job_name):
        try:
            return self._jobs[job_name]
        except KeyError:
            raise ValueError(f"No such job in cluster: {job_name!r}") from None

    def num_tasks(self, job_name):
        return len(self._tasks(job_name))

    def task_indices(self, job_name):
        return sorted(self._tasks(job_name))

    def task_address(self, job_name, task_index):
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

    def as_dict(self):
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


def _make_server_def(server_or_cluster_def, job_name, task_index, protocol, config):
    from millstream.proto import tensorflow_server_pb2
    server_def = tensorflow_server_pb2.ServerDef()
    if hasattr(server_or_cluster_def, "job_name") and hasattr(server_or_cluster_def, "SerializeToString"):
        server_def.ParseFromString(server_or_cluster_def.SerializeToString())
    else:
        try:
            cluster = ClusterSpec(server_or_cluster_def)
        except TypeError:
            raise TypeError("Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or "
                            "`tf.train.ClusterSpec`.") from None
        server_def.cluster.CopyFrom(cluster.as_cluster_def())
    if job_name is not None:
        server_def.job_name = job_name
    if task_index is not None:
        server_def.task_index = task_index
    if protocol is not None:
        server_def.protocol = protocol
    if config is not None:
        server_def.default_session_config.ParseFromString(config.SerializeToString())
    jobs = [job.name for job in server_def.cluster.job]
    if not server_def.job_name:
        if len(jobs) != 1:
            raise ValueError(f"The `job_name` must be specified: the cluster has the jobs {jobs}")
        server_def.job_name = jobs[0]
        if task_index is None and len(server_def.cluster.job[0].tasks) != 1:
            raise ValueError("The `task_index` must be specified.")
    if not server_def.protocol:
        server_def.protocol = "grpc"
    return server_def


_running = []   # (server, ServerDef)
_trained = False


def note_training():
    """This process trains at a cluster: when it ends well, and no other worker is left, the ps tasks may end too."""
    global _trained
    _trained = True


@atexit.register
def _stop_all():
    """Threads of servers end before the interpreter does."""
    _core.begin_exit()
    ended_well = _trained and getattr(sys, "last_value", None) is None
    if "millstream.client.session" in sys.modules:
        sys.modules["millstream.client.session"].close_sessions_at_clusters()
        time.sleep(0.05 if _running else 0)  # threads that were in a step come out of it
    for server, server_def in _running:
        waits = server.done()
        server.stop()
        if ended_well and not waits:
            _end_ps_tasks(server_def)


def _answers(address):
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=0.5).close()
        return True
    except (OSError, ValueError):
        return False


def ps_addresses(target):
    """Of the cluster that this process's server with that target is in; [] if there is none."""
    for server, server_def in _running:
        if target and not server.done() and server.target() == target and server_def.job_name != "ps":
            return [address for job in server_def.cluster.job if job.name == "ps" for address in job.tasks.values()]
    return []


def _end_ps_tasks(server_def):
    """The last worker that ends tells the ps tasks, which would wait for ever otherwise."""
    if server_def.job_name == "ps" or os.environ.get("MILLSTREAM_KEEP_PS") == "1":
        return
    ps, others = [], []
    for job in server_def.cluster.job:
        for index, address in job.tasks.items():
            if job.name == "ps":
                ps.append(address)
            elif (job.name, index) != (server_def.job_name, server_def.task_index):
                others.append(address)
    if not ps or any(_answers(address) for address in others):
        return
    for address in ps:
        try:
            _core.end_job_at(address, f"/job:{server_def.job_name}/task:{server_def.task_index} was the last worker")
        except Exception:  # noqa: BLE001  this process ends anyway
            pass


class Server:
    """This process as a task of a cluster. Runs in the background from start() on; sessions connect to `target`."""

    def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None, config=None, start=True):
        self._server_def = _make_server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        self._server = None
        if start:
            self.start()

    def start(self):
        if self._server is None:
            self._server = _core.Server(self._server_def.SerializeToString())
            _running.append((self._server, self._server_def))

    def join(self):
        """Blocks until the server is stopped or its job is done."""
        self.start()
        self._server.join()

    def stop(self):
        if self._server is not None:
            self._server.stop()

    @property
    def server_def(self):
        return self._server_def

    @property
    def target(self):
        self.start()
        return self._server.target()

    @staticmethod
    def create_local_server(config=None, start=True):
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)
