#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow reads a checkpoint that Millstream wrote, and the other way round.

    tests/interop/checkpoints.py build/dev/examples/checkpoint
"""
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def tensorflow_reads_ours(program, folder):
    prefix = os.path.join(folder, "ours")
    subprocess.run([program, "write", prefix], check=True)
    reader = tf.train.NewCheckpointReader(prefix)
    np.testing.assert_array_equal(reader.get_tensor("layer/kernel"), [[1, 2, 3], [4, 5, 6]])
    assert reader.get_tensor("global_step") == 7
    assert list(reader.get_tensor("words")) == [b"ab", b"", b"a longer one"]
    np.testing.assert_array_equal(reader.get_tensor("sliced"), [[1, 2], [3, 4], [5, 6]])
    assert sorted(reader.get_variable_to_shape_map()) == ["global_step", "layer/kernel", "sliced", "words"]


def we_read_tensorflows(program, folder):
    prefix = os.path.join(folder, "theirs")
    tf.get_variable("plain", initializer=np.arange(4, dtype=np.float32))
    tf.get_variable("half", initializer=np.float16([1, 2.5]))
    tf.get_variable("text", initializer=np.array([b"x", b"yy"], object))
    tf.get_variable("parts", [4, 1], partitioner=tf.fixed_size_partitioner(3), initializer=tf.ones_initializer())
    for i in range(500):  # more than one block of the index
        tf.get_variable(f"many/layer{i}/kernel", initializer=np.float32(i))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver(sharded=True).save(session, prefix)
    out = subprocess.run([program, "list", prefix], check=True, capture_output=True, text=True).stdout
    rows = {row.split("\t")[0]: row.split("\t")[1:] for row in out.splitlines()}
    assert len(rows) == 504, len(rows)
    assert rows["plain"] == ["float", "[4]", "0 1 2 3"], rows["plain"]
    assert rows["half"] == ["half", "[2]", "1 2.5"], rows["half"]
    assert rows["text"] == ["string", "[2]", '"x" "yy"'], rows["text"]
    assert rows["parts"] == ["float", "[4,1]", "[1] [1] [1] [1]"], rows["parts"]
    assert rows["many/layer499/kernel"] == ["float", "[]", "499"], rows["many/layer499/kernel"]


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        tensorflow_reads_ours(program, folder)
        we_read_tensorflows(program, folder)
    print("checkpoints: 2 passed, 0 failed")


if __name__ == "__main__":
    main()
