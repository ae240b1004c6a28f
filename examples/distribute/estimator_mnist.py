# SPDX-License-Identifier: Apache-2.0
"""MNIST with an Estimator and a strategy, in one process or as the workers of a cluster (TF_CONFIG).

    python -m millstream estimator_mnist.py --strategy mirrored
    millstream launch --workers 2 -- python -m millstream estimator_mnist.py --strategy multi_worker
"""
import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--strategy", choices=["none", "mirrored", "multi_worker", "collective"], default="mirrored")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--global_batch_size", type=int, default=128)
parser.add_argument("--samples", type=int, default=10000)
parser.add_argument("--model_dir", default="./model")
args = parser.parse_args()

STRATEGIES = {
    "none": lambda: None,
    "mirrored": lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]),
    "multi_worker": tf.distribute.experimental.MultiWorkerMirroredStrategy,
    "collective": tf.contrib.distribute.CollectiveAllReduceStrategy,
}


def input_fn(mode, input_context=None):
    train, test = tf.keras.datasets.mnist.load_data()
    images, labels = train if mode == tf.estimator.ModeKeys.TRAIN else test
    dataset = tf.data.Dataset.from_tensor_slices((images[:args.samples].reshape(-1, 784), labels[:args.samples].astype("int64")))
    dataset = dataset.map(lambda image, label: (tf.cast(image, tf.float32) / 255.0, label))
    if mode != tf.estimator.ModeKeys.TRAIN:
        return dataset.batch(1000)
    batch_size = args.global_batch_size
    if input_context is not None:
        dataset = dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
        batch_size = input_context.get_per_replica_batch_size(args.global_batch_size)
    return dataset.shuffle(10000, seed=1).repeat().batch(batch_size)


def model_fn(features, labels, mode):
    hidden = tf.layers.dense(features, 64, activation=tf.nn.relu)
    logits = tf.layers.dense(hidden, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        accuracy = tf.metrics.accuracy(labels, tf.argmax(logits, 1))
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"accuracy": accuracy})
    train_op = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


config = tf.estimator.RunConfig(train_distribute=STRATEGIES[args.strategy](), model_dir=args.model_dir, tf_random_seed=1)
classifier = tf.estimator.Estimator(model_fn=model_fn, config=config)
tf.estimator.train_and_evaluate(classifier, tf.estimator.TrainSpec(input_fn, max_steps=args.steps),
                                tf.estimator.EvalSpec(input_fn, steps=None, start_delay_secs=0, throttle_secs=0))
if config.is_chief:
    result = classifier.evaluate(input_fn)
    print("step %d: accuracy %.3f" % (result["global_step"], result["accuracy"]))
