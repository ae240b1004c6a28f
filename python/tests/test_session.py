# SPDX-License-Identifier: Apache-2.0
"""Sessions: fetches, feeds, errors."""
import collections
import os
import signal
import threading
import time

import numpy as np
import pytest

import millstream as tf
from millstream import gen_ops


def test_structures_of_fetches():
    x, y = tf.constant(1.0), tf.constant([1, 2])
    z = x + 1
    pair = collections.namedtuple("Pair", "a b")
    with tf.Session() as session:
        result = session.run([x, [y], {"a": z, "b": (x,)}, x.op, pair(x, z)])
        assert result[0] == 1 and isinstance(result[0], np.float32)
        np.testing.assert_array_equal(result[1][0], [1, 2])
        assert result[2] == {"a": 2, "b": (1,)} and result[3] is None and result[4] == pair(1, 2)
        assert session.run("add:0") == 2 and session.run([]) == [] and session.run({}) == {}
        sparse = tf.SparseTensor([[0, 1]], [5.0], [2, 2])
        value = session.run(sparse)
        assert isinstance(value, tf.SparseTensorValue) and value.values.tolist() == [5.0]
        for bad, error in [(None, TypeError), (3, TypeError), ("nope:0", ValueError)]:
            with pytest.raises(error):
                session.run(bad)


def test_feeds():
    p = tf.placeholder(tf.float32, [None, 3], name="p")
    y = p * 2
    with tf.Session() as session:
        for _ in range(2):
            np.testing.assert_array_equal(session.run(y, {p: [[1, 2, 3]]}), [[2, 4, 6]])
        np.testing.assert_array_equal(session.run([p, y], {"p:0": np.ones([1, 3])})[0], [[1, 1, 1]])
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(1, 2\) for Tensor p:0, which has shape \(\?, 3\)"):
            session.run(y, {p: [[1, 2]]})
        with pytest.raises(TypeError, match="The value of a feed cannot be a tf.Tensor object"):
            session.run(y, {p: y})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
            session.run(y, {3: 1})
        with pytest.raises(tf.errors.InvalidArgumentError, match="p") as info:
            session.run(y)
        assert info.value.op.name == "p" and info.value.error_code == tf.errors.INVALID_ARGUMENT
        i = tf.placeholder(tf.int32)
        with pytest.raises(TypeError):
            session.run(i + 1, {i: 2**40})
        s = tf.sparse_placeholder(tf.float32) if hasattr(tf, "sparse_placeholder") else None
        if s is not None:
            fed = session.run(s, {s: tf.SparseTensorValue([[0]], [1.0], [2])})
            assert fed.dense_shape.tolist() == [2]
        t = tf.placeholder(tf.string)
        assert session.run(gen_ops.identity(t), {t: ["a", b"b"]}).tolist() == [b"a", b"b"]
        transposed = np.arange(6, dtype=np.float32).reshape(3, 2).T
        np.testing.assert_array_equal(session.run(y, {p: transposed}), transposed * 2)


def test_results_do_not_share_memory():
    p = tf.placeholder(tf.float32, [1000])
    fed = np.zeros(1000, np.float32)
    with tf.Session() as session:
        a = session.run(gen_ops.identity(p), {p: fed})
        a[0] = 7
        assert fed[0] == 0
        c = tf.constant(np.ones(1000, np.float32))
        b = session.run(c)
        b[:] = 5
        assert session.run(c)[0] == 1


def test_large_feeds_are_not_kept():
    """They may be read in place, but nobody sees a later change of the program's array, and nobody changes it."""
    n = 1 << 16
    p = tf.placeholder(tf.float32, [n], name="p")
    q = tf.placeholder(tf.float32, [n], name="q")
    variable = gen_ops.variable_v2(shape=[n], dtype=tf.float32)
    assign = gen_ops.assign(variable, p)
    add = gen_ops.assign_add(variable, tf.constant(1.0, shape=[n]))
    reshaped = gen_ops.reshape(q, [2, -1])
    fed = np.zeros(n, np.float32)
    with tf.Session() as session:
        session.run(assign.op, {p: fed})
        fed[:] = 5
        assert session.run(variable)[0] == 0
        session.run(add.op)
        assert fed[0] == 5 and session.run(variable)[0] == 1
        value = session.run(reshaped, {q: fed})
        value[:] = 9
        assert fed[0] == 5


def test_handles_can_be_fetched_and_fed():
    handle = gen_ops.var_handle_op(shape=[2], dtype=tf.float32)
    init = gen_ops.assign_variable_op(handle, [1.0, 2.0])
    fed = tf.placeholder(tf.resource, [])
    read = gen_ops.read_variable_op(fed, dtype=tf.float32)
    f = tf.placeholder(tf.float32)
    with tf.Session() as session:
        session.run(init)
        value = session.run(handle)
        assert session.run(read, {fed: value}).tolist() == [1, 2]
        for key, bad in ((f, value), (fed, 3.0)):
            with pytest.raises(TypeError):
                session.run(f + 1 if key is f else read, {key: bad})


def test_graph_grows_between_runs():
    x = tf.constant(1)
    with tf.Session() as session:
        assert session.run(x) == 1
        assert session.run(x + 1) == 2
        assert (x + 2).eval() == 3


def test_defaults_and_closing(fresh_graph):
    x = tf.constant(1)
    with pytest.raises(ValueError, match="No default session"):
        x.eval()
    session = tf.Session()
    with session.as_default():
        assert x.eval() == 1 and tf.get_default_session() is session
    session.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(x)
    with pytest.raises(RuntimeError, match="The Session graph is empty"):
        tf.Session(graph=tf.Graph()).run(x)
    interactive = tf.InteractiveSession()
    assert x.eval() == 1
    interactive.close()
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(ValueError, match="is not an element of this graph"):
        tf.Session(graph=fresh_graph).run(other)
    for kwargs in ({"graph": 3}, {"config": 3}, {"target": 3}):
        with pytest.raises(TypeError):
            tf.Session(**kwargs)


def test_callable_and_partial_run():
    a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    r1 = a + 1
    r2 = r1 * b
    with tf.Session() as session:
        run = session.make_callable([r2, r1], feed_list=[a, b])
        assert run(1.0, 3.0) == [6, 2]
        handle = session.partial_run_setup([r1, r2], [a, b])
        assert session.partial_run(handle, r1, {a: 1}) == 2
        assert session.partial_run(handle, r2, {b: 10}) == 20


def test_run_metadata_and_options():
    p = tf.placeholder(tf.float32)
    x = p + 1
    metadata = tf.RunMetadata()
    config = tf.ConfigProto(allow_soft_placement=True, gpu_options=tf.GPUOptions(allow_growth=True))
    with tf.Session(config=config) as session:
        session.run(x, {p: 1}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
        assert metadata.step_stats.dev_stats
        assert session.list_devices()[0].device_type == "CPU"
        assert "CPU:0" in session.list_devices()[0].name


def test_timeout_and_interrupt():
    queue = gen_ops.fifo_queue_v2(component_types=[tf.float32])
    item = gen_ops.queue_dequeue_v2(queue, component_types=[tf.float32])
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(item, options=tf.RunOptions(timeout_in_ms=50))
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        start = time.time()
        with pytest.raises(KeyboardInterrupt):
            session.run(item)
        assert time.time() - start < 5


def test_threads_run_at_once():
    p = tf.placeholder(tf.float32, [])
    y = p * 2
    with tf.Session() as session:
        results = {}
        threads = [threading.Thread(target=lambda i=i: results.update({i: session.run(y, {p: i})})) for i in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert results == {i: 2 * i for i in range(8)}


def test_tensors_that_stay_in_the_session():
    c = tf.constant(10) * tf.constant(5)
    twice = c * 2
    with tf.Session() as session:
        handle, value = session.run([tf.get_session_handle(c), c])
        assert value == 50 and handle.eval() == 50 and str(handle) == handle.handle
        assert handle.handle.split(";")[-1] == "/job:localhost/replica:0/task:0/device:CPU:0"
        holder, tensor = tf.get_session_tensor(handle.handle, tf.int32)
        one_more = tf.get_session_handle(tensor + 1)
        going = handle
        for _ in range(25):  # handles that nobody holds are deleted meanwhile
            going = session.run(one_more, {holder: going.handle})
        assert going.eval() == 75 and len(session._dead_handles) < 12
        assert session.run(twice, {c: handle}) == 100  # in place of a value
        fetched = session.run([c, twice], {c: going, twice: 7})
        assert fetched[0] == 75 and fetched[1] == 7

        raw = going.get_raw_handle()
        holder, delete = tf.delete_session_tensor(raw)
        session.run(delete, {holder: raw})
        with pytest.raises(tf.errors.InvalidArgumentError, match="in the session store"):
            session.run(delete, {holder: raw})
        handle.delete()
        with pytest.raises(TypeError, match="may have already been deleted"):
            handle.eval()
        with pytest.raises(TypeError, match="`data` must be of type Tensor"):
            tf.get_session_handle(3)


def test_partition_graphs():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.add(x, 1.0, name="y")
        tf.square(y, name="not_needed")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(output_partition_graphs=True)
        assert sess.run(tf.multiply(y, 2.0, name="z"), {x: 3.0}, options=options, run_metadata=metadata) == 8.0
        part, = metadata.partition_graphs
        assert sorted(n.name for n in part.node) == ["_arg_x_0_0", "_retval_z_0_0", "y", "y/y", "z", "z/y"]
        assert {n.device for n in part.node} == {"/job:localhost/replica:0/task:0/device:CPU:0"}
        assert next(n for n in part.node if n.name == "y").input[0] == "_arg_x_0_0"


def test_interactive_sessions_place_only_what_runs():
    good = tf.constant(1.0) + 1.0
    with tf.device("/job:nobody/task:3"):
        bad = tf.constant(2.0) + 1.0
    session = tf.InteractiveSession()
    try:
        assert good.eval() == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for operation"):
            bad.eval()
        assert (good * 2.0).eval() == 4.0
    finally:
        session.close()
    with tf.Session() as strict, pytest.raises(tf.errors.InvalidArgumentError):
        strict.run(good)
