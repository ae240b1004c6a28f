# SPDX-License-Identifier: Apache-2.0
"""millstream.horovod in one process: names, arguments, settings, and who a process thinks it is. tests/cluster/test_horovod.py has several ranks."""
import copy
import json
import subprocess
import sys

import numpy as np
import pytest

import millstream as tf
import millstream.horovod as hvd
import millstream.horovod.keras as hvd_keras
from millstream.horovod import environment, keys, process_sets, reductions


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name in ("TF_CONFIG", "HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    hvd.init()
    yield
    hvd.shutdown()
    process_sets.end()


def test_names_of_horovod():
    for name in hvd.__all__:
        assert hasattr(hvd, name)
    for name in hvd_keras.__all__:
        assert hasattr(hvd_keras, name)
    assert (hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.cross_size()) == (0, 1, 0, 1, 0, 1)
    assert hvd.is_homogeneous() and not hvd.mpi_enabled() and not hvd.gloo_enabled() and not hvd.nccl_built() and not hvd.mpi_built()
    assert not hvd.mpi_threads_supported()


def test_before_init():
    hvd.shutdown()
    assert not hvd.is_initialized()
    for call in (hvd.rank, hvd.size, hvd.local_rank, hvd.mpi_threads_supported):
        with pytest.raises(ValueError, match="use hvd.init"):
            call()
    with pytest.raises(ValueError):
        hvd.allreduce(tf.ones([2]))


def test_refusals():
    x = tf.ones([2])
    with pytest.raises(NotImplementedError, match="Adasum"):
        hvd.DistributedOptimizer(tf.train.AdamOptimizer(), op=hvd.Adasum, backward_passes_per_step=2)
    with pytest.raises(ValueError, match="Adasum"):
        hvd.allreduce(tf.ones([2], tf.int32), op=hvd.Adasum)
    with pytest.raises(ValueError, match="supersedes"):
        hvd.allreduce(x, average=True, op=hvd.Sum)
    with pytest.raises(ValueError, match="op != Average"):
        hvd.DistributedOptimizer(tf.train.AdamOptimizer(), op=hvd.Sum, gradient_predivide_factor=2.0)
    with pytest.raises(ValueError, match="> 0"):
        hvd.DistributedOptimizer(tf.train.AdamOptimizer(), backward_passes_per_step=0)
    with pytest.raises(ValueError, match="root_rank is 3"):
        hvd.broadcast(x, 3)
    with pytest.raises(ValueError, match="one dimension"):
        hvd.allgather(tf.ones([]))
    with pytest.raises(ValueError, match="one dimension"):
        hvd.alltoall(tf.ones([]))
    with pytest.raises(ValueError, match="optimizer of tf.train or tf.keras"):
        hvd.DistributedOptimizer("sgd")
    with pytest.raises(NotImplementedError, match="comm"):
        hvd.shutdown()
        hvd.init(comm=[0])
    hvd.init()
    with pytest.raises(NotImplementedError, match="load_weights"):
        hvd_keras.load_model("x")
    with pytest.raises(NotImplementedError):
        hvd.start_timeline("x")


def test_process_sets():
    assert hvd.global_process_set.included() and hvd.global_process_set.size() == 1
    with pytest.raises(ValueError, match="between 0 and 0"):
        hvd.add_process_set([0, 1])
    with pytest.raises(ValueError, match="added already"):
        hvd.add_process_set([0])
    with pytest.raises(ValueError, match="not known"):
        hvd.ProcessSet([0]).size()
    assert not hvd.remove_process_set(hvd.global_process_set)
    assert hvd.get_process_set_ids_and_ranks() == {0: [0]} and hvd.is_process_set_included()


def test_one_rank_changes_nothing():
    x = tf.constant([1.0, 4.0])
    fetches = [hvd.allreduce(x), hvd.allgather(x), hvd.broadcast(x, 0), hvd.alltoall(x), hvd.reducescatter(x), *hvd.grouped_allreduce([x, x]),
               hvd.allreduce(x, op=hvd.Sum, prescale_factor=2.0, postscale_factor=0.5), tf.gradients(hvd.allreduce(x) * 3, x)[0] * x / 3]
    with tf.Session() as session:
        for value in session.run(fetches):
            np.testing.assert_array_equal(value, [1, 4])
        assert session.run(hvd.join()) == 0
        assert session.run([hvd.size_op(), hvd.rank_op(), hvd.local_size_op(), hvd.local_rank_op()]) == [1, 0, 1, 0]
    assert hvd.broadcast_object("a") == "a" and hvd.allgather_object(5) == [5]
    assert hvd.broadcast_object_fn()({"b": 1}) == {"b": 1}
    hvd.barrier()


def test_integers_are_scaled_and_truncated():
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(hvd.allreduce(tf.constant([3, -3]), prescale_factor=0.5)), [1, -1])


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64, tf.int32])
def test_compression(dtype):
    x = tf.cast(tf.constant([1, 2]), dtype)
    small, context = hvd.Compression.fp16.compress(x)
    assert small.dtype == (tf.float16 if dtype.is_floating else dtype)
    assert hvd.Compression.fp16.decompress(small, context).dtype == dtype
    assert hvd.Compression.none.compress(x)[0] is x


def test_distributed_optimizer_keeps_the_inner_one():
    v = tf.Variable([1.0, 2.0])
    inner = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer = hvd.DistributedOptimizer(inner)
    step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(tf.reduce_sum(v), global_step=step)
    assert optimizer.get_name() == "DistributedMomentumOptimizer" and optimizer.get_slot_names() == ["momentum"]
    assert optimizer.get_slot(v, "momentum") is inner.get_slot(v, "momentum") and optimizer.variables() == inner.variables()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(v), [0.9, 1.9])
        assert session.run(step) == 1


@pytest.mark.parametrize("average", [False, True])
def test_backward_passes_per_step(average):
    x, v = tf.placeholder(tf.float32, []), tf.Variable(0.0)
    step = tf.train.get_or_create_global_step()
    optimizer = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(1.0, 0.0), backward_passes_per_step=3, average_aggregated_gradients=average)
    train = optimizer.minimize(v * x, global_step=step)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        seen = [(session.run(train, {x: value}), session.run([v, step]))[1] for value in (1, 2, 3, 4, 5, 6)]
    totals = [-6.0, -21.0] if not average else [-2.0, -7.0]
    assert [float(a) for a, _ in seen] == [0, 0, totals[0], totals[0], totals[0], totals[1]]
    assert [int(b) for _, b in seen] == [0, 0, 1, 1, 1, 2]


def test_backward_passes_and_slices():
    table = tf.Variable(tf.ones([3, 2]))
    loss = tf.reduce_sum(tf.gather(table, [0, 2]))
    with pytest.raises(ValueError, match="IndexedSlices are not supported"):
        hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(1.0), backward_passes_per_step=2).minimize(loss)
    train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(1.0), backward_passes_per_step=2, sparse_as_dense=True).minimize(loss)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(train)
        session.run(train)
        np.testing.assert_array_equal(session.run(table), [[-1, -1], [1, 1], [-1, -1]])


def test_gradient_tape():
    v = tf.Variable([1.0, 2.0])
    with hvd.DistributedGradientTape(tf.GradientTape(persistent=True)) as tape:
        y = tf.reduce_sum(v * v)
    one, many = tape.gradient(y, v), tape.gradient(y, [v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(one), [2, 4])
        np.testing.assert_array_equal(session.run(many)[0], [2, 4])


def test_hook_and_broadcast():
    v = tf.Variable([3.0])
    with tf.train.MonitoredTrainingSession(hooks=[hvd.BroadcastGlobalVariablesHook(0)]) as session:
        np.testing.assert_array_equal(session.run(v), [3])


@pytest.mark.parametrize("threshold", [None, "0", "40"])
def test_buckets_hold_small_tensors_of_one_type(monkeypatch, threshold):
    if threshold is None:
        monkeypatch.delenv("HOROVOD_FUSION_THRESHOLD", raising=False)
    else:
        monkeypatch.setenv("HOROVOD_FUSION_THRESHOLD", threshold)
    tensors = [tf.fill([3], 1.0), tf.fill([2, 2], 2), tf.fill([5], 3.0), tf.placeholder(tf.float32, [None]), tf.constant(4.0), tf.zeros([0])]
    sizes = []

    def reduce(tensor):
        sizes.append(tensor)
        return tensor * 2
    results = reductions.in_buckets(tensors, reduce)
    assert len(sizes) == {None: 4, "0": 6, "40": 4}[threshold]
    with tf.Session() as session:
        got = session.run(results, {tensors[3]: [7, 8]})
    for value, want in zip(got, [[2] * 3, [[4, 4], [4, 4]], [6] * 5, [14, 16], 8, []]):
        np.testing.assert_array_equal(value, want)


def test_keys_follow_from_names():
    names = [f"a/b_{i}" for i in range(5000)]
    found = [keys.instance_key(name) for name in names]
    assert len(set(found)) == len(found) and all(0 <= key < 2**31 for key in found)
    assert [keys.instance_key(name) for name in names] == found


def test_environment_of_launch(monkeypatch):
    cluster = {"chief": ["a:1"], "worker": ["a:2", "b:1", "b:2"], "evaluator": ["c:1"]}
    for task, want in ((("chief", 0), (0, 4, 0, 2, 0, 2)), (("worker", 1), (2, 4, 0, 2, 1, 2)), (("worker", 2), (3, 4, 1, 2, 1, 2))):
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": task[0], "index": task[1]}}))
        assert tuple(environment.find()[:6]) == want
    for bad, why in ((dict(cluster, ps=["d:1"]), "ps tasks"), ({"worker": ["a:1"]}, "no training task")):
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": bad, "task": {"type": "worker", "index": 2}}))
        with pytest.raises(ValueError, match=why):
            environment.find()


def test_environment_that_is_nonsense(monkeypatch):
    monkeypatch.setenv("HOROVOD_RANK", "2")
    monkeypatch.setenv("HOROVOD_SIZE", "2")
    with pytest.raises(ValueError, match="HOROVOD_RANK is 2"):
        environment.find()
    monkeypatch.setenv("HOROVOD_SIZE", "two")
    with pytest.raises(ValueError, match="not a number"):
        environment.find()
    monkeypatch.delenv("HOROVOD_RANK")
    monkeypatch.setenv("HOROVOD_START_TIMEOUT", "soon")
    with pytest.raises(ValueError, match="HOROVOD_START_TIMEOUT"):
        environment.start_timeout()


def test_keras(capsys):
    data = np.random.RandomState(0).rand(32, 2).astype(np.float32)
    target = data.sum(1, keepdims=True)

    def fit(optimizer, callbacks):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
            model.compile(optimizer(), "mse")
            return model, model.fit(data, target, epochs=4, batch_size=8, shuffle=False, verbose=0, callbacks=callbacks).history
    _, plain = fit(lambda: tf.keras.optimizers.SGD(0.1, momentum=0.5), [])
    callbacks = hvd_keras.callbacks
    model, wrapped = fit(lambda: hvd_keras.DistributedOptimizer(tf.keras.optimizers.SGD(0.1, momentum=0.5)), [
        callbacks.BroadcastGlobalVariablesCallback(0), callbacks.MetricAverageCallback()])
    assert wrapped["loss"] == plain["loss"] and type(model.optimizer).__name__ == "SGD"
    _, train = fit(lambda: hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.1, 0.5)), [])
    np.testing.assert_allclose(train["loss"], plain["loss"], rtol=1e-6)
    model, rates = fit(lambda: hvd_keras.DistributedOptimizer(tf.keras.optimizers.SGD(0.1, momentum=0.5)), [
        callbacks.LearningRateWarmupCallback(0.1, warmup_epochs=1, verbose=1),
        callbacks.LearningRateScheduleCallback(0.1, multiplier=0.5, start_epoch=1, end_epoch=3),
        callbacks.LearningRateScheduleCallback(0.1, multiplier=lambda epoch: 0.1, start_epoch=3)])
    np.testing.assert_allclose(rates["lr"], [0.1, 0.05, 0.05, 0.01], rtol=1e-6)
    assert "finished gradual learning rate warmup to 0.1." in capsys.readouterr().out
    assert model.optimizer.momentum == 0.5  # restored after the batch in which the rate changed
    np.testing.assert_allclose(hvd_keras.allreduce([1.0, 2.0]), [1, 2])
    np.testing.assert_allclose(hvd_keras.allgather([1.0]), [1])
    np.testing.assert_allclose(hvd_keras.broadcast([1.0], 0), [1])


def test_elastic_state():
    v = tf.Variable([1.0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        state = hvd.elastic.TensorFlowState(session=session, batch=0, seen=[])
        v.load([2.0], session)
        state.batch, _ = 3, state.seen.append("a")
        state.restore()
        assert state.batch == 0 and state.seen == [] and session.run(v) == [1]
        v.load([2.0], session)
        state.batch = 3
        state.commit()
        v.load([5.0], session)
        state.batch = 4
        state.restore()
        assert state.batch == 3 and session.run(v) == [2]
        calls = []
        state.register_reset_callbacks([lambda: calls.append(1)])

        @hvd.elastic.run
        def train(given):
            if not calls:
                raise hvd.HostsUpdatedInterrupt
            return given.batch
        assert train(state) == 3 and calls == [1]

        @hvd.elastic.run
        def fail(given):
            raise tf.errors.UnavailableError(None, None, "gone")
        with pytest.raises(tf.errors.UnavailableError):  # alone, nobody else can be the reason
            fail(state)
    with pytest.raises(ValueError, match="needs a session"):
        hvd.elastic.TensorFlowState(variables=[v])


def test_imports_of_programs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import horovod.tensorflow as hvd\nimport horovod.tensorflow.keras as a\nimport horovod.keras as b\n"
                      "from horovod.tensorflow.keras.callbacks import MetricAverageCallback\nfrom horovod.common.exceptions import HorovodInternalError\n"
                      "import tensorflow as tf\nassert a is b and hvd.keras is a and hvd.HorovodInternalError is HorovodInternalError\n"
                      "try:\n    import horovod.torch\nexcept ImportError:\n    hvd.init()\n    print('rank', hvd.rank())\n")
    done = subprocess.run([sys.executable, "-m", "millstream", str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout == "rank 0\n", done.stderr


@pytest.mark.parametrize("examples, batch, sizes", [(100, 4, [1]), (100, 4, [3]), (7, 5, [2, 4, 1]), (1, 1, [3, 2]), (37, 3, [4, 1, 2, 3])])
def test_a_work_queue_deals_out_each_example_once_an_epoch(examples, batch, sizes):
    rank_queues = [hvd.elastic.WorkQueue(examples, batch, seed=3) for _ in range(max(sizes))]
    orders, turn = [], 0
    for epoch in range(3):
        taken = []
        while rank_queues[0].epoch == epoch:
            size = sizes[turn % len(sizes)]
            turn += 1
            parts = [queue.take(rank, size) for rank, queue in enumerate(rank_queues[:size])]
            assert sum(map(len, parts)) == rank_queues[0].dealt and max(map(len, parts)) - min(map(len, parts)) <= 1
            assert all(len(p) <= batch for p in parts)
            taken += [x for part in parts for x in part]
            for queue in rank_queues[size:]:  # of ranks that join later: they take over the state
                queue.__dict__.update(copy.deepcopy(rank_queues[0]).__dict__)
        assert sorted(taken) == list(range(examples))
        orders.append(taken)
    assert examples == 1 or orders[0] != orders[1]


def test_a_work_queue_goes_back_to_the_last_commit():
    queue = hvd.elastic.WorkQueue(10, 3, shuffle=False)
    queue.take(0, 2)
    state = hvd.elastic.ObjectState(queue=queue)
    first = state.queue.take(0, 2)
    state.restore()
    np.testing.assert_array_equal(state.queue.take(0, 2), first)
    with pytest.raises(ValueError, match="at least one example"):
        hvd.elastic.WorkQueue(0, 3)
