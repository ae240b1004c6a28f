# SPDX-License-Identifier: Apache-2.0
"""Embeddings that grow with the vocabulary: millstream.embedding.HashEmbedding."""
import numpy as np
import pytest

import millstream as tf
from millstream import embedding
from ports import free_ports

KEYS = {"int64": (tf.int64, [[3, 5], [3, -7]]), "string": (tf.string, [[b"cat", b"dog"], [b"cat", b""]])}


@pytest.fixture(params=sorted(KEYS))
def kind(request):
    return KEYS[request.param]


@pytest.fixture(params=[1, 3])
def shards(request):
    return request.param


def test_equal_keys_have_equal_rows(kind, shards):
    dtype, keys = kind
    table = embedding.HashEmbedding("words", 4, dtype, shards=shards)
    ids = tf.placeholder(dtype, [None, 2])
    rows, unseen, size = table.lookup(ids), table.lookup(ids, train=False), table.size()
    assert rows.shape.as_list() == [None, 2, 4]
    with tf.Session() as session:
        assert not session.run(unseen, {ids: keys}).any()
        values = session.run(rows, {ids: keys})
        assert values.shape == (2, 2, 4) and (values[0, 0] == values[1, 0]).all() and (values[0, 1] != values[1, 1]).all()
        assert (session.run(unseen, {ids: keys}) == values).all() and session.run(size) == 3
        assert session.run(rows, {ids: np.zeros([0, 2], dtype.as_numpy_dtype)}).shape == (0, 2, 4)


@pytest.mark.parametrize("make", [lambda: tf.train.GradientDescentOptimizer(0.05), lambda: tf.train.AdagradOptimizer(0.5),
                                  lambda: tf.contrib.opt.LazyAdamOptimizer(0.1)], ids=["sgd", "adagrad", "adam"])
def test_trains_as_a_table_of_variables_does(kind, shards, make):
    """Two lookups, repeated keys: the same as an ordinary embedding with the same first rows."""
    dtype, keys = kind
    table = embedding.HashEmbedding("words", 4, dtype, shards=shards)
    first, second = tf.constant(keys, dtype), tf.constant(keys[1], dtype)
    loss = tf.reduce_sum(tf.square(table.lookup(first) - 1.0)) + tf.reduce_sum(tf.square(table.lookup(second)))
    train = table.minimize(loss, make())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        start = session.run(table.lookup([keys[0][0], keys[0][1], keys[1][1]]))
        losses = [session.run([loss, train])[0] for _ in range(4)]
    with tf.Graph().as_default():
        variable = tf.Variable(start)
        one, two = tf.gather(variable, [[0, 1], [0, 2]]), tf.gather(variable, [0, 2])
        plain = tf.reduce_sum(tf.square(one - 1.0)) + tf.reduce_sum(tf.square(two))
        step = make().minimize(plain)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            expected = []
            for _ in range(4):
                expected.append(session.run(plain))
                session.run(step)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert losses[3] < losses[0]


def test_rare_keys_get_no_row(kind, shards):
    dtype, keys = kind
    table = embedding.HashEmbedding("words", 2, dtype, shards=shards, min_count=2)
    rows = table.lookup(tf.constant(keys, dtype))  # the first key twice, the others once
    sizes = [table.size(), table.num_candidates()]
    with tf.Session() as session:
        values = session.run(rows)
        assert values[0, 0].all() and values[1, 0].all() and not values[0, 1].any() and not values[1, 1].any()
        assert session.run(sizes) == [1, 2]
        assert session.run(rows).all()
        assert session.run(sizes) == [3, 0]


def test_evicts_what_was_not_used(kind, shards):
    dtype, keys = kind
    table = embedding.HashEmbedding("words", 2, dtype, shards=shards)
    step = tf.train.get_or_create_global_step()
    key, before = tf.placeholder(dtype, [1]), tf.placeholder(tf.int64, [])
    rows, evict, size = table.lookup(key), table.evict(before), table.size()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number, one in enumerate([keys[0][0], keys[0][1], keys[1][1]]):
            session.run(step.assign(number))
            session.run(rows, {key: [one]})
        assert session.run(evict, {before: 2}) == 2 and session.run(size) == 1
        assert session.run(evict, {before: 2}) == 0
        assert session.run(table.lookup(tf.constant([keys[1][1]], dtype), train=False)).all()


def test_max_rows(kind):
    dtype, _ = kind
    table = embedding.HashEmbedding("words", 2, dtype)
    all_keys = tf.as_string(tf.range(100)) if dtype == tf.string else tf.range(100, dtype=tf.int64)
    with tf.Session() as session:
        session.run(table.lookup(all_keys))
        assert session.run(table.evict(0, max_rows=30)) == 70 and session.run(table.size()) == 30


def test_checkpoints(kind, shards, tmp_path):
    dtype, keys = kind

    def build():
        table = embedding.HashEmbedding("words", 4, dtype, shards=shards, min_count=2)
        ids = tf.placeholder(dtype, [None])
        loss = tf.reduce_sum(tf.square(table.lookup(ids) - 1.0))
        return table, ids, loss, table.minimize(loss, tf.train.AdagradOptimizer(0.5)), tf.train.Saver()

    batch = [keys[0][0], keys[0][1], keys[0][0]]
    with tf.Graph().as_default(), tf.Session() as session:
        table, ids, loss, train, saver = build()
        for _ in range(2):
            session.run(train, {ids: batch})
        path = saver.save(session, str(tmp_path / "model"))
        expected = [session.run([loss, train], {ids: batch})[0] for _ in range(3)]
    with tf.Graph().as_default(), tf.Session() as session:
        table, ids, loss, train, saver = build()
        session.run(table.lookup(tf.constant([keys[1][1]] * 2, dtype)))  # what was there before goes
        saver.restore(session, path)
        assert session.run([table.size(), table.num_candidates()]) == [2, 0]
        assert [session.run([loss, train], {ids: batch})[0] for _ in range(3)] == expected


def test_across_ps_tasks(kind, tmp_path):
    dtype, keys = kind
    ports = free_ports(3)
    cluster = tf.train.ClusterSpec({"ps": [f"localhost:{port}" for port in ports[:2]], "worker": [f"localhost:{ports[2]}"]})
    servers = [tf.train.Server(cluster, job_name="ps", task_index=i) for i in range(2)]
    servers.append(tf.train.Server(cluster, job_name="worker", task_index=0))
    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        table = embedding.HashEmbedding("words", 4, dtype, shards=2)
        ids = tf.placeholder(dtype, [None])
        loss = tf.reduce_sum(tf.square(table.lookup(ids) - 1.0))
        train = table.minimize(loss, tf.train.AdamOptimizer(0.1))
        saver = tf.train.Saver(sharded=True)
        init = tf.global_variables_initializer()
    assert [handle.device for handle in table.handles] == ["/job:ps/task:0", "/job:ps/task:1"]
    batch = keys[0] + keys[1]
    with tf.Session(servers[-1].target) as session:
        session.run(init)
        losses = [session.run([loss, train], {ids: batch})[0] for _ in range(5)]
        assert losses[-1] < losses[0] and session.run(table.size()) == 3
        path = saver.save(session, str(tmp_path / "model"))
        after = session.run([loss, train], {ids: batch})[0]
        session.run(table.evict(before=1))
        assert session.run(table.size()) == 0
        saver.restore(session, path)
        assert session.run(table.size()) == 3 and session.run([loss, train], {ids: batch})[0] == after
    for server in servers:
        server.stop()


def test_refuses_what_makes_no_sense():
    with pytest.raises(TypeError, match="int64 or string"):
        embedding.HashEmbedding("words", 4, tf.int32)
    with pytest.raises(ValueError, match="at least 1"):
        embedding.HashEmbedding("words", 4, shards=0)
    table = embedding.HashEmbedding("words", 4)
    with pytest.raises(ValueError, match="has not been looked up"):
        table.minimize(tf.constant(1.0), tf.train.AdagradOptimizer(0.1))
    rows = table.lookup([1])
    with pytest.raises(ValueError, match="does not depend"):
        table.minimize(tf.constant(1.0), tf.train.AdagradOptimizer(0.1))
    with pytest.raises(TypeError, match="MomentumOptimizer"):
        table.minimize(tf.reduce_sum(rows), tf.train.MomentumOptimizer(0.1, 0.9))
    with pytest.raises(TypeError):
        table.lookup(["a"])
