# SPDX-License-Identifier: Apache-2.0
"""tf.test beside TestCase: clusters in one process, graphs that are alike, benchmarks, what is built in."""
import contextlib
import socket
import time

import numpy as np

from millstream.framework import log
from millstream.training import server_lib


def create_local_cluster(num_workers, num_ps, protocol="grpc", worker_config=None, ps_config=None):
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


def assert_equal_graph_def(actual, expected, checkpoint_v2=False, hash_table_shared_name=False):
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

    def report_benchmark(self, iters=None, cpu_time=None, wall_time=None, throughput=None, extras=None, name=None, metrics=None):
        log.info("Benchmark %s: iters=%s wall_time=%s throughput=%s extras=%s", name or type(self).__name__, iters, wall_time, throughput,
                 extras)

    def run_op_benchmark(self, sess, op_or_tensor, feed_dict=None, burn_iters=2, min_iters=10, store_trace=False, store_memory_usage=True,
                         name=None, extras=None, mbs=0):
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


def is_built_with_gpu_support():
    return False


is_built_with_rocm = is_built_with_xla = is_built_with_gpu_support


def is_cpu_target_available(target):
    return target in ("x86_64", "aarch64")
