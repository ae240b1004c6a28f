# SPDX-License-Identifier: Apache-2.0
"""MNIST with tf.distribute.MirroredStrategy and a training loop of its own: replicas on several devices of one process.

    python -m millstream mirrored_mnist.py --devices /cpu:0,/cpu:1
"""
import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--devices", default="/cpu:0,/cpu:1")
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--global_batch_size", type=int, default=128)
args = parser.parse_args()

(images, labels), (test_images, test_labels) = tf.keras.datasets.mnist.load_data()
images, test_images = images.reshape(-1, 784).astype("float32") / 255, test_images.reshape(-1, 784).astype("float32") / 255
labels, test_labels = labels.astype("int64"), test_labels.astype("int64")

strategy = tf.distribute.MirroredStrategy(args.devices.split(","))
print("Number of replicas: %d" % strategy.num_replicas_in_sync)

tf.set_random_seed(1)
with strategy.scope():
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(60000, seed=1).repeat().batch(args.global_batch_size)
    iterator = strategy.make_dataset_iterator(dataset)
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9)
    global_step = tf.train.get_or_create_global_step()

    def logits_of(x):
        with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
            hidden = tf.layers.dense(x, 64, activation=tf.nn.relu, name="hidden")
            return tf.layers.dense(hidden, 10, name="logits")

    def train_step(inputs):
        x, y = inputs
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits_of(x))
        loss = tf.reduce_sum(losses) * (1.0 / args.global_batch_size)
        with tf.control_dependencies([optimizer.minimize(loss, global_step=global_step)]):
            return tf.identity(loss)

    per_replica_losses = strategy.experimental_run_v2(train_step, args=(iterator.get_next(),))
    mean_loss = strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)

accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits_of(tf.constant(test_images)), 1), test_labels), tf.float32))
config = strategy.update_config_proto(tf.ConfigProto())
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    session.run(iterator.initialize())
    for _ in range(args.steps):
        loss, step = session.run([mean_loss, global_step])
        if step % 100 == 0:
            print("step %d: loss %.4f" % (step, loss))
    print("accuracy %.3f" % session.run(accuracy))
