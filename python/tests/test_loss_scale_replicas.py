# SPDX-License-Identifier: Apache-2.0
"""Loss scaling where several replicas make one update: rounds of SyncReplicasOptimizer, strategies of tf.distribute."""
import numpy as np
import pytest

import millstream as tf

# (gradient, whether it is finite)
STEPS = (([1.0, 0.0], True), ([np.inf, 0.0], False), ([0.0, 1.0], True), ([0.0, 1.0], True), ([np.nan, 0.0], False), ([1.0, 0.0], True))


def _scaled(optimizer):
    scale = tf.mixed_precision.DynamicLossScale(initial_loss_scale=4, increment_period=2)
    return tf.mixed_precision.MixedPrecisionLossScaleOptimizer(optimizer, scale), scale


@pytest.mark.parametrize("resource", [False, True])
def test_rounds_without_an_update_are_over(resource):
    """The tokens of such a round would otherwise be those of the one before, with which nobody can push gradients."""
    step = tf.train.get_or_create_global_step()
    gradient = tf.placeholder(tf.float32, [2])
    w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
    optimizer, scale = _scaled(tf.train.GradientDescentOptimizer(1.0))
    sync = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=1, total_num_replicas=1)
    train, now = sync.apply_gradients([(gradient, w)], global_step=step), scale()
    expected, seen = np.array([1.0, 2.0]), []
    with tf.train.MonitoredSession(hooks=[sync.make_session_run_hook(is_chief=True, num_tokens=0)]) as session:
        for number, (value, is_finite) in enumerate(STEPS):
            session.run(train, {gradient: value}, tf.RunOptions(timeout_in_ms=60_000))
            expected -= np.array(value) if is_finite else 0
            seen.append(session.run([w, step, now]))
            np.testing.assert_array_equal(seen[-1][0], expected)
            assert seen[-1][1] == number + 1
    assert [float(s[2]) for s in seen] == [4, 2, 2, 4, 2, 2]


def test_the_scale_goes_inside_of_sync():
    optimizer, _ = _scaled(tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1, 1))
    w = tf.get_variable("w", initializer=[1.0])
    with pytest.raises(ValueError, match="inside of SyncReplicasOptimizer"):
        optimizer.apply_gradients([(tf.constant([1.0]), w)], global_step=tf.train.get_or_create_global_step())


def test_a_fixed_scale_may_go_around_sync():
    sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1, 1)
    optimizer = tf.mixed_precision.MixedPrecisionLossScaleOptimizer(sync, 8.0)
    w = tf.get_variable("w", initializer=[1.0])
    train = optimizer.minimize(tf.reduce_sum(3 * w), tf.train.get_or_create_global_step())
    with tf.train.MonitoredSession(hooks=[sync.make_session_run_hook(is_chief=True, num_tokens=0)]) as session:
        session.run(train)
        assert session.run(w).tolist() == [-2.0]


@pytest.mark.parametrize("optimizer", [lambda: tf.train.GradientDescentOptimizer(1.0), lambda: tf.train.MomentumOptimizer(1.0, 0.0)])
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_replicas_of_a_strategy_agree(replicas, optimizer):
    """One replica's gradient that is not finite is everybody's."""
    strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(replicas)])
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", initializer=[1.0, 2.0])
        scaled, scale = _scaled(optimizer())
        fed = tf.placeholder(tf.float32, [replicas, 2])

        def replica():
            mine = fed[tf.distribute.get_replica_context().replica_id_in_sync_group]
            return scaled.minimize(tf.reduce_sum(w * mine), global_step=step)

        train = strategy.group(strategy.experimental_run_v2(replica))
        now = scale()
        expected, steps, scales = np.array([1.0, 2.0]), 0, []
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": replicas})) as session:
            session.run(tf.global_variables_initializer())
            for value, is_finite in STEPS:
                gradients = np.zeros([replicas, 2], np.float32)
                gradients[-1] = value
                session.run(train, {fed: gradients})
                expected -= np.array(value) if is_finite else 0
                steps += is_finite
                for copy in getattr(w, "values", [w]) if replicas > 1 else [w]:
                    np.testing.assert_array_equal(session.run(copy), expected)
                assert session.run(step) == steps
                scales.append(float(session.run(now)))
    assert scales == [4, 2, 2, 4, 2, 2]
