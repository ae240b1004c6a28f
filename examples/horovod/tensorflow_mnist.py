# SPDX-License-Identifier: Apache-2.0
"""MNIST with TensorFlow 1 and Horovod: a convolutional network, trained by all ranks together.

    millstream launch --workers 2 -- python -m millstream tensorflow_mnist.py --steps 200
"""
import argparse

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=2000, help="steps of all ranks together")
parser.add_argument("--batch_size", type=int, default=100)
parser.add_argument("--learning_rate", type=float, default=0.001)
parser.add_argument("--checkpoint_dir", default="./checkpoints")


def conv_model(feature, target, mode):
    """Two convolutional layers and a dense one."""
    target = tf.one_hot(tf.cast(target, tf.int32), 10, 1, 0)
    feature = tf.reshape(feature, [-1, 28, 28, 1])
    with tf.variable_scope("conv_layer1"):
        h_conv1 = tf.layers.conv2d(feature, 8, kernel_size=[5, 5], activation=tf.nn.relu, padding="SAME")
        h_pool1 = tf.nn.max_pool(h_conv1, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    with tf.variable_scope("conv_layer2"):
        h_conv2 = tf.layers.conv2d(h_pool1, 16, kernel_size=[5, 5], activation=tf.nn.relu, padding="SAME")
        h_pool2 = tf.nn.max_pool(h_conv2, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
        h_pool2_flat = tf.reshape(h_pool2, [-1, 7 * 7 * 16])
    h_fc1 = tf.layers.dropout(tf.layers.dense(h_pool2_flat, 128, activation=tf.nn.relu), rate=0.5,
                              training=mode == tf.estimator.ModeKeys.TRAIN)
    logits = tf.layers.dense(h_fc1, 10, activation=None)
    loss = tf.losses.softmax_cross_entropy(target, logits)
    return tf.argmax(logits, 1), loss


def train_input_generator(x_train, y_train, batch_size):
    while True:
        p = np.random.permutation(len(x_train))
        x_train, y_train = x_train[p], y_train[p]
        index = 0
        while index <= len(x_train) - batch_size:
            yield x_train[index:index + batch_size], y_train[index:index + batch_size]
            index += batch_size


def main(_):
    args = parser.parse_args()
    # Horovod: initialize Horovod.
    hvd.init()

    (x_train, y_train), (x_test, y_test) = tf.keras.datasets.mnist.load_data("MNIST-data-%d" % hvd.rank())
    x_train = np.reshape(x_train, (-1, 784)) / 255.0
    x_test = np.reshape(x_test, (-1, 784)) / 255.0
    np.random.seed(hvd.rank())

    with tf.name_scope("input"):
        image = tf.placeholder(tf.float32, [None, 784], name="image")
        label = tf.placeholder(tf.float32, [None], name="label")
    predict, loss = conv_model(image, label, tf.estimator.ModeKeys.TRAIN)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(predict, tf.cast(label, tf.int64)), tf.float32))

    # Horovod: adjust learning rate based on number of ranks.
    opt = tf.train.AdamOptimizer(args.learning_rate * hvd.size())
    # Horovod: add Horovod Distributed Optimizer.
    opt = hvd.DistributedOptimizer(opt)
    global_step = tf.train.get_or_create_global_step()
    train_op = opt.minimize(loss, global_step=global_step)

    hooks = [
        # Horovod: BroadcastGlobalVariablesHook broadcasts initial variable states from rank 0 to all other processes.
        hvd.BroadcastGlobalVariablesHook(0),
        # Horovod: adjust number of steps based on number of ranks.
        tf.train.StopAtStepHook(last_step=args.steps // hvd.size()),
        tf.train.LoggingTensorHook(tensors={"step": global_step, "loss": loss}, every_n_iter=10),
    ]
    # Horovod: pin GPU to be used to process local rank (one GPU per process)
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    config.gpu_options.visible_device_list = str(hvd.local_rank())
    # Horovod: save checkpoints only on worker 0 to prevent other workers from corrupting them.
    checkpoint_dir = args.checkpoint_dir if hvd.rank() == 0 else None
    training_batch_generator = train_input_generator(x_train, y_train, batch_size=args.batch_size)
    test = x_test[:1000], y_test[:1000]
    result = 0.0
    # The MonitoredTrainingSession takes care of session initialization, restoring from a checkpoint, saving to a checkpoint,
    # and closing when done or an error occurs.
    with tf.train.MonitoredTrainingSession(checkpoint_dir=checkpoint_dir, hooks=hooks, config=config) as mon_sess:
        while not mon_sess.should_stop():
            image_, label_ = next(training_batch_generator)
            _, step = mon_sess.run([train_op, global_step], feed_dict={image: image_, label: label_})
            if not mon_sess.should_stop() and step % 10 == 0:
                result = mon_sess.run(accuracy, feed_dict={image: test[0], label: test[1]})
    print("rank %d of %d: accuracy %.3f" % (hvd.rank(), hvd.size(), result))


if __name__ == "__main__":
    tf.app.run()
