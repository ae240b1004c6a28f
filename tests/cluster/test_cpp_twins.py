# SPDX-License-Identifier: Apache-2.0
"""A C++ program and a Python program with the same model go on from each other's checkpoints and load each other's SavedModels:
examples/cpp/sequence_classifier.cc."""
import os
import re
import subprocess
import sys

import pytest

# The same model in Python; what it prints is what the C++ program prints.
_PYTHON = r"""
import sys
import numpy as np
import millstream as tf

folder, export_dir, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
random, rows = 1, []
for _ in range(512):
    row = []
    for _ in range(4):
        random = (random * 6364136223846793005 + 1442695040888963407) % 2**64
        row.append((random >> 33) % 10)
    rows.append(row)
data = np.array(rows, np.int64)
truth = (data[:, 3:] > data[:, :1]).astype(np.float32)

step = tf.train.create_global_step()
sequences = tf.placeholder(tf.int64, [None, 4])
labels = tf.placeholder(tf.float32, [None, 1])
training = tf.placeholder_with_default(False, [])
table = tf.get_variable("embedding", [10, 4], partitioner=tf.fixed_size_partitioner(2))
embedded = tf.nn.embedding_lookup(table, sequences, partition_strategy="div")
_, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(8), embedded, dtype=tf.float32)
normal = tf.layers.batch_normalization(state.h, training=training, momentum=0.9)
logits = tf.layers.dense(normal, 1, kernel_regularizer=tf.contrib.layers.l2_regularizer(1e-4))
probability = tf.sigmoid(logits)
tf.losses.sigmoid_cross_entropy(labels, logits)
loss = tf.losses.get_total_loss()
_, accuracy = tf.metrics.accuracy(labels, tf.round(probability))
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train = tf.train.AdamOptimizer(0.02).minimize(loss, step)
saver = tf.train.Saver()
everything = {sequences: data, labels: truth}
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    saver.restore(sess, tf.train.latest_checkpoint(folder))
    print("step = %d" % sess.run(step))
    print("accuracy = %.6f, loss = %.6f" % tuple(sess.run([accuracy, loss], everything)))
    if steps:
        for _ in range(steps):
            sess.run(train, {**everything, training: True})
        saver.save(sess, folder + "/model.ckpt", step)
        tf.saved_model.simple_save(sess, export_dir + "_py", {"sequences": sequences}, {"probability": probability})
        sess.run(tf.local_variables_initializer())
        print("accuracy = %.6f, loss = %.6f" % tuple(sess.run([accuracy, loss], everything)))
with tf.Session(graph=tf.Graph()) as sess:
    meta = tf.saved_model.loader.load(sess, ["serve"], export_dir)
    signature = meta.signature_def["serving_default"]
    served = sess.run(signature.outputs["probability"].name, {signature.inputs["sequences"].name: data})
    print("served = %.6f" % np.mean(np.round(served) == truth))
"""


def _numbers(text):
    """All pairs of accuracy and loss that were printed."""
    found = re.findall(r"accuracy = ([\d.]+), loss = ([\d.]+)", text)
    assert found, text
    return [(float(a), float(b)) for a, b in found]


@pytest.fixture
def run_cpp(program):
    path = os.path.join(os.path.dirname(os.path.dirname(program)), "examples", "sequence_classifier")
    assert os.path.exists(path), f"{path} has not been built"

    def run(*flags):
        done = subprocess.run([path, *flags], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    return run


def _run_python(*args):
    done = subprocess.run([sys.executable, "-c", _PYTHON, *args], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_goes_on_from_the_others_checkpoint(run_cpp, tmp_path):
    folder, model = str(tmp_path / "run"), str(tmp_path / "model")
    (first,) = _numbers(run_cpp(f"--folder={folder}", "--train_steps=300", f"--export_dir={model}"))
    assert first[0] > 0.9
    text = _run_python(folder, model, "20")
    restored, trained = _numbers(text)
    assert "step = 300" in text
    assert restored == pytest.approx(first, abs=1e-4)
    assert re.search(r"served = ([\d.]+)", text)[1] == f"{first[0]:.6f}"
    (again,) = _numbers(run_cpp(f"--folder={folder}", "--train_steps=0"))
    assert again == pytest.approx(trained, abs=1e-4)
    assert f"served = {trained[0]:.6f}" in run_cpp(f"--serve={model}_py")
    (further,) = _numbers(run_cpp(f"--folder={folder}", "--train_steps=340"))
    assert further != again
