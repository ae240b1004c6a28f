# SPDX-License-Identifier: Apache-2.0
"""Saves on disks that are full or read-only: the error names a file, nothing is left, and saves work when there is room again."""
import os
import subprocess

import pytest

import millstream as tf

MODEL = 100_000  # floats of a variable


@pytest.fixture
def disk(tmp_path):
    """A disk of 3 MB."""
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(path)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("cannot mount a disk: " + mounted.stderr.decode())
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def _fill(disk):
    """Leaves room for less than the model."""
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    with open(disk / "ballast", "wb") as f:
        f.write(bytes(free - 200_000))


def _model(num_ps):
    device = tf.train.replica_device_setter(ps_tasks=num_ps) if num_ps else None
    with tf.device(device):
        step = tf.train.get_or_create_global_step()
        tf.get_variable("w0", [MODEL], initializer=tf.zeros_initializer())
        tf.get_variable("w1", [8], initializer=tf.zeros_initializer())
        tf.get_variable("p", [MODEL // 10, 2], initializer=tf.zeros_initializer(), partitioner=tf.fixed_size_partitioner(max(1, num_ps)))
    return step


def _names(folder):
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("num_ps", [0, 1, 2, 3])
@pytest.mark.parametrize("sharded", [True, False])
@pytest.mark.parametrize("through_chief", [None, True])
def test_full(make_cluster, disk, num_ps, sharded, through_chief):
    target = make_cluster(ps=num_ps, worker=1).target("worker") if num_ps else ""
    folder = disk / "new" / "train"
    folder.mkdir(parents=True)
    _model(num_ps)
    saver = tf.train.Saver(sharded=sharded, through_chief=through_chief)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, str(folder / "model.ckpt"), global_step=0)
        before = _names(folder)
        _fill(disk)
        for _ in range(2):
            with pytest.raises(tf.errors.ResourceExhaustedError, match=str(folder / "model.ckpt-1")):
                saver.save(session, str(folder / "model.ckpt"), global_step=1)
            assert _names(folder) == before
        os.remove(disk / "ballast")
        path = saver.save(session, str(folder / "model.ckpt"), global_step=1)
        saver.restore(session, path)
    assert tf.train.latest_checkpoint(str(folder)) == path


@pytest.mark.parametrize("num_ps", [0, 2])
def test_full_in_the_background(make_cluster, disk, num_ps):
    """The checkpoints of a MonitoredTrainingSession."""
    target = make_cluster(ps=num_ps, worker=1).target("worker") if num_ps else ""
    train = _model(num_ps).assign_add(1)
    with pytest.raises(tf.errors.ResourceExhaustedError, match=str(disk / "model.ckpt-")):
        with tf.train.MonitoredTrainingSession(target, checkpoint_dir=str(disk), save_checkpoint_steps=5, save_summaries_steps=None,
                                               save_summaries_secs=None, log_step_count_steps=None) as session:
            _fill(disk)
            for _ in range(1000):
                session.run(train)
    assert not [n for n in _names(disk) if ".tmp-" in n or "_temp_" in n]
    assert {n.split(".")[1] for n in _names(disk) if n.startswith("model")} == {"ckpt-0"}


def test_read_only(disk):
    step = _model(0)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(tf.errors.PermissionDeniedError, match=str(disk / "model.ckpt-1")):
            saver.save(session, str(disk / "model.ckpt"), global_step=1)
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        saver.save(session, str(disk / "model.ckpt"), global_step=1)
    assert step is not None


def test_what_a_killed_chief_leaves_is_removed_by_the_next(make_cluster, tmp_path):
    """Parts, data and graphs of a process that died, beside those of one that lives."""
    cluster = make_cluster(ps=2, worker=1)
    script = """
import os, sys
import millstream as tf
from millstream import _core
saving = _core.SaveInProgress(sys.argv[1] + "/model.ckpt-7")
with tf.Session() as session:
    session.run(tf.raw_ops.SaveV2(prefix=sys.argv[1] + "/model.ckpt-7_temp_" + "0" * 32 + "/part-00000-of-00002", tensor_names=["v"],
                                  shape_and_slices=[""], tensors=[tf.zeros([1000])]))
print("ready", flush=True)
sys.stdin.read()
os.kill(os.getpid(), 9)
"""
    import sys
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    _model(2)
    saver = tf.train.Saver(sharded=True)
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, str(tmp_path / "model.ckpt"), global_step=8)
        assert (tmp_path / ("model.ckpt-7_temp_" + "0" * 32)).exists()  # it lives
        process.stdin.close()
        process.wait()
        saver.save(session, str(tmp_path / "model.ckpt"), global_step=9)
    assert not [n for n in _names(tmp_path) if "-7" in n or ".tmp-" in n or "_temp_" in n]
