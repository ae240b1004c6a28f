# SPDX-License-Identifier: Apache-2.0
"""Strategies with several replicas in one process: values, variables, optimizers, input, checkpoints, Estimators."""
import numpy as np
import pytest

import millstream as tf

STRATEGIES = {
    "one": lambda: tf.distribute.OneDeviceStrategy("/cpu:0"),
    "mirrored 2": lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]),
    "mirrored 4": lambda: tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(4)]),
    "contrib 2": lambda: tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]),
    "central 2": lambda: tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"], "/cpu:0"),
}
SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN


def _session(strategy):
    return tf.Session(config=strategy.update_config_proto(tf.ConfigProto()))


@pytest.fixture
def two():
    return STRATEGIES["mirrored 2"]()


def test_devices():
    strategy = tf.distribute.MirroredStrategy(["CPU:1", "/device:CPU:0", "/cpu:2"])
    assert strategy.extended.worker_devices == ("/device:CPU:1", "/device:CPU:0", "/device:CPU:2")
    assert strategy.update_config_proto(tf.ConfigProto()).device_count["CPU"] == 3
    assert tf.contrib.distribute.MirroredStrategy(num_gpus=2).extended.worker_devices == ("/device:GPU:0", "/device:GPU:1")
    with pytest.raises(ValueError, match="Duplicates"):
        tf.distribute.MirroredStrategy(["/cpu:0", "cpu:0"])


def test_contexts(two):
    assert not tf.distribute.in_cross_replica_context() and tf.distribute.get_replica_context() is not None
    seen = []

    def fn():
        context = tf.distribute.get_replica_context()
        seen.append((context.num_replicas_in_sync, tf.distribute.in_cross_replica_context(), context.devices))
        return context.replica_id_in_sync_group, tf.zeros([]).device
    with two.scope():
        assert tf.distribute.in_cross_replica_context() and tf.distribute.get_replica_context() is None
        ids, devices = two.experimental_run_v2(fn)
        with _session(two) as session:
            assert session.run(list(two.experimental_local_results(ids))) == [0, 1]
    assert two.experimental_local_results(devices) == ("/device:CPU:0", "/device:CPU:1")
    assert seen == [(2, False, ("/device:CPU:0",)), (2, False, ("/device:CPU:1",))]
    with two.scope(), pytest.raises(RuntimeError, match="Mixing different"):
        with STRATEGIES["mirrored 2"]().scope():
            pass


@pytest.mark.parametrize("kind", STRATEGIES)
def test_reduce(kind):
    strategy = STRATEGIES[kind]()
    n = strategy.num_replicas_in_sync

    def fn():
        i = tf.distribute.get_replica_context().replica_id_in_sync_group
        return {"x": tf.cast(i, tf.float32) + 1.0, "rows": tf.fill([i + 1, 2], tf.cast(i, tf.float32))}
    with strategy.scope():
        values = strategy.experimental_run_v2(fn)
        fetches = [strategy.reduce(SUM, values["x"]), strategy.reduce("MEAN", values["x"], axis=None),
                   strategy.reduce(SUM, values["rows"], axis=0), strategy.reduce(MEAN, values["rows"], axis=0)]
    with _session(strategy) as session:
        total, mean, rows, row_mean = session.run(fetches)
    everything = np.concatenate([np.full([i + 1, 2], i) for i in range(n)])
    assert total == n * (n + 1) / 2 and mean == (n + 1) / 2
    np.testing.assert_allclose(rows, everything.sum(0))
    np.testing.assert_allclose(row_mean, everything.mean(0), rtol=1e-6)


def test_a_plain_value_is_no_sum(two):
    with pytest.raises(ValueError, match="cannot be reduced"):
        two.reduce(SUM, tf.constant(1.0))
    assert two.reduce(MEAN, 3.0) == 3.0


def test_merge_call_and_all_reduce(two):
    order = []

    def merged(strategy, a, b, name=None):
        order.append(("merged", name, tf.distribute.in_cross_replica_context()))
        return strategy.reduce(SUM, a) + b, strategy.experimental_local_results(a)[0]

    def fn():
        context = tf.distribute.get_replica_context()
        order.append("fn")
        i = tf.cast(context.replica_id_in_sync_group, tf.float32)
        total, first = context.merge_call(merged, args=(i + 1.0, 10.0), kwargs={"name": "n"})
        structure = context.all_reduce(MEAN, {"a": i, "b": [i * 2]})
        return total + i, first, structure["a"], structure["b"][0]
    with two.scope():
        results = two.experimental_run_v2(fn)
    assert order == ["fn", "fn", ("merged", "n", True)]
    with _session(two) as session:
        got = session.run([two.unwrap(r) if i == 0 else r for i, r in enumerate(results)])
    assert got[0] == [13.0, 14.0] and got[1:] == [1.0, 0.5, 1.0]


def test_errors_of_replicas_are_raised(two):
    def fails():
        if tf.distribute.get_replica_context()._id == 1:
            raise ValueError("replica 1")
    with two.scope(), pytest.raises(ValueError, match="replica 1"):
        two.experimental_run_v2(fails)

    def one_merges():
        context = tf.distribute.get_replica_context()
        if context._id == 0:
            context.merge_call(lambda strategy: None)
    with two.scope(), pytest.raises(RuntimeError, match="merge_call"):
        two.experimental_run_v2(one_merges)


def test_variables(two):
    with two.scope():
        outside = tf.Variable([1.0, 2.0], name="outside")
        counted = tf.Variable(0.0, trainable=False, aggregation=tf.VariableAggregation.SUM, name="counted")
        first = tf.Variable(0.0, trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA, name="first")
        local = tf.get_variable("local", [], initializer=tf.zeros_initializer(), trainable=False,
                                synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM)

        def fn():
            i = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            with tf.variable_scope("scope"):
                got = tf.get_variable("got", [2], initializer=tf.random_normal_initializer())
            made = tf.Variable(tf.random_normal([2]), name="made")
            with pytest.raises(ValueError, match="aggregation method"):
                outside.assign([0.0, 0.0])
            updates = [counted.assign_add(i + 1.0), first.assign(i + 5.0), local.assign_add(i + 1.0)]
            return got + 0.0, made + 0.0, tf.group(*updates)
        got, made, updates = two.experimental_run_v2(fn)
        double = outside.assign(outside * 2)
        total = local + 0.0
    assert [v.name for v in tf.trainable_variables()] == ["outside:0", "scope/got:0", "made:0"]
    assert [v.device for v in two.experimental_local_results(outside)] == ["/device:CPU:0", "/device:CPU:1"]
    with _session(two) as session:
        session.run(tf.global_variables_initializer())
        for pair in session.run([two.unwrap(got), two.unwrap(made)]):
            np.testing.assert_array_equal(pair[0], pair[1])
        session.run(two.group(updates))
        assert session.run(two.unwrap(counted)) == [3, 3] and session.run(two.unwrap(first)) == [5, 5]
        assert session.run(two.unwrap(local)) == [1, 2] and session.run([local, total]) == [3, 3]
        session.run(double)
        for copy in session.run(two.unwrap(outside)):
            np.testing.assert_array_equal(copy, [2, 4])


def test_batch_normalization_averages_what_replicas_have_seen(two, tmp_path):
    data = np.random.RandomState(0).rand(8, 3).astype(np.float32)

    def fn(x):
        y = tf.layers.batch_normalization(x, training=True, momentum=0.0, fused=False)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            return tf.reduce_sum(y)
    with two.scope():
        iterator = two.make_dataset_iterator(tf.data.Dataset.from_tensors(data).repeat())
        out = two.experimental_run_v2(fn, args=(iterator.get_next(),))
    mean = next(v for v in tf.global_variables() if "moving_mean" in v.name)
    halves = [data[:4].mean(0), data[4:].mean(0)]
    saver = tf.train.Saver()
    with _session(two) as session:
        session.run([tf.global_variables_initializer(), iterator.initialize()])
        session.run(two.unwrap(out))
        np.testing.assert_allclose(session.run(two.unwrap(mean)), halves, rtol=1e-5)
        np.testing.assert_allclose(session.run(mean), data.mean(0), rtol=1e-5)
        path = saver.save(session, str(tmp_path / "model"))
        session.run(tf.global_variables_initializer())
        saver.restore(session, path)
        np.testing.assert_allclose(session.run(two.unwrap(mean)), [data.mean(0)] * 2, rtol=1e-5)


OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1), "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.05), "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.05), "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0), "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
}
DATA = np.random.RandomState(0).rand(40, 3).astype(np.float32), np.random.RandomState(1).randint(0, 5, 40)


def _train(strategy, make_optimizer, steps=5, folder=None):
    """Losses of global batches of 8, and the weights, which all copies share."""
    with tf.Graph().as_default(), strategy.scope():
        tf.set_random_seed(3)
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices((*DATA, DATA[0].sum(1))).batch(8).repeat())
        step = tf.train.get_or_create_global_step()

        def fn(inputs):
            x, ids, y = inputs
            table = tf.get_variable("table", [5, 2], initializer=tf.random_normal_initializer(seed=1))
            hidden = tf.concat([tf.layers.dense(x, 4, tf.nn.tanh), tf.nn.embedding_lookup(table, ids)], 1)
            loss = tf.reduce_sum((tf.layers.dense(hidden, 1)[:, 0] - y) ** 2) / 8
            with tf.control_dependencies([make_optimizer().minimize(loss, global_step=step)]):
                return tf.identity(loss)
        total = strategy.reduce(SUM, strategy.experimental_run_v2(fn, args=(iterator.get_next(),)))
        with _session(strategy) as session:
            session.run([tf.global_variables_initializer(), iterator.initialize()])
            losses = [session.run(total) for _ in range(steps)]
            weights = []
            for v in tf.global_variables():
                copies = session.run(strategy.unwrap(v))
                for copy in copies[1:]:
                    np.testing.assert_array_equal(copy, copies[0], err_msg=v.name)
                weights.append(copies[0])
            assert session.run(step) == steps
            if folder is not None:
                saver = tf.train.Saver()
                path = saver.save(session, str(folder / "model"))
                session.run(tf.global_variables_initializer())
                saver.restore(session, path)
                for v, want in zip(tf.global_variables(), weights):
                    for copy in session.run(strategy.unwrap(v)):
                        np.testing.assert_array_equal(copy, want)
        return losses, weights


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_replicas_train_as_one_does(optimizer):
    losses, weights = _train(STRATEGIES["one"](), OPTIMIZERS[optimizer])
    assert losses[-1] != losses[0]
    for kind in ("mirrored 2", "mirrored 4", "central 2"):
        other, other_weights = _train(STRATEGIES[kind](), OPTIMIZERS[optimizer])
        np.testing.assert_allclose(other, losses, rtol=1e-4)
        for a, b in zip(other_weights, weights):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_the_same_seed_gives_the_same_bits():
    a, b = (_train(STRATEGIES["mirrored 2"](), OPTIMIZERS["adam"]) for _ in range(2))
    assert a[0] == b[0] and all((x == y).all() for x, y in zip(a[1], b[1]))


@pytest.mark.parametrize("kind", STRATEGIES)
def test_checkpoints(kind, tmp_path):
    _train(STRATEGIES[kind](), OPTIMIZERS["adam"], folder=tmp_path)
    names = {name for name, _ in tf.train.list_variables(str(tmp_path))}
    assert {"dense/kernel", "dense/kernel/Adam", "table", "global_step", "beta1_power"} <= names
    assert not any("replica" in name for name in names)


def test_apply_gradients_needs_a_replica(two):
    with two.scope():
        v = tf.Variable(1.0)
        with pytest.raises(RuntimeError, match="cross-replica"):
            tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.constant(1.0), v)])
    with pytest.raises(RuntimeError, match="copies on several devices"):  # one of them would change
        tf.train.GradientDescentOptimizer(0.1).minimize(v * v)


def test_keras_models_are_refused(two):
    with two.scope(), pytest.raises(NotImplementedError, match="tf.keras model with the 2 replicas of MirroredStrategy.*Horovod"):
        tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))]).compile("sgd", "mse")


@pytest.mark.parametrize("size", [7, 8])
def test_a_global_batch_is_divided(two, size):
    dataset = tf.data.Dataset.range(20).batch(size)
    iterators = [two.make_dataset_iterator(dataset), two.experimental_distribute_dataset(dataset).make_initializable_iterator(),
                 two.make_input_fn_iterator(lambda context: tf.data.Dataset.range(20).batch(context.get_per_replica_batch_size(8)))]
    fetches = [two.unwrap(i.get_next()) for i in iterators]
    half = -(-size // 2)
    with _session(two) as session:
        session.run([i.initialize() for i in iterators])
        for begin in (0, size):
            for pair in session.run(fetches[:2]):
                np.testing.assert_array_equal(pair[0], np.arange(begin, begin + half))
                np.testing.assert_array_equal(pair[1], np.arange(begin + half, begin + size))
        pair = session.run(fetches[2])
        assert sorted(np.concatenate(pair).tolist()) == list(range(8))


@pytest.mark.parametrize("kind", ["mirrored 2", "mirrored 4", "contrib 2"])
def test_estimators(kind, tmp_path):
    def input_fn_of(batch):
        return lambda: tf.data.Dataset.from_tensor_slices((DATA[0], DATA[0].sum(1))).batch(batch).repeat()

    def model_fn(features, labels, mode):
        hidden = tf.layers.dense(features, 4, tf.nn.tanh, kernel_initializer=tf.random_normal_initializer(seed=1))
        loss = tf.losses.mean_squared_error(labels, tf.layers.dense(hidden, 1, kernel_initializer=tf.random_normal_initializer(seed=2))[:, 0])
        train = tf.train.AdamOptimizer(0.02).minimize(loss, tf.train.get_global_step()) if mode == "train" else None
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    class Losses(tf.train.SessionRunHook):
        def __init__(self):
            self.seen = []

        def before_run(self, context):
            return tf.train.SessionRunArgs(tf.get_collection(tf.GraphKeys.LOSSES)[-1])

        def after_run(self, context, values):
            self.seen.append(float(values.results))
    curves = []
    for strategy in (None, STRATEGIES[kind]()):
        replicas = strategy.num_replicas_in_sync if strategy else 1
        config = tf.estimator.RunConfig(str(tmp_path / str(replicas)), train_distribute=strategy, save_checkpoints_steps=3)
        estimator, hook = tf.estimator.Estimator(model_fn, config=config), Losses()
        estimator.train(input_fn_of(8 // replicas), hooks=[hook], steps=3)
        estimator.train(input_fn_of(8 // replicas), hooks=[hook], max_steps=6)  # restored
        result = estimator.evaluate(input_fn_of(8), steps=5)
        curves.append([*hook.seen, result["loss"], estimator.get_variable_value("dense/kernel").sum()])
        assert result["global_step"] == 6
    np.testing.assert_allclose(curves[1], curves[0], rtol=1e-4)
    with pytest.raises(NotImplementedError, match="eval_distribute"):
        tf.estimator.RunConfig(eval_distribute=STRATEGIES[kind]())


@pytest.mark.parametrize("optimizer", [lambda: tf.train.GradientDescentOptimizer(1.0), lambda: tf.train.MomentumOptimizer(1.0, 0.0)])
@pytest.mark.parametrize("kind", STRATEGIES)
def test_replicas_agree_on_the_loss_scale(kind, optimizer):
    """One replica's gradient that is not finite is everybody's."""
    strategy = STRATEGIES[kind]()
    replicas = strategy.num_replicas_in_sync
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", initializer=[1.0, 2.0])
        scale = tf.mixed_precision.DynamicLossScale(initial_loss_scale=4, increment_period=2)
        scaled = tf.mixed_precision.MixedPrecisionLossScaleOptimizer(optimizer(), scale)
        fed = tf.placeholder(tf.float32, [replicas, 2])

        def replica():
            mine = fed[tf.distribute.get_replica_context().replica_id_in_sync_group]
            return scaled.minimize(tf.reduce_sum(w * mine), global_step=step)

        train = strategy.group(strategy.experimental_run_v2(replica))
        now = scale()
        expected, steps, scales = np.array([1.0, 2.0]), 0, []
        with _session(strategy) as session:
            session.run(tf.global_variables_initializer())
            for value, is_finite in (([1, 0], True), ([np.inf, 0], False), ([0, 1], True), ([0, 1], True), ([np.nan, 0], False), ([1, 0], True)):
                gradients = np.zeros([replicas, 2], np.float32)
                gradients[-1] = value
                session.run(train, {fed: gradients})
                expected -= np.array(value) if is_finite else 0
                steps += is_finite
                for copy in getattr(w, "values", None) or [w]:
                    np.testing.assert_array_equal(session.run(copy), expected)
                assert session.run(step) == steps
                scales.append(float(session.run(now)))
    assert scales == [4, 2, 2, 4, 2, 2]
