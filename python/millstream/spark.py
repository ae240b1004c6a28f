# SPDX-License-Identifier: Apache-2.0
"""Clusters inside a Spark application: executors become the tasks of a job, and the cluster is gone when the job has ended.

    from millstream import spark

    def train(task):                       # the same function as every task
        if task.job_name == "ps":
            task.server.join()
        with tf.device(tf.train.replica_device_setter(cluster=task.cluster)):
            ...
        with tf.train.MonitoredTrainingSession(task.server.target, is_chief=task.is_chief) as session:
            ...
        return "anything that can be pickled"

    results = spark.run(sc, train, ps=1, workers=2)                                 # [of worker 0, of worker 1]
    spark.run(sc, ["python", "train.py", "--batch_size=64"], ps=1, workers=2)       # or a TF1 program

All tasks run in one barrier stage: Spark starts them together or not at all, so the application needs as many free slots as the job has
tasks. A failure of one ends all, and `run` raises it.
"""
import contextlib
import ctypes
import json
import os
import secrets
import signal
import socket
import subprocess
import threading
import time
from collections import namedtuple

__all__ = ["Task", "run"]

_GRACE_S = 10  # between SIGTERM and SIGKILL of a program


class Task(namedtuple("Task", ["job_name", "task_index", "cluster_spec"])):
    """Which task this is. `cluster_spec` is a dict like {"ps": ["host:port"], "worker": [...]}."""

    @property
    def is_chief(self):
        return self.job_name == "worker" and self.task_index == 0

    @property
    def cluster(self):
        from millstream.training import server_lib

        return server_lib.ClusterSpec(self.cluster_spec)

    @property
    def server(self):
        """This task's server, started when it is first asked for."""
        global _server  # pylint: disable=global-statement
        if _server is None:
            from millstream.training import server_lib

            _server = server_lib.Server(self.cluster, job_name=self.job_name, task_index=self.task_index)
        return _server

    @property
    def flags(self):
        """What TF1 programs take on their command lines."""
        hosts = [f"--{job}_hosts={','.join(addresses)}" for job, addresses in sorted(self.cluster_spec.items())]
        return hosts + [f"--job_name={self.job_name}", f"--task_index={self.task_index}"]

    @property
    def tf_config(self):
        return json.dumps({"cluster": self.cluster_spec, "task": {"type": self.job_name, "index": self.task_index}})


_server = None


def run(sc, program, ps=1, workers=2, insecure=False, environment=None):
    """Runs `program` as every task of a cluster of `ps` + `workers` executors' slots and returns when the workers have ended.

    sc: a SparkContext or SparkSession.
    program: a function of a `Task`, or a command as a list of strings, which gets `Task.flags` and TF_CONFIG.
    insecure: no job token; everybody may connect who can reach the executors.
    environment: a dict of variables to set for every task.
    Returns what the workers' functions returned, by index; exit codes (all 0) for a command. Raises RuntimeError before anything starts if the
    application has too few slots, and what Spark raises when a task fails.
    """
    sc = getattr(sc, "sparkContext", sc)
    if ps < 0 or workers < 1:
        raise ValueError(f"a job needs at least one worker, and not fewer than 0 ps: ps={ps}, workers={workers}")
    if not callable(program):
        program = [str(word) for word in program]
        if not program:
            raise ValueError("the command is empty")
    tasks = ps + workers
    slots = _count_slots(sc)
    if slots is not None and slots < tasks:
        raise RuntimeError(f"the job has {tasks} tasks, but the Spark application has {slots} slots: give it more executors or cores")
    token = "" if insecure else secrets.token_hex(32)
    settings = dict(environment or {}, MILLSTREAM_JOB_ID=secrets.token_hex(8))
    if insecure:
        settings["MILLSTREAM_INSECURE"] = "1"

    def of_partition(_):
        return _run_task(program, ps, token, settings)

    rows = sc.parallelize(range(tasks), tasks).barrier().mapPartitions(of_partition).collect()
    return [value for job, _, value in sorted(rows, key=lambda row: row[:2]) if job == "worker"]


def _count_slots(sc):
    """Slots of the application; None if it says another number by its settings, or gets more executors when it needs them."""
    conf = sc.getConf()
    if conf.get("spark.default.parallelism") or conf.get("spark.dynamicAllocation.enabled") == "true":
        return None
    return sc.defaultParallelism


def _run_task(program, ps, token, settings):
    """One slot: agrees with the others on addresses, runs the program, and waits until all workers have ended."""
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    rank = context.partitionId()
    with _free_port() as port:
        said = context.allGather(f"{socket.gethostname()} {port.number}")
    hosts = [word.split()[0] for word in said]
    one_host = len(set(hosts)) == 1  # then loopback will do
    addresses = [f"{'localhost' if one_host else host}:{word.split()[1]}" for host, word in zip(hosts, said)]
    spec = {job: part for job, part in (("ps", addresses[:ps]), ("worker", addresses[ps:])) if part}
    task = Task("ps", rank, spec) if rank < ps else Task("worker", rank - ps, spec)
    with _token_file(token) as path:
        settings = dict(settings, TF_CONFIG=task.tf_config)
        if token:
            settings["MILLSTREAM_TOKEN_FILE"] = path
        if callable(program):
            value = _run_function(program, task, settings, context)
        else:
            value = _run_command(program + task.flags, task, settings, context)
    return [(task.job_name, task.task_index, value)]


@contextlib.contextmanager
def _token_file(token):
    """The path of a file in memory that only this user's processes can open, and that is gone with this process, also if it is killed."""
    number = os.memfd_create("millstream-token")
    try:
        os.write(number, token.encode())
        yield f"/proc/{os.getpid()}/fd/{number}"
    finally:
        os.close(number)


class _free_port:
    """A port that stays bound until the block ends, so that two slots of a host get two."""

    def __enter__(self):
        self._socket = socket.socket()
        self._socket.bind(("", 0))
        self.number = self._socket.getsockname()[1]
        return self

    def __exit__(self, *_):
        self._socket.close()


def _run_function(function, task, settings, context):
    import millstream as tf

    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    tf.reset_default_graph()
    try:
        if task.job_name != "ps":
            value = function(task)
            context.barrier()
            return value
        # A ps may wait in its server for ever: it does so beside this thread, which waits for the workers.
        failures = []
        thread = threading.Thread(target=_call, args=(function, task, failures), daemon=True)
        thread.start()
        _await_workers(context, lambda: failures[0] if failures else None)
        _stop_server()
        thread.join(_GRACE_S)
        return None
    finally:
        _stop_server()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _call(function, task, failures):
    try:
        function(task)
    except SystemExit as e:
        if e.code:
            failures.append(e)
    except BaseException as e:  # noqa: BLE001  told to the driver
        failures.append(e)


def _await_workers(context, failure):
    """Until the workers have come to the barrier, or failure() returns an exception, which is raised: then Spark ends the others."""
    thread = threading.Thread(target=context.barrier, daemon=True)
    thread.start()
    while thread.is_alive():
        error = failure()
        if error is not None:
            raise error
        thread.join(0.1)


def _stop_server():
    """Spark's Python workers are used again: nothing of this job may stay in them."""
    global _server  # pylint: disable=global-statement
    if _server is not None:
        _server.stop()
        _server = None


def _die_with_parent():
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: Spark kills the Python worker of a task that it gives up


def _run_command(command, task, settings, context):
    process = subprocess.Popen(command, env=dict(os.environ, **settings), stdin=subprocess.DEVNULL, preexec_fn=_die_with_parent)
    try:
        if task.job_name == "ps":
            _await_workers(context, lambda: None if process.poll() in (None, 0) else RuntimeError(
                f"ps:{task.task_index} failed: exit code {process.returncode}; its output is in the executor's log"))
            return 0
        code = process.wait()
        if code != 0:
            raise RuntimeError(f"{task.job_name}:{task.task_index} failed: exit code {code}; its output is in the executor's log")
        context.barrier()
        return 0
    finally:
        _end(process)


def _end(process):
    """With all that it has started in its process group."""
    for number, patience in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        end = None if patience is None else time.monotonic() + patience
        while process.poll() is None and (end is None or time.monotonic() < end):
            time.sleep(0.05)
