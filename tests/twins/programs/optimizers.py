# SPDX-License-Identifier: Apache-2.0
"""All optimizers: dense and sparse gradients, reference and resource variables; alone, and on 1 to 3 ps, async and sync."""
from functools import partial

import millstream as tf

OPTIMIZERS = {
    "sgd": lambda step: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda step: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda step: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True, use_locking=True),
    "adagrad": lambda step: tf.train.AdagradOptimizer(0.1),
    "adagrad_da": lambda step: tf.train.AdagradDAOptimizer(0.1, step),
    "adadelta": lambda step: tf.train.AdadeltaOptimizer(0.1),
    "adam": lambda step: tf.train.AdamOptimizer(0.1),
    "ftrl": lambda step: tf.train.FtrlOptimizer(0.1),
    "ftrl_shrinkage": lambda step: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.5),
    "proximal_sgd": lambda step: tf.train.ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.5),
    "proximal_adagrad": lambda step: tf.train.ProximalAdagradOptimizer(0.1, l2_regularization_strength=0.5),
    "rmsprop": lambda step: tf.train.RMSPropOptimizer(0.1),
    "rmsprop_centered": lambda step: tf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
}


def model(resource=False):
    """A loss with a dense gradient for `w` and `b`, and a sparse one for `table`."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    ids = tf.placeholder(tf.int64, [None], name="ids")
    w = tf.get_variable("w", [4, 3], use_resource=resource)
    b = tf.get_variable("b", [3], initializer=tf.zeros_initializer(), use_resource=resource)
    table = tf.get_variable("table", [10, 3], use_resource=resource)
    y = tf.nn.bias_add(tf.matmul(x, w), b)
    return tf.nn.l2_loss(y + tf.nn.embedding_lookup(table, ids))


def dense_model():
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    w = tf.get_variable("w", [4, 3])
    b = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
    return tf.nn.l2_loss(tf.nn.bias_add(tf.matmul(x, w), b))


def _alone(make, resource):
    step = tf.train.create_global_step()
    make(step).minimize(model(resource), step)
    tf.global_variables_initializer()


def _async(make, num_ps):
    with tf.device(tf.train.replica_device_setter(ps_tasks=num_ps, worker_device="/job:worker/task:1")):
        step = tf.train.create_global_step()
        make(step).minimize(model(), step)
        tf.global_variables_initializer()


def _sync(make, num_ps):
    with tf.device(tf.train.replica_device_setter(ps_tasks=num_ps, worker_device="/job:worker/task:1")):
        step = tf.train.create_global_step()
        optimizer = tf.train.SyncReplicasOptimizer(make(step), replicas_to_aggregate=2, total_num_replicas=3)
        optimizer.minimize(model(), step)
        optimizer.get_init_tokens_op()
        tf.global_variables_initializer()


def _sync_averages():
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        step = tf.train.create_global_step()
        loss = dense_model()
        averages = tf.train.ExponentialMovingAverage(0.9)
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(0.1), 2, variable_averages=averages,
                                                   variables_to_average=tf.trainable_variables())
        optimizer.minimize(loss, step)
        optimizer.get_init_tokens_op(4)


def _delay_compensated(num_ps):
    with tf.device(tf.train.replica_device_setter(ps_tasks=num_ps)):
        step = tf.train.create_global_step()
        optimizer = tf.contrib.opt.DelayCompensatedGradientDescentOptimizer(0.1, 0.04, num_workers=2, worker_index=1)
        optimizer.minimize(model(), step)
        tf.global_variables_initializer()


def _stale_synchronous(num_ps):
    with tf.device(tf.train.replica_device_setter(ps_tasks=num_ps, worker_device="/job:worker/task:1")):
        step = tf.train.create_global_step()
        optimizer = tf.train.StaleSynchronousOptimizer(tf.train.AdamOptimizer(0.1), staleness=4, num_workers=3, worker_index=1)
        optimizer.minimize(model(), step)
        tf.global_variables_initializer()


def _distributed(compression):
    step = tf.train.create_global_step()
    large = tf.get_variable("large", [40, 30])
    optimizer = tf.train.DistributedOptimizer(tf.train.AdamOptimizer(0.1), 2, compression)
    optimizer.minimize(model() + tf.nn.l2_loss(large), step)


def _local_sgd(num_workers, resource):
    step = tf.train.create_global_step()
    optimizer = tf.train.LocalSGDOptimizer(tf.train.AdamOptimizer(0.1), num_workers, average_every=5)
    optimizer.minimize(model(resource), step)
    optimizer._group.broadcast(tf.global_variables(), is_root=num_workers == 3)
    optimizer.average_op()


def _hierarchical(num_ps, worker):
    with tf.device(tf.train.replica_device_setter(ps_tasks=num_ps, worker_device=f"/job:worker/task:{worker}")):
        step = tf.train.create_global_step()
        optimizer = tf.train.HierarchicalOptimizer(tf.train.AdamOptimizer(0.1), num_workers=5, worker_index=worker, group_size=2)
        optimizer.minimize(model(), step)
        tf.global_variables_initializer()


def _gated(gate, name):
    tf.train.GradientDescentOptimizer(0.1).minimize(dense_model(), gate_gradients=gate, name=name)


def _colocated():
    tf.train.AdagradOptimizer(0.1).minimize(dense_model(), colocate_gradients_with_ops=True)


def _two_towers():
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    for i in range(2):
        with tf.device(f"/device:CPU:{i}"):
            with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
                loss = tf.nn.l2_loss(tf.matmul(x, tf.get_variable("w", [4, 3])))
            with tf.name_scope("tower"):
                optimizer.apply_gradients(optimizer.compute_gradients(loss))


def _scaled(scale, resource):
    step = tf.train.create_global_step()
    tf.train.experimental.MixedPrecisionLossScaleOptimizer(tf.train.AdamOptimizer(0.1), scale()).minimize(model(resource), step)
    tf.global_variables_initializer()


def _after_updates():
    update = tf.no_op(name="update_op")
    with tf.control_dependencies([update]):
        tf.train.AdamOptimizer(0.1).minimize(model(), tf.train.create_global_step())


PROGRAMS = {
    "sync_averages": _sync_averages,
    "gate_none": partial(_gated, tf.train.Optimizer.GATE_NONE, "none"),
    "gate_graph": partial(_gated, tf.train.Optimizer.GATE_GRAPH, "graph"),
    "colocated": _colocated,
    "two_towers": _two_towers,
    "after_updates": _after_updates,
}
for _name, _make in OPTIMIZERS.items():
    PROGRAMS[f"{_name}"] = partial(_alone, _make, False)
    PROGRAMS[f"{_name}.resource"] = partial(_alone, _make, True)
    for _ps in (1, 2, 3):
        PROGRAMS[f"{_name}.async.ps{_ps}"] = partial(_async, _make, _ps)
        PROGRAMS[f"{_name}.sync.ps{_ps}"] = partial(_sync, _make, _ps)
for _ps in (1, 2, 3):
    PROGRAMS[f"delay_compensated.ps{_ps}"] = partial(_delay_compensated, _ps)
    PROGRAMS[f"stale_synchronous.ps{_ps}"] = partial(_stale_synchronous, _ps)
    for _worker in range(5):
        PROGRAMS[f"hierarchical.worker{_worker}.ps{_ps}"] = partial(_hierarchical, _ps, _worker)
for _resource in (False, True):
    _end = ".resource" if _resource else ""
    PROGRAMS["loss_scale.fixed" + _end] = partial(_scaled, lambda: 128.0, _resource)
    PROGRAMS["loss_scale.dynamic" + _end] = partial(_scaled, lambda: tf.train.experimental.DynamicLossScale(64, 10, 4.0), _resource)
for _kind in ("none", "fp16", "bf16", "topk"):
    PROGRAMS[f"distributed.{_kind}"] = partial(_distributed, _kind)
for _workers in (1, 2, 3):
    PROGRAMS[f"local_sgd.workers{_workers}"] = partial(_local_sgd, _workers, False)
    PROGRAMS[f"local_sgd.workers{_workers}.resource"] = partial(_local_sgd, _workers, True)
