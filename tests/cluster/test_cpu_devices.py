# SPDX-License-Identifier: Apache-2.0
"""Tasks with several CPU devices: millstream server --cpu_devices."""
import subprocess

import millstream as tf
import pytest


@pytest.mark.parametrize("count", [1, 3])
def test_a_server_has_the_devices_that_it_is_asked_for(make_cluster, count):
    cluster = make_cluster(ps=1, worker=1, flags=[f"--cpu_devices={count}"])
    with tf.Session(cluster.target("worker")) as session:
        names = sorted(d.name for d in session.list_devices())
        assert names == [f"/job:{job}/replica:0/task:0/device:CPU:{i}" for job in ("ps", "worker") for i in range(count)]
        results = []
        for name in names:
            with tf.device(name):
                results.append(tf.constant(20) + 1)
        assert session.run(results) == [21] * len(names)
    with tf.device(f"/job:ps/task:0/cpu:{count}"):
        beyond = tf.constant(1) + 1
    with tf.Session(cluster.target("worker")) as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(beyond)


def test_a_collective_within_one_task(make_cluster):
    cluster = make_cluster(worker=1, flags=["--cpu_devices=4"])
    sums = []
    for i in range(4):
        with tf.device(f"/job:worker/task:0/cpu:{i}"):
            sums.append(tf.raw_ops.CollectiveReduce(input=tf.constant([1.0, i]), group_size=4, group_key=1, instance_key=1, merge_op="Add",
                                                    final_op="Id", subdiv_offsets=[0]))
    with tf.Session(cluster.target("worker")) as session:
        assert [list(v) for v in session.run(sums)] == [[4.0, 6.0]] * 4


def test_a_wrong_count_is_refused(program):
    done = subprocess.run([program, "server", "--worker_hosts=localhost:0", "--job_name=worker", "--cpu_devices=0"], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 2 and "--cpu_devices" in done.stderr
