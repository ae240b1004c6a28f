# SPDX-License-Identifier: Apache-2.0
"""MNIST with ParameterServerStrategy: variables on ps tasks, workers that train asynchronously.

    millstream launch --ps 1 --workers 2 --no_flags -- python -m millstream parameter_server_mnist.py
"""
import argparse
import json
import os

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--batch_size", type=int, default=64)
args = parser.parse_args()

tf_config = json.loads(os.environ["TF_CONFIG"])
task = tf_config["task"]
server = tf.train.Server(tf_config["cluster"], job_name=task["type"], task_index=task["index"])
if task["type"] == "ps":
    server.join()

(images, labels), (test_images, test_labels) = tf.keras.datasets.mnist.load_data()
images, test_images = images.reshape(-1, 784).astype("float32") / 255, test_images.reshape(-1, 784).astype("float32") / 255

strategy = tf.distribute.experimental.ParameterServerStrategy()
with strategy.scope():
    global_step = tf.train.get_or_create_global_step()
    dataset = tf.data.Dataset.from_tensor_slices((images, labels.astype("int64"))).shuffle(10000).repeat().batch(args.batch_size)
    iterator = strategy.make_dataset_iterator(dataset)
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)

    def logits_of(x):
        with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
            hidden = tf.layers.dense(x, 64, activation=tf.nn.relu, name="hidden")
            return tf.layers.dense(hidden, 10, name="logits")

    def train_step(inputs):
        x, y = inputs
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits_of(x))
        with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.2).minimize(loss, global_step=global_step)]):
            return tf.identity(loss)

    loss = strategy.experimental_run_v2(train_step, args=(iterator.get_next(),))
    images_in = tf.placeholder(tf.float32, [None, 784])
    predicted = tf.argmax(logits_of(images_in), 1)

print("variables on " + ", ".join(sorted({v.device for v in tf.trainable_variables()})))
accuracy = 0.0
with tf.train.MonitoredTrainingSession(server.target, is_chief=task["index"] == 0,
                                       hooks=[tf.train.StopAtStepHook(last_step=args.steps)]) as session:
    while not session.should_stop():
        _, step = session.run([loss, global_step])
        if step % 20 == 0 and not session.should_stop():
            accuracy = (session.run(predicted, {images_in: test_images}) == test_labels).mean()
print("worker %d: accuracy %.3f" % (task["index"], accuracy))
