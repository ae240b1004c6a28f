# SPDX-License-Identifier: Apache-2.0
"""Collective ops of several devices in one process, as TensorFlow's own tests use them."""

import numpy as np
import pytest

import millstream as tf

TYPES = [tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int32, tf.int64]
REDUCTIONS = {"Add": np.add, "Min": np.minimum, "Max": np.maximum, "Mul": np.multiply}


def _session(devices):
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": devices}))


def _on_each(inputs, make):
    """make(tensor, rank), on a device of its own for each input."""
    outputs = []
    for rank, value in enumerate(inputs):
        with tf.device(f"/cpu:{rank}"):
            outputs.append(make(tf.constant(value) if value is not None else None, rank))
    return outputs


def _keys(group_size, group_key, instance_key):
    return {"group_size": group_size, "group_key": group_key, "instance_key": instance_key}


def _reduce(x, keys, merge_op="Add", final_op="Id", **kwargs):
    return tf.raw_ops.CollectiveReduce(input=x, merge_op=merge_op, final_op=final_op, subdiv_offsets=[0], **keys, **kwargs)


def _reduce_v2(x, keys, merge_op="Add", final_op="Id", **kwargs):
    return tf.raw_ops.CollectiveReduceV2(input=x, merge_op=merge_op, final_op=final_op, ordering_token=[], **keys, **kwargs)


@pytest.mark.parametrize("op", [_reduce, _reduce_v2])
@pytest.mark.parametrize("devices", [1, 2, 3, 16])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (0,)])
def test_reduces_every_type(op, devices, shape):
    with tf.Graph().as_default(), _session(devices) as session:
        expected, fetches = [], []
        for number, dtype in enumerate(TYPES):
            inputs = [(np.arange(int(np.prod(shape))).reshape(shape) % 3 - 1 + rank % 2).astype(dtype.as_numpy_dtype) for rank in range(devices)]
            for merge_op, function in REDUCTIONS.items():
                keys = _keys(devices, 1, 10 * number + len(expected))
                fetches.append(_on_each(inputs, lambda x, _, keys=keys, merge_op=merge_op: op(x, keys, merge_op)))
                result = inputs[0].astype(np.float64)
                for value in inputs[1:]:
                    result = function(result, value.astype(np.float64))
                expected.append(result)
        for outputs, want in zip(session.run(fetches), expected, strict=True):
            for output in outputs:
                np.testing.assert_allclose(np.asarray(output, np.float64), want)


def test_mean_divides_by_the_number_of_members():
    inputs = [np.float32([1, 2]), np.float32([3, 5])]
    with tf.Graph().as_default(), _session(2) as session:
        for output in session.run(_on_each(inputs, lambda x, _: _reduce(x, _keys(2, 1, 1), final_op="Div"))):
            np.testing.assert_allclose(output, [2, 3.5])


@pytest.mark.parametrize("version", [1, 2])
def test_gathers_in_the_order_of_devices(version):
    inputs = [np.int32([[10 * rank, 10 * rank + 1]]) for rank in range(12)]
    with tf.Graph().as_default(), _session(12) as session:
        if version == 1:
            fetches = _on_each(inputs, lambda x, _: tf.raw_ops.CollectiveGather(input=x, shape=[12, 2], **_keys(12, 1, 1)))
            assert fetches[0].shape.as_list() == [12, 2]
        else:
            fetches = _on_each(inputs, lambda x, _: tf.raw_ops.CollectiveGatherV2(input=x, ordering_token=[], **_keys(12, 1, 1)))
        for output in session.run(fetches):
            np.testing.assert_array_equal(output, np.concatenate(inputs))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("value", [np.float32([1, 2, 3]), np.array([True, False]), np.int64(7)])
def test_broadcasts(version, value):
    def make(x, rank):
        keys = _keys(3, 1, 1)
        if version == 1 and rank == 1:
            return tf.raw_ops.CollectiveBcastSend(input=x, shape=value.shape, **keys)
        if version == 1:
            return tf.raw_ops.CollectiveBcastRecv(T=x.dtype, shape=value.shape, **keys)
        if rank == 1:
            return tf.raw_ops.CollectiveBcastSendV2(input=x, **keys)
        return tf.raw_ops.CollectiveBcastRecvV2(T=x.dtype, shape=np.int32(value.shape), **keys)

    with tf.Graph().as_default(), _session(3) as session:
        for output in session.run(_on_each([value] * 3, make)):
            np.testing.assert_array_equal(output, value)


def test_all_to_all_and_reduce_scatter():
    inputs = [np.float32([1, 2]), np.float32([3, 4])]
    with tf.Graph().as_default(), _session(2) as session:
        moved = _on_each(inputs, lambda x, _: tf.raw_ops.CollectiveAllToAllV2(input=x, ordering_token=[], **_keys(2, 1, 1)))
        shared = _on_each(inputs, lambda x, _: tf.raw_ops.CollectiveReduceScatterV2(input=x, merge_op="Add", final_op="Id", ordering_token=[],
                                                                                   **_keys(2, 1, 2)))
        (a, b), (c, d) = session.run([moved, shared])
    np.testing.assert_array_equal(a, [1, 3])
    np.testing.assert_array_equal(b, [2, 4])
    np.testing.assert_array_equal(c, [4])
    np.testing.assert_array_equal(d, [6])


def test_communicators_assign_ranks_to_groups():
    def make(x, rank):
        communicator = tf.raw_ops.CollectiveInitializeCommunicator(group_key=1, rank=rank, group_size=4)
        return tf.raw_ops.CollectiveReduceV3(input=x, communicator=communicator, group_assignment=[[0, 3], [1, 2]], reduction="Add")

    with tf.Graph().as_default(), _session(4) as session:
        outputs = session.run(_on_each([np.float32(10**rank) for rank in range(4)], make))
    assert outputs == [1001, 110, 110, 1001]


def test_nccl_ops_run_without_nccl():
    inputs = [np.float32([1, 5]), np.float32([3, 4])]
    with tf.Graph().as_default(), _session(2) as session:
        reduced = _on_each(inputs, lambda x, _: tf.raw_ops.NcclAllReduce(input=x, reduction="max", num_devices=2, shared_name="a"))
        summed = tf.raw_ops.NcclReduce(input=[tf.constant(x) for x in inputs], reduction="sum")
        copied = tf.raw_ops.NcclBroadcast(input=tf.constant(inputs[0]), shape=[2])
        (a, b), c, d = session.run([reduced, summed, copied])
    np.testing.assert_array_equal(a, [3, 5])
    np.testing.assert_array_equal(b, [3, 5])
    np.testing.assert_array_equal(c, [4, 9])
    np.testing.assert_array_equal(d, inputs[0])


def test_runs_again_and_in_loops():
    with tf.Graph().as_default(), _session(2) as session:
        def body(i, a, b):
            with tf.device("/cpu:0"):
                a = _reduce(tf.identity(a), _keys(2, 1, 5))
            with tf.device("/cpu:1"):
                b = _reduce(tf.identity(b), _keys(2, 1, 5))
            return i + 1, a, b

        result = tf.while_loop(lambda i, *_: i < 4, body, [tf.constant(0), tf.constant(1.0), tf.constant(2.0)])
        for _ in range(3):
            assert list(session.run(result)) == [4, 24.0, 24.0]


def test_collective_graph_key_is_accepted():
    options = tf.RunOptions()
    options.experimental.collective_graph_key = 1
    config = tf.ConfigProto(device_count={"CPU": 2})
    config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
    config.experimental.collective_deterministic_sequential_execution = True
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        assert session.run(_on_each([1.0, 2.0], lambda x, _: _reduce(x, _keys(2, 1, 1))), options=options) == [3, 3]


def test_shape_mismatch():
    with tf.Graph().as_default(), _session(2) as session:
        fetches = _on_each([[1, 2, 3], [1, 2]], lambda x, _: tf.raw_ops.CollectiveGather(input=x, shape=[None], **_keys(2, 1, 1)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Shape mismatch"):
            session.run(fetches)


def test_group_size_mismatch():
    with tf.Graph().as_default(), _session(2) as session:
        fetches = _on_each([1.0, 2.0], lambda x, rank: _reduce(x, _keys(2 + rank, 1, 1)))
        with pytest.raises(tf.errors.InternalError, match="but that group has size"):
            session.run(fetches)


def test_times_out():
    with tf.Graph().as_default(), _session(2) as session:
        fetches = _on_each([1.0, 2.0], lambda x, _: _reduce(x, _keys(3, 1, 1), timeout_seconds=0.2))
        with pytest.raises(tf.errors.DeadlineExceededError, match="Collective has timed out waiting for other workers"):
            session.run(fetches)


def test_types_that_differ_name_the_members():
    with tf.Graph().as_default(), _session(2) as session:
        fetches = _on_each([np.float32(1), np.float64(1)], lambda x, _: _reduce(x, _keys(2, 1, 1)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="device:CPU:. runs all-reduce of (float|double), .*device:CPU:"):
            session.run(fetches)


def test_a_step_that_failed_leaves_the_group_usable():
    with tf.Graph().as_default(), _session(2) as session:
        fetches = _on_each([1.0, 2.0], lambda x, _: _reduce(x, _keys(2, 1, 1)))
        for _ in range(3):
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(fetches[0], options=tf.RunOptions(timeout_in_ms=100))
            assert session.run(fetches) == [3, 3]


def test_in_process_server():
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        assert session.run(_reduce_v2(tf.constant([2.0]), _keys(1, 1, 1))) == [2]
