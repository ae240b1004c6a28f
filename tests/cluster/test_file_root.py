# SPDX-License-Identifier: Apache-2.0
"""Servers whose graphs may touch files in one folder only (--file_root)."""
import pytest

import millstream as tf


@pytest.fixture
def confined(make_cluster, tmp_path):
    """A session at such a server, the folder, and a file outside of it."""
    folder, outside = tmp_path / "in", tmp_path / "secret.txt"
    folder.mkdir()
    (folder / "words.txt").write_text("a\nb\n")
    outside.write_text("a\nb\n")
    cluster = make_cluster(worker=1, flags=["--file_root", str(folder)])
    with tf.device("/job:worker/task:0"), tf.Session(cluster.target("worker")) as session:
        yield session, folder, outside



def test_what_ops_may_touch(confined):
    session, folder, outside = confined
    inside = folder / "words.txt"
    assert session.run(tf.read_file(str(inside))) == b"a\nb\n"
    assert session.run(tf.matching_files(str(folder / "*.txt"))).tolist() == [str(inside).encode()]
    session.run(tf.write_file(str(folder / "sub" / "new.txt"), "text"))
    assert (folder / "sub" / "new.txt").read_text() == "text"
    v = tf.Variable(3.0)
    session.run(v.initializer)
    saver = tf.train.Saver([v])
    path = saver.save(session, str(folder / "model"))
    saver.restore(session, path)
    lines = tf.data.TextLineDataset([str(inside)]).make_one_shot_iterator().get_next()
    assert session.run(lines) == b"a"


def test_what_they_may_not(confined):
    session, folder, outside = confined
    v = tf.Variable(3.0)
    session.run(v.initializer)
    (folder / "link").symlink_to(outside)
    table = tf.contrib.lookup.index_table_from_file(str(outside)) if hasattr(tf.contrib, "lookup") else None
    refused = [
        tf.read_file(str(outside)),
        tf.read_file(str(folder / ".." / "secret.txt")),
        tf.read_file(str(folder / "link")),
        tf.write_file(str(folder.parent / "new.txt"), "text"),
        tf.matching_files(str(folder.parent / "*")),
        tf.data.TextLineDataset([str(outside)]).make_one_shot_iterator().get_next(),
        tf.data.TFRecordDataset([str(outside)]).make_one_shot_iterator().get_next(),
        tf.raw_ops.SaveV2(prefix=str(folder.parent / "model"), tensor_names=["v"], shape_and_slices=[""], tensors=[v]),
        tf.raw_ops.RestoreV2(prefix=str(folder), tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32])[0],
        tf.print("text", output_stream=f"file://{folder.parent}/log.txt"),
    ] + ([table.init] if table is not None else [])
    for fetch in refused:
        with pytest.raises(tf.errors.PermissionDeniedError, match="--file_root"):
            session.run(fetch)
    assert sorted(p.name for p in folder.parent.iterdir()) == ["in", "secret.txt"]
