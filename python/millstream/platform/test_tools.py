# SPDX-License-Identifier: Apache-2.0
"""tf.test beside TestCase: clusters in one process, graphs that are alike, benchmarks, what is built in."""
from __future__ import annotations

import contextlib
import socket
import time
from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import log
from millstream.training import server_lib

if TYPE_CHECKING:
    from typing import Any, Optional


def create_local_cluster(num_workers: Any, num_ps: Any, protocol: str = "grpc", worker_config: Any = None,
                         ps_config: Any = None) -> Any:
    """(servers of workers, servers of ps tasks) of one cluster, in this process."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(num_workers + num_ps)]
        for s in sockets:
            s.bind(("localhost", 0))
        addresses = [f"localhost:{s.getsockname()[1]}" for s in sockets]
    jobs = {"worker": addresses[:num_workers], "ps": addresses[num_workers:]}
    cluster = server_lib.ClusterSpec({job: tasks for job, tasks in jobs.items() if tasks})
    workers = [server_lib.Server(cluster, job_name="worker", protocol=protocol, task_index=i, config=worker_config)
               for i in range(num_workers)]
    return workers, [server_lib.Server(cluster, job_name="ps", protocol=protocol, task_index=i, config=ps_config) for i in range(num_ps)]


def assert_equal_graph_def(actual: Any, expected: Any, checkpoint_v2: bool = False,
                           hash_table_shared_name: bool = False) -> None:
    """AssertionError unless both GraphDefs have the same nodes, in whatever order."""
    for value in (actual, expected):
        if not hasattr(value, "node"):
            raise TypeError(f"Expected tf.GraphDef, got {type(value).__name__}")
    mine, theirs = ({n.name: n for n in g.node} for g in (actual, expected))
    if set(mine) != set(theirs):
        raise AssertionError(f"Only in one of the graphs: {sorted(set(mine) ^ set(theirs))}")
    for name, node in mine.items():
        if node != theirs[name]:
            raise AssertionError(f"Node {name} differs:\n{node}\n{theirs[name]}")


def benchmark_config():
    from millstream.proto import config_pb2
    return config_pb2.ConfigProto()


class Benchmark:
    """Measures ops; what is measured is logged."""

    def report_benchmark(self, iters: Any = None, cpu_time: Any = None, wall_time: Any = None, throughput: Any = None,
                         extras: Any = None, name: Optional[str] = None, metrics: Any = None) -> None:
        log.info("Benchmark %s: iters=%s wall_time=%s throughput=%s extras=%s", name or type(self).__name__, iters, wall_time, throughput,
                 extras)

    def run_op_benchmark(self, sess: Any, op_or_tensor: Any, feed_dict: Any = None, burn_iters: Any = 2, min_iters: Any = 10,
                         store_trace: bool = False, store_memory_usage: bool = True, name: Optional[str] = None,
                         extras: Any = None, mbs: Any = 0) -> Any:
        times = []
        for i in range(burn_iters + min_iters):
            begun = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            if i >= burn_iters:
                times.append(time.perf_counter() - begun)
        median = float(np.median(times))
        result = {"iters": min_iters, "wall_time": median, "extras": dict(extras or {}), "name": name,
                  "throughput": mbs / median if median else 0.0}
        self.report_benchmark(**{k: result[k] for k in ("iters", "wall_time", "extras", "name", "throughput")})
        return result


def is_built_with_gpu_support() -> Any:
    return False


is_built_with_rocm = is_built_with_xla = is_built_with_gpu_support


def is_cpu_target_available(target: str) -> Any:
    return target in ("x86_64", "aarch64")
