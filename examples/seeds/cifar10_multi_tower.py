# SPDX-License-Identifier: Apache-2.0
"""In-graph replication (last document): towers that share variables, gradients averaged and clipped, moving averages of the
weights, input through a queue or tf.data. Pictures of CIFAR's shape are made up here: each class has its own pattern."""
import re

import numpy as np
import tensorflow as tf

FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_integer("num_gpus", 2, "How many towers; without GPUs they run on the CPU")
tf.app.flags.DEFINE_integer("max_steps", 60, "")
tf.app.flags.DEFINE_integer("batch_size", 16, "")
tf.app.flags.DEFINE_string("input", "dataset", "'dataset' or 'queue'")
TOWER_NAME = "tower"
NUM_CLASSES = 4


def pictures(n=512):
    rng = np.random.RandomState(0)
    patterns = rng.rand(NUM_CLASSES, 24, 24, 3)
    labels = rng.randint(0, NUM_CLASSES, size=n)
    return (patterns[labels] + 0.3 * rng.randn(n, 24, 24, 3)).astype(np.float32), labels.astype(np.int32)


def inputs():
    images, labels = pictures()
    if FLAGS.input == "dataset":
        dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(512, seed=1).repeat().batch(
            FLAGS.batch_size, drop_remainder=True).prefetch(1)
        return dataset.make_one_shot_iterator()
    image, label = tf.train.slice_input_producer([images, labels], seed=1)
    return tf.train.shuffle_batch([image, label], FLAGS.batch_size, capacity=200, min_after_dequeue=50, seed=2)


def variable_on_cpu(name, shape, initializer):
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=initializer)


def inference(images):
    with tf.variable_scope("conv1") as scope:
        kernel = variable_on_cpu("weights", [5, 5, 3, 8], tf.truncated_normal_initializer(stddev=5e-2, seed=1))
        conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding="SAME")
        biases = variable_on_cpu("biases", [8], tf.constant_initializer(0.0))
        conv1 = tf.nn.relu(tf.nn.bias_add(conv, biases), name=scope.name)
    pool1 = tf.nn.max_pool(conv1, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool1")
    with tf.variable_scope("softmax_linear") as scope:
        flat = tf.reshape(pool1, [FLAGS.batch_size, -1])
        weights = variable_on_cpu("weights", [flat.get_shape()[1].value, NUM_CLASSES],
                                  tf.truncated_normal_initializer(stddev=0.04, seed=2))
        decay = tf.multiply(tf.nn.l2_loss(weights), 1e-3, name="weight_loss")
        tf.add_to_collection("losses", decay)
        biases = variable_on_cpu("biases", [NUM_CLASSES], tf.constant_initializer(0.0))
        return tf.add(tf.matmul(flat, weights), biases, name=scope.name)


def tower_loss(scope, images, labels):
    logits = inference(images)
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="each")
    tf.add_to_collection("losses", tf.reduce_mean(cross_entropy, name="cross_entropy"))
    losses = tf.get_collection("losses", scope)
    total = tf.add_n(losses, name="total_loss")
    for loss in losses + [total]:
        tf.summary.scalar(re.sub("%s_[0-9]*/" % TOWER_NAME, "", loss.op.name), loss)
    return total


def average_gradients(tower_grads):
    averages = []
    for grad_and_vars in zip(*tower_grads):
        grads = [tf.expand_dims(g, 0) for g, _ in grad_and_vars]
        averages.append((tf.reduce_mean(tf.concat(axis=0, values=grads), 0), grad_and_vars[0][1]))
    return averages


def train():
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        global_step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0), trainable=False)
        lr = tf.train.exponential_decay(0.1, global_step, 100, 0.5, staircase=True)
        opt = tf.train.GradientDescentOptimizer(lr)
        source = inputs()
        tower_grads = []
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(FLAGS.num_gpus):
                with tf.device("/gpu:%d" % i), tf.name_scope("%s_%d" % (TOWER_NAME, i)) as scope:
                    images, labels = source.get_next() if FLAGS.input == "dataset" else source
                    loss = tower_loss(scope, images, labels)
                    tf.get_variable_scope().reuse_variables()
                    tower_grads.append(opt.compute_gradients(loss))
        grads, variables = zip(*average_gradients(tower_grads))
        grads, norm = tf.clip_by_global_norm(grads, 5.0)
        tf.summary.scalar("gradient_norm", norm)
        apply_gradient_op = opt.apply_gradients(zip(grads, variables), global_step=global_step)
        averages = tf.train.ExponentialMovingAverage(0.9, global_step)
        train_op = tf.group(apply_gradient_op, averages.apply(tf.trainable_variables()))
        summary_op = tf.summary.merge_all()
        sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False))
        sess.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        for step in range(FLAGS.max_steps):
            _, loss_value = sess.run([train_op, loss])
            assert not np.isnan(loss_value), "Model diverged with loss = NaN"
            if step % 20 == 0:
                print("step %d, loss = %.2f" % (step, loss_value))
        summary = sess.run(summary_op)
        shadow = sess.run(averages.average(tf.trainable_variables()[0]))
        print("Done: loss %.3f, %d bytes of summary, averages differ by %.4f" % (
            loss_value, len(summary), np.abs(shadow - sess.run(tf.trainable_variables()[0])).max()))
        coord.request_stop()
        coord.join(threads)


def main(_):
    train()


if __name__ == "__main__":
    tf.app.run()
