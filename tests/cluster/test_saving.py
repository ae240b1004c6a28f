# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of clusters: ps tasks that share the chief's disk, and ones that do not (mount namespaces; needs root)."""
import os
import shutil
import subprocess

import numpy as np
import pytest

import millstream as tf


def _model():
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [100, 10], initializer=tf.ones_initializer())
        p = tf.get_variable("p", [7, 3], partitioner=tf.fixed_size_partitioner(2), initializer=tf.zeros_initializer())
        r = tf.get_variable("r", [5], use_resource=True, initializer=tf.ones_initializer())
        loss = tf.reduce_sum(w) + tf.reduce_sum(tf.convert_to_tensor(p)) + tf.reduce_sum(r)
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, global_step=step)
    return w, train


def _shards(folder):
    return {name.rpartition("-of-")[2] for name in os.listdir(folder) if ".data-" in name}


def _train_kill_and_train(cluster, folder, start_ps):
    """Five steps, new ps tasks that know nothing, five more."""
    for last in (5, 10):
        with tf.Graph().as_default():
            w, train = _model()
            with tf.train.MonitoredTrainingSession(cluster.target("worker"), checkpoint_dir=folder, save_checkpoint_steps=2,
                                                   hooks=[tf.train.StopAtStepHook(last_step=last)]) as session:
                while not session.should_stop():
                    session.run(train)
        if last == 5:
            for i in range(2):
                cluster.kill("ps", i)
                start_ps(i)
    assert tf.train.load_variable(folder, "global_step") == 10
    momentum, want = 0.0, 1.0
    for _ in range(10):
        momentum = 0.9 * momentum + 1.0
        want -= 0.1 * momentum
    np.testing.assert_allclose(tf.train.load_variable(folder, "w"), np.full([100, 10], want), rtol=1e-5)
    assert not [name for name in os.listdir(folder) if "probe" in name or "temp" in name]


def test_tasks_with_one_disk_write_their_own_variables(make_cluster, tmp_path):
    cluster = make_cluster(ps=2, worker=1)
    _train_kill_and_train(cluster, str(tmp_path), lambda i: cluster.start("ps", i))
    assert _shards(tmp_path) == {"00002"}


@pytest.fixture
def make_blind_cluster(make_cluster, program, tmp_path):
    """A cluster whose ps tasks have an empty folder in place of tmp_path."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    wrapper = tmp_path.parent / f"{tmp_path.name}_server"
    wrapper.write_text(f"#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none {tmp_path} && exec \"$0\" \"$@\"' {program} \"$@\"\n")
    wrapper.chmod(0o755)
    if subprocess.run([wrapper, "--help"], capture_output=True).returncode != 0:
        pytest.skip("no mount namespaces here")
    cluster = make_cluster(start=False, ps=2, worker=1)

    def start_ps(i):
        cluster.program = str(wrapper)
        cluster.start("ps", i)
        cluster.program = program

    for i in range(2):
        start_ps(i)
    cluster.start("worker", 0)
    return cluster, start_ps


def test_tasks_without_a_common_disk_are_saved_by_the_chief(make_blind_cluster, tmp_path):
    cluster, start_ps = make_blind_cluster
    _train_kill_and_train(cluster, str(tmp_path), start_ps)
    assert _shards(tmp_path) == {"00001"}


def test_the_way_can_be_chosen(make_cluster, tmp_path):
    cluster = make_cluster(ps=2, worker=1)
    _model()
    chief = tf.train.Saver(sharded=True, through_chief=True)
    tasks = tf.train.Saver(sharded=True, through_chief=False)
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        assert _shards(os.path.dirname(chief.save(session, str(tmp_path / "a" / "m")))) == {"00001"}
        assert _shards(os.path.dirname(tasks.save(session, str(tmp_path / "b" / "m")))) == {"00002"}
        for saver in (chief, tasks):
            for name in "ab":
                saver.restore(session, str(tmp_path / name / "m"))
