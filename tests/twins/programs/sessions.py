# SPDX-License-Identifier: Apache-2.0
"""What sessions need: savers, scaffolds, initializers, moving averages, summaries."""
from functools import partial

import millstream as tf


def _variables():
    tf.train.create_global_step()
    w = tf.get_variable("w", [4, 3])
    r = tf.get_variable("r", [2], use_resource=True, initializer=tf.ones_initializer())
    return w, r


def _saver(**kwargs):
    _variables()
    tf.train.Saver(**kwargs)


def _saver_on_ps(ps):
    with tf.device(tf.train.replica_device_setter(ps_tasks=ps)):
        _variables()
    tf.train.Saver(sharded=True)


def _scaffold(ps):
    with tf.device(tf.train.replica_device_setter(ps_tasks=ps)):
        w, _ = _variables()
        tf.summary.scalar("loss", tf.nn.l2_loss(w))
        tf.get_variable("local", [2], collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    tf.train.Scaffold().finalize()


def _monitored_async(ps):
    with tf.device(tf.train.replica_device_setter(ps_tasks=ps)):
        step = tf.train.create_global_step()
        loss = tf.nn.l2_loss(tf.get_variable("w", [4, 3]))
        tf.train.AdamOptimizer().minimize(loss, step)
    tf.train.Scaffold().finalize()


def _monitored_sync(ps):
    with tf.device(tf.train.replica_device_setter(ps_tasks=ps)):
        step = tf.train.create_global_step()
        loss = tf.nn.l2_loss(tf.get_variable("w", [4, 3]))
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(), 2)
        optimizer.minimize(loss, step)
        optimizer.make_session_run_hook(is_chief=True).begin()
    tf.train.Scaffold(local_init_op=optimizer.chief_init_op).finalize()


def _averages(**kwargs):
    w, r = _variables()
    average = tf.train.ExponentialMovingAverage(0.9, **kwargs)
    average.apply([w, r])
    tf.train.Saver({"w_average": average.average(w)})


def _averages_of_tensors(**kwargs):
    w, _ = _variables()
    loss = tf.nn.l2_loss(w)
    tf.train.ExponentialMovingAverage(0.9, **kwargs).apply([w, loss])


def _averages_with_updates():
    step = tf.train.create_global_step()
    w = tf.get_variable("w", [4, 3])
    tf.train.ExponentialMovingAverage(0.9, num_updates=step).apply([w])


def _initializers():
    _variables()
    tf.get_variable("local", [2], collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    for name, initializer in [("zeros", tf.zeros_initializer()), ("ones", tf.ones_initializer()),
                              ("constant", tf.constant_initializer(0.5)), ("uniform", tf.random_uniform_initializer(-1, 1, seed=3)),
                              ("normal", tf.random_normal_initializer(0.0, 2.0, seed=4)),
                              ("truncated", tf.truncated_normal_initializer(stddev=0.1, seed=5)),
                              ("glorot", tf.glorot_normal_initializer(seed=6)),
                              ("orthogonal", tf.orthogonal_initializer(seed=7)),
                              ("scaling", tf.variance_scaling_initializer(2.0, "fan_out", "uniform", seed=8))]:
        tf.get_variable(name, [4, 3], initializer=initializer)
    tf.get_variable("wide", [3, 4], initializer=tf.orthogonal_initializer(0.5, seed=9))
    tf.global_variables_initializer()
    tf.local_variables_initializer()
    tf.report_uninitialized_variables()


PROGRAMS = {
    "saver": _saver,
    "saver.sharded": partial(_saver, sharded=True),
    "saver.reshape": partial(_saver, reshape=True, restore_sequentially=True, name="keeper"),
    "saver.ps1": partial(_saver_on_ps, 1),
    "saver.ps2": partial(_saver_on_ps, 2),
    "saver.ps3": partial(_saver_on_ps, 3),
    **{f"scaffold.ps{ps}": partial(_scaffold, ps) for ps in (1, 2, 3)},
    **{f"monitored_async.ps{ps}": partial(_monitored_async, ps) for ps in (1, 2, 3)},
    **{f"monitored_sync.ps{ps}": partial(_monitored_sync, ps) for ps in (1, 2, 3)},
    "averages": _averages,
    "averages.tensors": _averages_of_tensors,
    "averages.debiased": partial(_averages_of_tensors, zero_debias=True),
    "averages.with_updates": _averages_with_updates,
    "initializers": _initializers,
}
