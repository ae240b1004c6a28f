# SPDX-License-Identifier: Apache-2.0
"""A model with tf.layers and tf.losses in a MonitoredTrainingSession, with hooks of the library and of the program."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

logdir = tempfile.mkdtemp()


class EarlyStop(tf.train.SessionRunHook):
    def __init__(self, loss, below):
        self._loss, self._below = loss, below

    def begin(self):
        self._calls = 0
        print("begin, graph finalized:", tf.get_default_graph().finalized)

    def after_create_session(self, session, coord):
        print("created; stopping:", coord.should_stop())

    def before_run(self, run_context):
        self._calls += 1
        return tf.train.SessionRunArgs({"loss": self._loss, "step": tf.train.get_global_step()})

    def after_run(self, run_context, run_values):
        if self._calls % 20 == 0:
            print("step", run_values.results["step"], "loss %.4f" % run_values.results["loss"])
        if run_values.results["loss"] < self._below:
            print("good enough after", self._calls)
            run_context.request_stop()

    def end(self, session):
        print("end at", session.run(tf.train.get_global_step()))


def model(features, labels):
    net = tf.layers.dense(features, 16, activation=tf.nn.tanh, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
    net = tf.layers.dropout(net, rate=0.0, training=True)
    logits = tf.layers.dense(net, 3, kernel_initializer=tf.random_normal_initializer(stddev=0.1, seed=2), name="logits")
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    tf.losses.add_loss(1e-3 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()]))
    return logits, tf.losses.get_total_loss()


rs = np.random.RandomState(3)
centers = rs.randn(3, 4) * 2
ids = rs.randint(0, 3, 120)
points = (centers[ids] + rs.randn(120, 4) * 0.3).astype(np.float32)

with tf.Graph().as_default():
    global_step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")
    logits, loss = model(x, y)
    train_op = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss, global_step=global_step)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    tf.summary.scalar("loss", loss)
    final = tf.train.FinalOpsHook(accuracy, {x: points, y: ids})
    hooks = [tf.train.StopAtStepHook(last_step=100), EarlyStop(loss, 0.05), tf.train.NanTensorHook(loss), final,
             tf.train.StepCounterHook(every_n_steps=50, output_dir=logdir)]
    with tf.train.MonitoredTrainingSession(checkpoint_dir=logdir, hooks=hooks, save_checkpoint_steps=25,
                                           save_summaries_steps=10, log_step_count_steps=None) as sess:
        i = 0
        while not sess.should_stop():
            begin = (i * 30) % 120
            sess.run(train_op, {x: points[begin:begin + 30], y: ids[begin:begin + 30]})
            i += 1
    print("runs", i, "final accuracy", final.final_ops_values)
    print(sorted(n for n in os.listdir(logdir) if n.endswith(".index")), os.path.exists(os.path.join(logdir, "graph.pbtxt")))
    saved = tf.train.load_variable(logdir, "dense/kernel")
    print("saved", saved.shape, np.abs(saved).sum())

with tf.Graph().as_default():
    tf.train.create_global_step()
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.placeholder(tf.int64, [None])
    logits, loss = model(x, y)
    with tf.train.SingularMonitoredSession(checkpoint_dir=logdir) as sess:
        print("restored loss %.5f" % sess.run(loss, {x: points, y: ids}), sess.raw_session().run(tf.train.get_global_step()))
shutil.rmtree(logdir)
