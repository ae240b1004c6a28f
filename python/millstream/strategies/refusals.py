# SPDX-License-Identifier: Apache-2.0
"""What strategies do not do, and what to use instead."""
from __future__ import annotations

_INSTEAD = ("To train with several processes, use tf.distribute.experimental.MultiWorkerMirroredStrategy, Horovod's interface (docs/horovod.md), or "
            "parameter servers: tf.train.replica_device_setter() with tf.train.MonitoredTrainingSession, and "
            "tf.train.SyncReplicasOptimizer for synchronous steps.")


def refuse(what, instead=_INSTEAD):
    raise NotImplementedError(f"{what} is not supported. {instead}")


def training_tasks(cluster_spec):
    return sum(len(tasks) for job, tasks in cluster_spec.as_dict().items() if job in ("chief", "master", "worker"))


def check_run_config(argument, strategy, cluster_spec):
    """Refuses a strategy of a RunConfig that would train less than it says."""
    from millstream.strategies import multi_worker, strategy as strategy_lib
    if strategy is None:
        return
    if not isinstance(strategy, strategy_lib.Strategy):
        raise TypeError(f"`{argument}` must be a tf.distribute.Strategy, given: {strategy}")
    if argument == "eval_distribute" and strategy.num_replicas_in_sync > 1:
        refuse(f"RunConfig(eval_distribute={type(strategy).__name__}) with {strategy.num_replicas_in_sync} replicas",
               "Leave eval_distribute out: the model is evaluated on one device.")
    alone = argument == "eval_distribute" or isinstance(strategy, (multi_worker.ParameterServerStrategy, multi_worker.CollectiveAllReduceStrategy))
    if not alone and (training_tasks(cluster_spec) > 1 or cluster_spec.as_dict().get("ps")):
        refuse(f"RunConfig({argument}={type(strategy).__name__}) in a cluster (TF_CONFIG)")


class TPUStrategy:
    """Refused: there are no TPUs."""

    def __init__(self, tpu_cluster_resolver=None, steps_per_run=None, device_assignment=None, **kwargs):
        refuse("TPUStrategy")
