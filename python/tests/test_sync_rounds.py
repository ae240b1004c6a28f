# SPDX-License-Identifier: Apache-2.0
"""The rounds in which the chief of a synchronous training applies means: their identity, and rounds without an update."""
import numpy as np
import pytest

import millstream as tf
from millstream.client import step_identity
from millstream.training.sync_replicas_optimizer import _Rounds


def _run(rounds, fails=False):
    seen = None
    try:
        with rounds.current():
            seen = step_identity.current()
            if fails:
                raise OSError("an outage")
    except OSError:
        pass
    assert step_identity.current() == step_identity.NONE
    return seen


def _rounds(holder, global_step, name="sync"):
    rounds = _Rounds(name)
    rounds.begin(holder, global_step)
    return rounds


def test_each_round_has_its_own():
    rounds = _rounds(17, 7)
    first, second = _run(rounds), _run(rounds)
    assert first[0] == second[0] != 0
    assert first[1] != second[1]
    assert _run(_rounds(17, 7, "other_sync"))[0] != first[0]


@pytest.mark.parametrize("holder", [17, 0])
def test_a_round_that_failed_is_repeated(holder):
    rounds = _rounds(holder, 7)
    _run(rounds)
    failed = _run(rounds, fails=True)
    rounds.begin(holder, 8)
    assert _run(rounds) == failed


def test_a_chief_that_was_started_again_repeats_the_round_of_the_one_before():
    killed = _rounds(17, 7)
    _run(killed)
    assert _run(_rounds(17, 8)) == _run(killed, fails=True)


@pytest.mark.parametrize("holder", [17, 0])
@pytest.mark.parametrize("found", [9, 3])  # its answer was lost, or a checkpoint was restored
def test_a_round_that_was_done_or_undone_is_not(found, holder):
    rounds = _rounds(holder, 8)
    failed = _run(rounds, fails=True)
    rounds.begin(holder, found)
    assert _run(rounds) != failed


def test_a_round_at_another_process_is_not():
    rounds = _rounds(17, 8)
    failed = _run(rounds, fails=True)
    rounds.begin(18, 8)
    assert _run(rounds) != failed


# (gradient, whether it is finite)
_LOSS_SCALE_STEPS = (([1.0, 0.0], True), ([np.inf, 0.0], False), ([0.0, 1.0], True), ([0.0, 1.0], True), ([np.nan, 0.0], False), ([1.0, 0.0], True))


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
        for number, (value, is_finite) in enumerate(_LOSS_SCALE_STEPS):
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
