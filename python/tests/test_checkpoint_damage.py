# SPDX-License-Identifier: Apache-2.0
"""Checkpoints whose files are missing or damaged: the one before is used, and the messages name the file."""
import logging
import os

import numpy as np
import pytest

import millstream as tf

DAMAGES = ["data missing", "data empty", "data cut", "data flipped", "index missing", "index empty", "index cut", "index flipped"]


def _damage(folder, step, how):
    """Returns the file that was damaged."""
    kind, what = how.split()
    name = next(n for n in sorted(os.listdir(folder)) if n.startswith(f"model.ckpt-{step}.{kind}"))
    path = os.path.join(folder, name)
    contents = open(path, "rb").read()
    if what == "missing":
        os.remove(path)
        return path
    at = len(contents) // 2
    new = {"empty": b"", "cut": contents[:-1], "flipped": contents[:at] + bytes([contents[at] ^ 1]) + contents[at + 1:]}[what]
    with open(path, "wb") as f:
        f.write(new)
    return path


@pytest.fixture
def warnings(caplog):
    logger = logging.getLogger("millstream")
    logger.addHandler(caplog.handler)
    yield lambda: "\n".join(r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING)
    logger.removeHandler(caplog.handler)


def _model():
    step = tf.train.get_or_create_global_step()
    tf.get_variable("w", [8], initializer=tf.zeros_initializer())
    tf.get_variable("p", [8, 2], initializer=tf.zeros_initializer(), partitioner=tf.fixed_size_partitioner(2))
    return step, tf.group(*[v.assign_add(tf.ones_like(v)) for v in tf.global_variables()])


def _save(folder, steps, sharded=True):
    with tf.Graph().as_default(), tf.Session() as session:
        step, train = _model()
        saver = tf.train.Saver(sharded=sharded)
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train)
            saver.save(session, os.path.join(folder, "model.ckpt"), global_step=step)


def _begin(client, folder):
    """The step at which a training begins; all variables must have the values of that step."""
    with tf.Graph().as_default():
        step, _ = _model()
        if client == "monitored":
            session = tf.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_secs=None)
        else:
            session = tf.train.Supervisor(logdir=folder, save_model_secs=0).prepare_or_wait_for_session()
        with session:
            values = session.run([v for v in tf.global_variables()])
        assert all(np.all(v == values[0]) for v in values)
        return values[0]


@pytest.mark.parametrize("client", ["monitored", "supervisor"])
@pytest.mark.parametrize("sharded", [True, False])
@pytest.mark.parametrize("how", DAMAGES)
def test_the_one_before_is_restored(tmp_path, warnings, how, sharded, client):
    _save(str(tmp_path), 3, sharded)
    damaged = _damage(str(tmp_path), 3, how)
    assert _begin(client, str(tmp_path)) == 2
    assert damaged in warnings()


@pytest.mark.parametrize("how", DAMAGES)
def test_saver_names_the_file(tmp_path, how):
    _save(str(tmp_path), 1)
    damaged = _damage(str(tmp_path), 1, how)
    with tf.Graph().as_default(), tf.Session() as session:
        _model()
        kinds = (ValueError,) if how == "index missing" else (tf.errors.NotFoundError, tf.errors.DataLossError)
        with pytest.raises(kinds) as error:
            tf.train.Saver(sharded=True).restore(session, str(tmp_path / "model.ckpt-1"))
        assert how == "index missing" or damaged in str(error.value)
        assert "missing from the checkpoint" not in str(error.value)  # that is for variables


def test_a_checksum_error_names_the_tensor(tmp_path):
    _save(str(tmp_path), 1)
    path = next(str(p) for p in tmp_path.iterdir() if ".data-" in p.name)
    contents = open(path, "rb").read()
    reader = tf.train.NewCheckpointReader(str(tmp_path / "model.ckpt-1"))
    w = np.ones(8, np.float32).tobytes()
    assert contents.count(w) >= 1 and reader.has_tensor("w")
    with open(path, "wb") as f:
        f.write(bytes([b ^ 1 for b in contents]))
    with pytest.raises(tf.errors.DataLossError, match="'w' of .*data-"):
        tf.train.NewCheckpointReader(str(tmp_path / "model.ckpt-1")).get_tensor("w")


def test_if_none_can_be_read_that_is_an_error(tmp_path):
    _save(str(tmp_path), 2)
    for step in (1, 2):
        _damage(str(tmp_path), step, "data cut")
    with pytest.raises(tf.errors.DataLossError, match="model.ckpt-1.data"):
        _begin("monitored", str(tmp_path))


@pytest.mark.parametrize("client", ["monitored", "supervisor"])
@pytest.mark.parametrize("state_file", [None, "", "damaged", 'model_checkpoint_path: ""'])
def test_without_a_state_file_the_newest_is_found(tmp_path, warnings, state_file, client):
    _save(str(tmp_path), 11)  # 10 and 11 are newer than 9, though not by their letters
    os.remove(tmp_path / "checkpoint")
    if state_file is not None:
        (tmp_path / "checkpoint").write_text(state_file)
    _damage(str(tmp_path), 11, "data cut")
    assert _begin(client, str(tmp_path)) == 10
    assert str(tmp_path / "checkpoint") in warnings() and "model.ckpt-11" in warnings()


def test_a_listed_checkpoint_is_missing_and_others_are_not_listed(tmp_path):
    _save(str(tmp_path), 3)
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-3"\n')
    _damage(str(tmp_path), 3, "data missing")
    assert _begin("monitored", str(tmp_path)) == 2


def test_checkpoints_of_another_model_do_not_matter(tmp_path, warnings):
    """A program may keep the checkpoint it begins with in its own folder, for init_fn."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("other", [2])
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "pretrained-1000"), write_state=False)
    assert _begin("monitored", str(tmp_path)) == 0
    assert "pretrained-1000" in warnings()


@pytest.mark.parametrize("sharded", [False, True])
def test_old_checkpoints_are_found(tmp_path, sharded):
    """V1, one file or shards."""
    with tf.Graph().as_default(), tf.Session() as session:
        values = {"global_step": tf.constant(7, tf.int64), "w": tf.fill([8], 7.0), "p": tf.fill([8, 2], 7.0)}
        parts = [["global_step", "w"], ["p"]] if sharded else [list(values)]
        for i, names in enumerate(parts):
            name = str(tmp_path / "model.ckpt-7") + (f"-{i:05d}-of-00002" if sharded else "")
            session.run(tf.raw_ops.Save(filename=name, tensor_names=names, data=[values[n] for n in names]))
    assert _begin("monitored", str(tmp_path)) == 7


def test_latest_checkpoint_says_what_it_does_not_return(tmp_path, warnings):
    _save(str(tmp_path), 2)
    os.remove(tmp_path / "checkpoint")
    assert tf.train.latest_checkpoint(str(tmp_path)) is None  # as TensorFlow
    assert "model.ckpt-2" in warnings()
