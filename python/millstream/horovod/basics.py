# SPDX-License-Identifier: Apache-2.0
"""hvd.init() and what it finds out: ranks and sizes. With several ranks this process becomes a task of a cluster of workers, and sessions
without a target run at its server, where collective ops find the other ranks."""
from __future__ import annotations

import atexit
import os
import shutil
import tempfile

from millstream.client import default_target
from millstream.horovod import elastic_world, environment, process_sets


class _State:
    world = None
    membership = None  # of a job whose number of workers changes
    server = None  # stays for the whole process: its port and its variables are this rank's


_state = _State()


def init(comm=None, process_sets=None):  # pylint: disable=redefined-outer-name
    """Finds the other ranks; blocks until they are there. Calling it again changes nothing."""
    if comm is not None:
        raise NotImplementedError("hvd.init(comm=...) is not supported: ranks come from the launcher, and process_sets are parts of them")
    if _state.world is None:
        first = _state.server is None
        world = environment.find() if first else _state.server[1]
        if world.size > 1 and first:
            _start_server(world)
        os.environ.pop("TF_CONFIG", None)  # Estimators train in this process alone
        folder = os.environ.get("MILLSTREAM_ELASTIC")
        if folder and world.size > 1:
            _state.membership = _state.membership or elastic_world.Membership(folder, world.rank)
            default_target.set_target(_state.server[0].target)
            enter_world("hvd.init()")
        else:
            _begin(world)
    if process_sets is not None:
        for one in process_sets if not isinstance(process_sets, str) else ():
            _sets().add_process_set(one)


def _begin(world):
    _state.world = world
    _sets().begin(world.size, world.rank)
    if world.size > 1:
        default_target.set_target(_state.server[0].target)
        try:
            meet_all()
        except BaseException:
            shutdown()
            raise


def enter_world(what):
    """Waits for the next world of a job whose number of workers changes. Ends the program if this process is not in it any more."""
    from millstream.training import server_lib
    server, everybody = _state.server
    try:
        world = _state.membership.join(environment.elastic_timeout(), what)
    except elastic_world.Removed:
        raise SystemExit(0) from None  # the launcher has said why
    _state.world = environment.part(everybody, world.tasks)
    job, index = _state.world.jobs[0]
    server_lib.set_collective_leader(server.target, f"/job:{job}/replica:0/task:{index}")
    _sets().begin(_state.world.size, _state.world.rank, world.version)


def newest_world():
    """(the version of the newest world, that of this process's)."""
    return _state.membership.newest_version(), _state.membership.world.version


def _sets():
    return process_sets


def meet_all(what="hvd.init()", timeout=None):
    """All ranks reach this point, or the error says who does not."""
    from millstream.horovod import meeting
    meeting.wait_for_all("HorovodInit", _sets().global_process_set, environment.start_timeout() if timeout is None else timeout, what)


def _start_server(world):
    from millstream.training import server_lib
    if world.token:
        folder = tempfile.mkdtemp(prefix="millstream-token-")  # only this user may enter it
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "token")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as f:
            f.write(world.token + "\n")
        os.environ["MILLSTREAM_TOKEN_FILE"] = path
    cluster = {}
    for (job, index), address in zip(world.jobs, world.addresses):
        cluster.setdefault(job, {})[index] = address
    job, index = world.jobs[world.rank]
    server = server_lib.Server(server_lib.ClusterSpec(cluster), job_name=job, task_index=index)
    _state.server = server, world._replace(token=None)


def shutdown():
    """Sessions without a target run in this process alone again; init() undoes that."""
    _state.world = None
    default_target.set_target("")
    _sets().end()


atexit.register(shutdown)


def is_initialized():
    return _state.world is not None


def world():
    if _state.world is None:
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    return _state.world


def device(rank=None):
    """The CPU of a rank, where its collective ops run; None without other ranks."""
    w = world()
    if w.size == 1 and not _sets().may_change():
        return None
    job, index = w.jobs[w.rank if rank is None else rank]
    return f"/job:{job}/replica:0/task:{index}/device:CPU:0"


def rank():
    return world().rank


def size():
    return world().size


def local_rank():
    return world().local_rank


def local_size():
    return world().local_size


def cross_rank():
    return world().cross_rank


def cross_size():
    return world().cross_size


def is_homogeneous():
    """Whether all hosts have the same number of ranks."""
    w = world()
    hosts = [a.rpartition(":")[0] for a in w.addresses]
    return len({hosts.count(h) for h in hosts}) <= 1


def mpi_threads_supported():
    """False: ranks exchange data over Millstream's own links, not MPI's."""
    world()
    return False


def _not_built():
    return False


def _never_enabled():
    return False


mpi_enabled = gloo_enabled = _never_enabled
mpi_built = gloo_built = ddl_built = ccl_built = cuda_built = rocm_built = _not_built


def nccl_built():
    """0: reductions run on CPUs."""
    return 0


def gpu_available(*_):
    return False


def start_timeline(file_path, mark_cycles=False):
    raise NotImplementedError("hvd.start_timeline() is not supported: trace a step with tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) "
                              "or `millstream trace`")


def stop_timeline():
    raise NotImplementedError("hvd.stop_timeline() is not supported")
