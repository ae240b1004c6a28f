# SPDX-License-Identifier: Apache-2.0
"""Names of files that begin with file://, as TensorFlow takes them."""
import os

import pytest

import millstream as tf


@pytest.fixture(params=["file://", "file://localhost", "file://elsewhere"])
def uri(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where a folder "file:" would come to lie
    yield request.param + str(tmp_path)
    assert not os.path.exists("file:")


def test_gfile(uri, tmp_path):
    tf.gfile.MakeDirs(uri + "/a/b")
    with tf.gfile.GFile(uri + "/a/x.txt", "w") as f:
        f.write("one")
        assert f.name == uri + "/a/x.txt"
    assert (tmp_path / "a/x.txt").read_text() == "one"
    assert tf.gfile.Exists(uri + "/a/x.txt") and tf.gfile.IsDirectory(uri + "/a")
    assert tf.gfile.ListDirectory(uri + "/a") == ["b", "x.txt"]
    assert tf.gfile.Glob(uri + "/a/*") == [uri + "/a/b", uri + "/a/x.txt"]
    assert list(tf.gfile.Walk(uri + "/a")) == [(uri + "/a", ["b"], ["x.txt"]), (uri + "/a/b", [], [])]
    assert tf.gfile.Stat(uri + "/a/x.txt").length == 3
    tf.gfile.Copy(uri + "/a/x.txt", uri + "/a/y.txt")
    tf.gfile.Rename(uri + "/a/y.txt", uri + "/a/z.txt")
    tf.gfile.Remove(uri + "/a/z.txt")
    tf.gfile.DeleteRecursively(uri + "/a")
    assert os.listdir(tmp_path) == []


def test_ops_of_files(uri, tmp_path):
    (tmp_path / "x.txt").write_text("line\n")
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.read_file(uri + "/x.txt")) == b"line\n"
        session.run(tf.write_file(uri + "/new/y.txt", "made"))
        assert (tmp_path / "new/y.txt").read_text() == "made"
        assert session.run(tf.matching_files(uri + "/*.txt")).tolist() == [(uri + "/x.txt").encode()]
        dataset = tf.data.Dataset.list_files(uri + "/*.txt", shuffle=False)
        assert session.run(dataset.make_one_shot_iterator().get_next()) == (uri + "/x.txt").encode()
        lines = tf.data.TextLineDataset(uri + "/x.txt")
        assert session.run(lines.make_one_shot_iterator().get_next()) == b"line"
        with pytest.raises(tf.errors.NotFoundError, match=uri + "/none; No such file"):
            session.run(tf.read_file(uri + "/none"))
        records = tf.data.FixedLengthRecordDataset(uri + "/x.txt", 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="body length 5 bytes, which is not an exact multiple"):
            session.run(records.make_one_shot_iterator().get_next())


def test_checkpoints(uri, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(3.0, name="v")
        session.run(v.initializer)
        saver = tf.train.Saver(max_to_keep=1)
        assert saver.save(session, uri + "/ck/model", global_step=1) == uri + "/ck/model-1"
        assert saver.save(session, uri + "/ck/model", global_step=2) == uri + "/ck/model-2"
        assert sorted(os.listdir(tmp_path / "ck")) == ["checkpoint", "model-2.data-00000-of-00001", "model-2.index", "model-2.meta"]
        assert 'model_checkpoint_path: "model-2"' in (tmp_path / "ck/checkpoint").read_text()
        assert tf.train.latest_checkpoint(uri + "/ck") == uri + "/ck/model-2"
        assert tf.train.latest_checkpoint(str(tmp_path / "ck")) == str(tmp_path / "ck/model-2")
        session.run(v.assign(0.0))
        saver.restore(session, uri + "/ck/model-2")
        assert session.run(v) == 3.0
        assert tf.train.checkpoint_exists(uri + "/ck/model-2")
        assert tf.train.list_variables(uri + "/ck") == [("v", [])]
    with tf.Graph().as_default():
        tf.train.import_meta_graph(uri + "/ck/model-2.meta")
        assert tf.get_default_graph().get_tensor_by_name("v:0") is not None


def test_saved_models(uri, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        v = tf.Variable(2.0)
        session.run(v.initializer)
        tf.saved_model.simple_save(session, uri + "/model", {"x": x}, {"y": x * v})
    assert (tmp_path / "model/saved_model.pb").exists()
    with tf.Graph().as_default(), tf.Session() as session:
        assert tf.saved_model.loader.maybe_saved_model_directory(uri + "/model")
        tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], uri + "/model")


def test_events_and_records(uri, tmp_path):
    writer = tf.summary.FileWriter(uri + "/logs")
    writer.add_summary(tf.Summary(), 1)
    writer.close()
    assert writer.get_logdir() == uri + "/logs"
    (name,) = os.listdir(tmp_path / "logs")
    assert len(list(tf.train.summary_iterator(uri + "/logs/" + name))) >= 1
    with tf.python_io.TFRecordWriter(uri + "/x.tfrecord") as records:
        records.write(b"record")
    assert list(tf.python_io.tf_record_iterator(str(tmp_path / "x.tfrecord"))) == [b"record"]


def test_training_sessions(uri, tmp_path):
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        train = tf.assign_add(step, 1)
        with tf.train.MonitoredTrainingSession(checkpoint_dir=uri + "/train", save_summaries_steps=1) as session:
            session.run(train)
    assert tf.train.latest_checkpoint(uri + "/train") == uri + "/train/model.ckpt-1"


def test_other_schemes_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tf.errors.UnimplementedError, match="File system scheme 's3' not implemented"):
        tf.gfile.MakeDirs("s3://bucket/x")
    with tf.Graph().as_default(), tf.Session() as session, \
            pytest.raises(tf.errors.UnimplementedError, match="File system scheme 'gs' not implemented"):
        session.run(tf.write_file("gs://bucket/x", ""))
    assert os.listdir(tmp_path) == []
