# SPDX-License-Identifier: Apache-2.0
"""Summaries under name scopes, merged, written and read back; event files; old helper functions of the tutorials."""
import glob
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()


def variable_summaries(var):
    with tf.name_scope("summaries"):
        mean = tf.reduce_mean(var)
        tf.summary.scalar("mean", mean)
        with tf.name_scope("stddev"):
            stddev = tf.sqrt(tf.reduce_mean(tf.square(var - mean)))
        tf.summary.scalar("stddev", stddev)
        tf.summary.scalar("max", tf.reduce_max(var))
        tf.summary.histogram("histogram", var)


def nn_layer(input_tensor, input_dim, output_dim, layer_name, act=tf.nn.relu):
    with tf.name_scope(layer_name):
        with tf.name_scope("weights"):
            weights = tf.Variable(tf.truncated_normal([input_dim, output_dim], stddev=0.1, seed=1))
            variable_summaries(weights)
        with tf.name_scope("Wx_plus_b"):
            preactivate = tf.matmul(input_tensor, weights)
            tf.summary.histogram("pre_activations", preactivate)
        activations = act(preactivate, name="activation")
        tf.summary.histogram("activations", activations)
        return activations


with tf.name_scope("input"):
    x = tf.placeholder(tf.float32, [None, 16], name="x-input")
    tf.summary.image("input", tf.reshape(x, [-1, 4, 4, 1]), 2)
hidden = nn_layer(x, 16, 5, "layer1")
y = nn_layer(hidden, 5, 2, "layer2", act=tf.identity)
tf.summary.scalar("loss", tf.reduce_mean(tf.square(y)), collections=["losses"])
tf.summary.text("note", tf.constant("hello"))
tf.summary.audio("tone", tf.sin(tf.range(0, 100, dtype=tf.float32))[None, :, None], 8000)
merged = tf.summary.merge_all()
losses = tf.summary.merge_all(key="losses")
some = tf.summary.merge([losses])
print(len(tf.get_collection(tf.GraphKeys.SUMMARIES)), merged.name, losses.name, some.dtype.name, tf.summary.merge_all("none"))
print([t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)])
with tf.Session() as sess:
    train_writer = tf.summary.FileWriter(os.path.join(folder, "train"), sess.graph)
    test_writer = tf.summary.FileWriter(os.path.join(folder, "test"))
    sess.run(tf.global_variables_initializer())
    batch = np.linspace(-1, 1, 48).reshape(3, 16)
    for i in range(3):
        if i == 2:
            run_options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            run_metadata = tf.RunMetadata()
            summary, l = sess.run([merged, losses], {x: batch * i}, options=run_options, run_metadata=run_metadata)
            train_writer.add_run_metadata(run_metadata, "step%03d" % i)
            print(len(run_metadata.step_stats.dev_stats) > 0)
        else:
            summary, l = sess.run([merged, losses], {x: batch * i})
        train_writer.add_summary(summary, i)
        train_writer.add_summary(l, global_step=i)
    custom = tf.Summary(value=[tf.Summary.Value(tag="custom", simple_value=0.5)])
    custom.value.add(tag="second", simple_value=2.0)
    test_writer.add_summary(custom, 7)
    test_writer.add_session_log(tf.SessionLog(status=tf.SessionLog.STOP), 8)
    test_writer.flush()
    train_writer.close()
    test_writer.close()
for name in ("train", "test"):
    files = glob.glob(os.path.join(folder, name, "*tfevents*"))
    print(name, len(files))
    for event in tf.train.summary_iterator(files[0]):
        kind = event.WhichOneof("what")
        if kind != "summary":
            print(event.step, kind)
            continue
        for v in event.summary.value:
            what = v.WhichOneof("value")
            if what == "simple_value":
                print(event.step, v.tag, "%.5f" % v.simple_value)
            elif what == "histo":
                print(event.step, v.tag, "%.5f %.5f %d %.4f" % (v.histo.min, v.histo.max, v.histo.num, v.histo.sum), len(v.histo.bucket))
            elif what == "image":
                print(event.step, v.tag, v.image.height, v.image.width, v.image.colorspace)
            elif what == "audio":
                print(event.step, v.tag, v.audio.sample_rate, v.audio.content_type, v.audio.length_frames)
            else:
                print(event.step, v.tag, what, v.metadata.plugin_data.plugin_name, v.tensor.string_val[:1])
shutil.rmtree(folder)
