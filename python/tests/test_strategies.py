# SPDX-License-Identifier: Apache-2.0
"""tf.distribute: one replica on one device, what clusters change, and what is refused. test_mirrored.py has several replicas."""
import json

import numpy as np
import pytest

import millstream as tf
from millstream.client import default_target

CLUSTER = {"chief": ["localhost:1"], "worker": ["localhost:2", "localhost:3"], "ps": ["localhost:4"]}


@pytest.fixture
def in_cluster(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER, "task": {"type": "worker", "index": 1}}))


def test_one_replica():
    strategy = tf.distribute.MirroredStrategy()
    assert tf.estimator.RunConfig(train_distribute=strategy).train_distribute is strategy
    with strategy.scope():
        assert tf.distribute.get_strategy() is strategy and tf.distribute.has_strategy()
        assert strategy.run(lambda x: x + 1, args=(2,)) == 3
    assert not tf.distribute.has_strategy()
    for one in (tf.distribute.OneDeviceStrategy("/cpu:0"), tf.distribute.MirroredStrategy(["/cpu:0"]),
                tf.contrib.distribute.MirroredStrategy(num_gpus=0), tf.contrib.distribute.ParameterServerStrategy()):
        assert one.num_replicas_in_sync == 1
        with one.scope():
            assert one.run(lambda: tf.zeros([])).device == "/device:CPU:0"
    assert tf.contrib.distribute.MirroredStrategy(num_gpus_per_worker=1).extended.worker_devices == ("/device:GPU:0",)


@pytest.mark.parametrize("make", [
    lambda: tf.contrib.distribute.ParameterServerStrategy(num_gpus_per_worker=2),
    lambda: tf.contrib.distribute.TPUStrategy(None),
    lambda: tf.distribute.experimental.TPUStrategy(),
])
def test_what_is_refused(make):
    with pytest.raises(NotImplementedError, match="MultiWorkerMirroredStrategy.*replica_device_setter.*SyncReplicasOptimizer"):
        make()


def test_a_cluster_is_no_single_replica(in_cluster):
    for make in (tf.distribute.MirroredStrategy, tf.contrib.distribute.MirroredStrategy):
        with pytest.raises(NotImplementedError, match="3 training tasks of TF_CONFIG.*MultiWorkerMirroredStrategy"):
            make()
    one = tf.distribute.OneDeviceStrategy("/cpu:0")
    with pytest.raises(NotImplementedError, match="train_distribute=OneDeviceStrategy.* in a cluster"):
        tf.estimator.RunConfig(train_distribute=one)
    with pytest.raises(NotImplementedError, match="in a cluster"):
        tf.estimator.RunConfig().replace(train_distribute=one)
    assert tf.estimator.RunConfig(eval_distribute=one).eval_distribute is one  # one task evaluates


def test_parameter_servers(in_cluster):
    servers = tf.distribute.experimental.ParameterServerStrategy()
    assert servers.num_replicas_in_sync == 1
    assert tf.estimator.RunConfig(train_distribute=servers).num_ps_replicas == 1
    with servers.scope():
        v = tf.Variable([1.0])
        doubled = servers.experimental_run_v2(lambda: v * 2)
    assert v.device == "/job:ps/task:0" and doubled.device == "/job:worker/task:1"


def test_workers_that_reduce_among_themselves(in_cluster):
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    try:
        assert strategy.num_replicas_in_sync == 3 and strategy.extended.worker_index == 2 and not strategy.extended.should_checkpoint
        assert strategy.extended.worker_devices == ("/job:worker/replica:0/task:1/device:CPU:0",)
        config = tf.estimator.RunConfig(train_distribute=strategy)
        assert not config.is_chief and config.num_worker_replicas == 3
    finally:
        default_target.set_target("")


def test_workers_need_no_chief(monkeypatch):
    for index in range(2):
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": ["localhost:2", "localhost:3"]},
                                                    "task": {"type": "worker", "index": index}}))
        strategy = tf.contrib.distribute.CollectiveAllReduceStrategy()
        default_target.set_target("")
        config = tf.estimator.RunConfig(train_distribute=strategy)
        assert config.is_chief == (index == 0) and config.global_id_in_cluster == index
        with pytest.raises(ValueError, match='must have one "chief" node'):
            tf.estimator.RunConfig()


def test_without_a_cluster_there_is_one_worker():
    for strategy in (tf.contrib.distribute.CollectiveAllReduceStrategy(), tf.distribute.experimental.MultiWorkerMirroredStrategy(),
                     tf.distribute.experimental.CentralStorageStrategy(), tf.distribute.experimental.ParameterServerStrategy()):
        assert strategy.num_replicas_in_sync == 1
        with strategy.scope():
            assert strategy.experimental_run_v2(lambda x: x + 1, args=(1,)) == 2


def test_run_configs_take_strategies_only():
    with pytest.raises(TypeError, match="train_distribute"):
        tf.estimator.RunConfig(train_distribute="mirrored")
    with pytest.raises(NotImplementedError):
        tf.estimator.RunConfig(experimental_distribute=object())
    with pytest.raises(NotImplementedError):
        tf.estimator.RunConfig().replace(experimental_distribute=object())


def test_an_estimator_builds_its_model_in_the_scope_of_its_strategy(tmp_path):
    seen = {}

    def input_fn(mode, input_context):
        seen[mode, "pipelines"] = None if input_context is None else input_context.num_input_pipelines
        return tf.data.Dataset.from_tensors(({"x": np.ones([2, 1], np.float32)}, np.ones([2, 1], np.float32))).repeat(3)

    def model_fn(features, labels, mode):
        seen[mode] = tf.distribute.get_strategy()
        w = tf.get_variable("w", [])
        seen[mode, "device"] = w.device
        loss = tf.reduce_mean((features["x"] * w - labels) ** 2)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)
    strategy = tf.distribute.OneDeviceStrategy("/device:CPU:0")
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), tf.estimator.RunConfig(train_distribute=strategy))
    estimator.train(input_fn, steps=2)
    estimator.evaluate(input_fn, steps=1)
    assert seen["train"] is strategy and seen["train", "device"] == "/device:CPU:0" and seen["train", "pipelines"] == 1
    assert seen["eval"] is not strategy and seen["eval", "device"] == "" and seen["eval", "pipelines"] is None
