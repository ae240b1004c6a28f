# SPDX-License-Identifier: Apache-2.0
"""The modes of `millstream train` as a TF1 program would write them: how one of two workers updates the variables of a small model.

The models of the command have no twin: there is no Python program that they are copies of. Their layers are compared in the topic `layers`.
"""
from functools import partial

import millstream as tf

from programs.optimizers import model

WORKERS = 2


def _sgd():
    return tf.train.GradientDescentOptimizer(0.1)


def _async(loss, step, is_chief):
    _sgd().minimize(loss, step)


def _sync(loss, step, is_chief):
    optimizer = tf.train.SyncReplicasOptimizer(_sgd(), WORKERS, WORKERS)
    optimizer.minimize(loss, step)
    optimizer.make_session_run_hook(is_chief).begin()


def _dc_asgd(loss, step, is_chief):
    index = 0 if is_chief else 1
    tf.contrib.opt.DelayCompensatedGradientDescentOptimizer(0.1, 0.04, num_workers=WORKERS, worker_index=index).minimize(loss, step)


def _ssp(loss, step, is_chief):
    optimizer = tf.train.StaleSynchronousOptimizer(_sgd(), 3, WORKERS, 0 if is_chief else 1)
    optimizer.minimize(loss, step)
    optimizer.make_session_run_hook().begin()


def _hierarchical(loss, step, is_chief, group_size):
    optimizer = tf.train.HierarchicalOptimizer(_sgd(), WORKERS, 0 if is_chief else 1, group_size)
    optimizer.minimize(loss, step)
    optimizer.make_session_run_hook().begin()


def _allreduce(loss, step, is_chief, compression="none"):
    optimizer = tf.train.DistributedOptimizer(_sgd(), WORKERS, compression=compression, topk_ratio=0.1)
    optimizer.minimize(loss, step)
    optimizer.make_session_run_hook(is_chief).begin()


def _local_sgd(loss, step, is_chief):
    optimizer = tf.train.LocalSGDOptimizer(_sgd(), WORKERS, 10)
    optimizer.minimize(loss, step)
    optimizer.make_session_run_hook(is_chief).begin()


def _train(build, num_ps, is_chief):
    worker = f"/job:worker/task:{0 if is_chief else 1}"
    with tf.device(tf.train.replica_device_setter(ps_tasks=num_ps, worker_device=worker, ps_strategy="bytes") if num_ps else worker):
        step = tf.train.get_or_create_global_step()
        build(model(), step, is_chief)


WITH_PS = {"async": _async, "sync": _sync, "dc-asgd": _dc_asgd, "ssp": _ssp, "hierarchical.groups_of_2": partial(_hierarchical, group_size=2),
           "hierarchical.groups_of_1": partial(_hierarchical, group_size=1)}
WITHOUT_PS = {"allreduce": _allreduce, "local-sgd": _local_sgd,
              **{f"allreduce.{kind}": partial(_allreduce, compression=kind) for kind in ("fp16", "bf16", "topk")}}
PROGRAMS = {f"{name}.ps{ps}{who}": partial(_train, build, ps, bool(who))
            for name, build in WITH_PS.items() for ps in (1, 2, 3) for who in ("", ".chief")}
PROGRAMS.update({f"{name}{who}": partial(_train, build, 0, bool(who)) for name, build in WITHOUT_PS.items() for who in ("", ".chief")})
