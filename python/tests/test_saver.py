# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: what is in them, what is kept, what is restored."""
import os

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


def build(parts=2):
    w = tf.get_variable("w", [3, 2], initializer=tf.constant_initializer(2.0))
    r = tf.get_variable("r", [4], use_resource=True, initializer=tf.constant_initializer(3.0))
    p = tf.get_variable("p", [5, 3], partitioner=tf.fixed_size_partitioner(parts), initializer=tf.ones_initializer())
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(w) + tf.reduce_sum(r * r) + tf.reduce_sum(tf.convert_to_tensor(p) * 2.0)
    return w, p, step, tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)


KEYS = ["beta1_power", "beta2_power", "global_step", "p", "p/Adam", "p/Adam_1", "r", "r/Adam", "r/Adam_1", "w", "w/Adam",
        "w/Adam_1"]


@pytest.mark.parametrize("sharded", [False, True])
def test_save_and_restore_onto_other_parts(tmp_path, sharded):
    path = str(tmp_path / "model.ckpt")
    w, p, step, train = build()
    saver = tf.train.Saver(sharded=sharded)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        saved = saver.save(sess, path, global_step=step)
        values = sess.run([w, tf.convert_to_tensor(p)])
    assert saved == path + "-1"
    assert [name for name, _ in tf.train.list_variables(saved)] == KEYS
    with tf.Graph().as_default():
        w, p, step, _ = build(parts=3)
        with tf.Session() as sess:
            tf.train.Saver().restore(sess, tf.train.latest_checkpoint(str(tmp_path)))
            for got, want in zip(sess.run([w, tf.convert_to_tensor(p)]), values):
                np.testing.assert_array_equal(got, want)
    reader = tf.train.NewCheckpointReader(saved)
    assert reader.has_tensor("p") and reader.get_tensor("global_step") == 1
    np.testing.assert_array_equal(reader.get_tensor("p"), values[1])


def test_max_to_keep_and_recovery(tmp_path):
    v = tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        sess.run(v.initializer)
        for i in range(4):
            saver.save(sess, str(tmp_path / "m"), global_step=i, write_meta_graph=False)
        assert saver.last_checkpoints == [str(tmp_path / "m-2"), str(tmp_path / "m-3")]
        assert sorted(n for n in os.listdir(tmp_path) if n.endswith(".index")) == ["m-2.index", "m-3.index"]
        other = tf.train.Saver(max_to_keep=2)
        other.recover_last_checkpoints(tf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths)
        other.save(sess, str(tmp_path / "m"), global_step=4, write_meta_graph=False)
        assert other.last_checkpoints == [str(tmp_path / "m-3"), str(tmp_path / "m-4")]


def test_relative_paths_and_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("d")
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        tf.train.Saver({"x": a, "y": b}).save(sess, "d/model", global_step=7)
    assert open("d/checkpoint").read().startswith('model_checkpoint_path: "model-7"')
    assert tf.train.latest_checkpoint("d") == "d/model-7"
    assert [n for n, _ in tf.train.list_variables("d")] == ["x", "y"]


def test_errors(tmp_path):
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(v.initializer)
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            saver.restore(sess, str(tmp_path / "m"))
        path = saver.save(sess, str(tmp_path / "m"))
        w = tf.Variable(1.0, name="w")
        with pytest.raises(tf.errors.NotFoundError, match="w"):
            tf.train.Saver([w]).restore(sess, path)
        u = tf.Variable([1.0, 2.0], name="u")
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.train.Saver({"v": u}).restore(sess, path)
    with pytest.raises(ValueError, match="No variables to save"):
        with tf.Graph().as_default():
            tf.train.Saver()


def test_meta_graph(tmp_path):
    w, _, step, train = build()
    tf.add_to_collection("mine", w)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
        value = sess.run(w)
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(path + ".meta")
        assert [v.name for v in tf.trainable_variables()] == ["w:0", "r:0", "p/part_0:0", "p/part_1:0"]
        with tf.Session() as sess:
            saver.restore(sess, path)
            np.testing.assert_array_equal(sess.run("w:0"), value)
            sess.run(tf.get_collection("train_op")[0])
            assert sess.run("global_step:0") == 2


def test_init_from_checkpoint(tmp_path):
    v = tf.get_variable("old/v", initializer=[1.0, 2.0])
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default():
        with tf.variable_scope("new"):
            n = tf.get_variable("v", [2])
        tf.train.init_from_checkpoint(path, {"old/": "new/"})
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            np.testing.assert_array_equal(sess.run(n), [1, 2])


def test_one_missing_folder_is_made(tmp_path):
    v = tf.Variable(1.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert tf.train.latest_checkpoint(str(tmp_path / "a")) is None
        path = tf.train.Saver().save(sess, str(tmp_path / "a" / "m"))
        assert tf.train.latest_checkpoint(str(tmp_path / "a")) == path
        with pytest.raises(ValueError, match="Parent directory of .* doesn't exist, can't save"):
            tf.train.Saver().save(sess, str(tmp_path / "b" / "c" / "m"))


def test_missing_folders_are_an_error_at_a_server_too(tmp_path):
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), tf.Session(server.target) as sess:
        tf.Variable(1.0)
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        with pytest.raises(ValueError, match="Parent directory of .* doesn't exist, can't save"):
            saver.save(sess, str(tmp_path / "a" / "b" / "model"))
        assert saver.save(sess, str(tmp_path / "a" / "model"))
    server.stop()
