# SPDX-License-Identifier: Apache-2.0
"""Who this process is among the ranks of a job: from `millstream launch` (TF_CONFIG), horovodrun, mpirun or srun."""
from __future__ import annotations

import collections
import json
import os
import socket

from millstream import _core

# addresses and jobs: of all ranks, "host:port" and (job, task), empty for a process alone. token: of the job, where the environment has none.
World = collections.namedtuple("World", "rank size local_rank local_size cross_rank cross_size addresses jobs token")

_START_TIMEOUT_SECS = 120.0
_ELASTIC_TIMEOUT_SECS = 600.0


def start_timeout():
    """How long ranks wait for each other at the start, in seconds (HOROVOD_START_TIMEOUT)."""
    text = os.environ.get("HOROVOD_START_TIMEOUT") or os.environ.get("HOROVOD_GLOO_TIMEOUT_SECONDS")
    try:
        return float(text) if text else _START_TIMEOUT_SECS
    except ValueError:
        raise ValueError(f"HOROVOD_START_TIMEOUT is {text!r}, not a number of seconds") from None


def elastic_timeout():
    """How long elastic training waits for the next world, in seconds (HOROVOD_ELASTIC_TIMEOUT)."""
    return float(os.environ.get("HOROVOD_ELASTIC_TIMEOUT") or _ELASTIC_TIMEOUT_SECS)


def _number(name):
    text = os.environ.get(name)
    if text is None or text == "":
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}, not a number") from None


def _first_number(*names):
    return next((value for value in map(_number, names) if value is not None), None)


def _world(rank, hosts, addresses, jobs, token):
    """Local and cross ranks follow from the hosts, unless the launcher says otherwise."""
    on_host = [r for r, host in enumerate(hosts) if host == hosts[rank]]
    local = on_host.index(rank)
    positions = {}  # rank -> its place on its host
    for host in dict.fromkeys(hosts):
        for place, r in enumerate(r for r, h in enumerate(hosts) if h == host):
            positions[r] = place
    across = [r for r in range(len(hosts)) if positions[r] == local]

    def told(names, found):
        value = _first_number(*names)
        return found if value is None else value
    return World(rank, len(hosts),
                 told(("HOROVOD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"), local),
                 told(("HOROVOD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"), len(on_host)),
                 told(("HOROVOD_CROSS_RANK",), across.index(rank)), told(("HOROVOD_CROSS_SIZE",), len(across)), addresses, jobs, token)


def part(world, tasks):
    """The world of some of the ranks of another one, in the order of `tasks`; this process is one of them."""
    addresses = [world.addresses[task] for task in tasks]
    return _world(tasks.index(world.rank), [a.rpartition(":")[0] for a in addresses], addresses, [world.jobs[task] for task in tasks], None)


def _from_tf_config(text):
    """The tasks chief and worker of the cluster, in that order; None if there is no cluster."""
    config = json.loads(text)
    cluster, task = config.get("cluster") or {}, config.get("task") or {}
    if not cluster:
        return None
    if cluster.get("ps"):
        raise ValueError("hvd.init(): TF_CONFIG has a cluster with ps tasks. Start the program without them: millstream launch --workers N")
    jobs = [(job, index) for job in ("chief", "master", "worker") for index in range(len(cluster.get(job, ())))]
    own = (task.get("type"), int(task.get("index", -1)))
    if own not in jobs:
        raise ValueError(f"hvd.init(): TF_CONFIG's cluster has no training task {own[0]}:{own[1]}")
    addresses = [cluster[job][index] for job, index in jobs]
    if len(jobs) == 1:
        return _alone()
    return _world(jobs.index(own), [a.rpartition(":")[0] for a in addresses], addresses, jobs, None)


def _alone():
    return World(0, 1, 0, 1, 0, 1, [], [], None)


def _meet(system, job, rank, size, host):
    if size == 1:
        return _alone()
    hosts, addresses, token = _core.meet_ranks(system, job, rank, size, host, start_timeout())
    return _world(rank, hosts, addresses, [("worker", index) for index in range(size)], token)


def _from_horovodrun():
    rank, size = _number("HOROVOD_RANK"), _number("HOROVOD_SIZE")
    if rank is None or size is None:
        return None
    if not 0 <= rank < size:
        raise ValueError(f"HOROVOD_RANK is {rank}, HOROVOD_SIZE is {size}")
    place = [os.environ.get(n) for n in ("HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT", "MILLSTREAM_JOB_ID")]
    job = "-".join(p for p in place if p) or str(os.getppid())  # the launcher's process tells jobs of one host apart
    return _meet("horovod", "".join(c if c.isalnum() else "-" for c in job), rank, size,
                 os.environ.get("HOROVOD_HOSTNAME") or socket.gethostname())


def find():
    """Blocks until all ranks have come, where they have to exchange addresses."""
    text = os.environ.get("TF_CONFIG")
    found = _from_tf_config(text) if text else None
    if found is None:
        found = _from_horovodrun()
    if found is None:
        ranks = _core.find_ranks()
        found = _meet(*ranks) if ranks is not None else _alone()
    return found
