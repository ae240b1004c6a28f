# SPDX-License-Identifier: Apache-2.0
"""ConfigProto.cluster_def: servers that know of nobody become the tasks of one session's cluster."""
import threading

import numpy as np
import pytest

import millstream as tf


@pytest.fixture
def servers(make_cluster):
    """Addresses of servers, each the only task of its cluster; .kill(i) ends one."""

    class Servers(list):
        def kill(self, i):
            clusters[i].kill("local", 0)

    clusters = [make_cluster(local=1) for _ in range(3)]
    return Servers(cluster.spec["local"][0] for cluster in clusters)


def session_at(server, timeout_ms=60_000, **jobs):
    cluster = tf.train.ClusterSpec(jobs).as_cluster_def()
    return tf.Session("grpc://" + server, config=tf.ConfigProto(cluster_def=cluster, operation_timeout_in_ms=timeout_ms))


def test_tasks_have_the_names_of_the_session(servers):
    parts = []
    for i in range(3):
        with tf.device(f"/job:worker/task:{i}"):
            x = tf.placeholder(tf.float32, [2], name=f"x{i}")
            parts.append(x * 2.0)
    with tf.device("/job:worker/task:1"):
        total = tf.add_n(parts)
        handle = tf.get_session_handle(total)
    with tf.device("/job:worker/task:2"):
        constant = tf.constant(17.0, name="constant")
    feeds = {f"x{i}:0": [1, i] for i in range(3)}
    with session_at(servers[1], worker=[servers[2], servers[1], servers[0]]) as session:  # the master is not task 0
        assert [d.name for d in session.list_devices()][0] == "/job:worker/replica:0/task:1/device:CPU:0"
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        fetched = session.run([total, constant], feeds, options, metadata)
        np.testing.assert_array_equal(fetched[0], [6, 6])
        assert fetched[1] == 17.0
        seen = {d.device: [n.node_name for n in d.node_stats] for d in metadata.step_stats.dev_stats}
        assert {f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(3)} <= set(seen)
        assert "constant" in seen["/job:worker/replica:0/task:2/device:CPU:0"]  # a trace has constants too
        handle = session.run(handle, feeds)
        assert handle.handle.endswith("/job:worker/replica:0/task:1/device:CPU:0")
        np.testing.assert_array_equal(handle.eval(), [6, 6])


def test_sessions_have_their_own_variables_and_clusters(servers):
    with tf.device("/job:worker/task:1"):
        v = tf.Variable(0.0)
        add = v.assign_add(1.0)
    with session_at(servers[0], worker=servers[:2]) as a, session_at(servers[0], worker=[servers[0], servers[2]]) as b, \
            session_at(servers[0], worker=servers[:2]) as c:
        a.run(v.initializer)
        b.run(v.initializer)
        assert a.run(add) == 1.0 and a.run(add) == 2.0
        assert b.run(v) == 0.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            c.run(v)
    with session_at(servers[0], worker=servers[:2]) as again, pytest.raises(tf.errors.FailedPreconditionError):
        again.run(v)


@pytest.mark.parametrize("ran", [False, True])
def test_a_master_that_takes_the_name_of_another_ends_its_sessions(servers, ran):
    with tf.device("/job:worker/task:0"):
        two = tf.constant(1.0) + 1.0
    with session_at(servers[0], master=[servers[0]], worker=[servers[2]]) as old, \
            session_at(servers[0], other=[servers[0]], worker=[servers[2]]) as other:
        old.list_devices()  # the servers know the session from here on
        assert not ran or old.run(two) == 2.0
        assert other.run(two) == 2.0
        with session_at(servers[1], master=[servers[1]], worker=[servers[2]]) as new:
            assert new.run(two) == 2.0
            with pytest.raises(tf.errors.AbortedError, match="is not known" if ran else "Session handle is not found"):
                old.run(two)
            assert new.run(two) == 2.0 and other.run(two) == 2.0


def test_a_loop_over_the_tasks_and_steps_in_parts(servers):
    def body(i, total):
        with tf.device("/job:b/task:0"):
            return i + 1, total + i

    with tf.device("/job:a/task:0"):
        result = tf.while_loop(lambda i, _: i < 20, body, [0, 0])
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        first = a + 1.0
    with tf.device("/job:b/task:0"):
        second = first * b
    with session_at(servers[0], a=servers[:1], b=servers[1:2]) as session:
        assert list(session.run(result)) == [20, 190]
        handle = session.partial_run_setup([first, second], [a, b])
        assert session.partial_run(handle, first, {a: 2}) == 3
        assert session.partial_run(handle, second, {b: 5}) == 15


def test_bad_clusters_are_refused_and_missing_tasks_named(servers):
    c = tf.constant(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is none of its tasks"):
        session_at(servers[0], worker=servers[1:]).run(c)
    with pytest.raises(tf.errors.InvalidArgumentError, match="host-port pair"):
        session_at(servers[0], worker=[servers[0], "nonsense"]).run(c)
    port = servers[1].rsplit(":", 1)[1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="task:1 and /job:worker/replica:0/task:2 are the same task"):
        session_at(servers[0], worker=[servers[0], servers[1], f"localhost:{port}"]).run(c)
    servers.kill(2)
    with pytest.raises(tf.errors.DeadlineExceededError, match=f"/job:worker/replica:0/task:1 at {servers[2]}"):
        session_at(servers[0], timeout_ms=500, worker=[servers[0], servers[2]]).run(c)


def test_a_task_that_dies_in_a_step_is_named(servers):
    with tf.device("/job:worker/task:1"):
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
        waiting = queue.dequeue()
    with tf.device("/job:worker/task:0"):
        later = waiting + 1.0
        begun = tf.FIFOQueue(1, [tf.bool])
        begins, seen = begun.enqueue(True), begun.dequeue()
    with session_at(servers[0], worker=servers[:2]) as session:
        session.run(queue.size())
        killer = threading.Thread(target=lambda: (session.run(seen), servers.kill(1)))
        killer.start()
        with pytest.raises(tf.errors.UnavailableError, match="/job:worker/replica:0/task:1"):
            session.run([later, begins])
        killer.join()
        with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError), match="/job:worker/replica:0/task:1"):
            session.run(later)
    with session_at(servers[0], worker=[servers[0], servers[2]]) as session:  # the others go on
        assert session.run(queue.size()) == 0
