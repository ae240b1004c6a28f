#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Delayed gradients: plain asynchronous gradient descent beside DC-ASGD. Usage: delay_compensation.py [--svg FILE] [--seeds N]

Workers take turns, so that each gradient is exactly `delay` updates old when it is applied: a worker computes it from the copy of the variables
that it took after its own last update. Everything is computed in one process with fixed seeds, so the numbers are the same in every run. Prints
one JSON line for each delay: the accuracy of a 784-30-10 network on MNIST's test images, the mean over the seeds.
"""
import argparse
import gzip
import json
import pathlib

import numpy as np

import millstream as tf

MNIST = pathlib.Path(__file__).resolve().parents[1] / "data" / "mnist"
DELAYS = [0, 4, 6, 8, 10, 12]
UPDATES, BATCH, HIDDEN, RATE, LAMBDA = 800, 20, 30, 0.1, 2.0


def images(name, count):
    def read(kind, header):
        with gzip.open(MNIST / f"{name}-{kind}-ubyte.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)
    return read("images-idx3", 16).reshape(-1, 784)[:count] / np.float32(255), read("labels-idx1", 8)[:count].astype(np.int64)


def logits_of(x, parameters):
    w1, b1, w2, b2 = parameters
    return tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2


def accuracy_after(data, delay, compensated, seed):
    (train_images, train_labels), (test_images, test_labels) = data
    tf.reset_default_graph()
    random, workers = np.random.RandomState(seed), delay + 1
    shapes = [(784, HIDDEN), (HIDDEN,), (HIDDEN, 10), (10,)]
    starts = [(random.randn(*s) * (np.sqrt(2 / s[0]) if len(s) > 1 else 0)).astype(np.float32) for s in shapes]
    parameters = [tf.Variable(start) for start in starts]
    copies = [tf.Variable(np.stack([start] * workers), trainable=False) for start in starts]  # what each worker has read
    x, y, worker = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int32, [])
    own = [tf.gather(copy, worker) for copy in copies]
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits_of(x, own)))
    gradients = list(zip(tf.gradients(loss, own), parameters))
    if compensated:
        optimizer = tf.train.DelayCompensatedGradientDescentOptimizer(RATE, LAMBDA, num_workers=workers)
        updates = [optimizer.apply_gradients(gradients, worker_index=i) for i in range(workers)]
    else:
        updates = [tf.train.GradientDescentOptimizer(RATE).apply_gradients(gradients)] * workers
    steps = []
    for update in updates:
        with tf.control_dependencies([update]):
            steps.append(tf.group(*[tf.scatter_update(copy, worker, p.read_value()) for copy, p in zip(copies, parameters)]))
    guesses = tf.argmax(logits_of(x, parameters), 1)
    with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)) as session:
        session.run(tf.global_variables_initializer())
        for update in range(UPDATES):
            batch = random.randint(0, len(train_images), BATCH)
            session.run(steps[update % workers], {worker: update % workers, x: train_images[batch], y: train_labels[batch]})
        return float(np.mean(session.run(guesses, {x: test_images}) == test_labels))


def svg(results):
    """A chart of the two curves."""
    left, top, width, height = 60, 20, 480, 240

    def points(kind):
        return [(left + width * r["delay"] / DELAYS[-1], top + height * (1 - r[kind])) for r in results]
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 310" font-family="sans-serif" font-size="13">',
             '<rect width="680" height="310" fill="#fff"/>']
    for percent in range(0, 101, 20):
        y = top + height * (1 - percent / 100)
        parts.append(f'<path d="M{left} {y:.1f}H{left + width}" stroke="#ddd"/><text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>')
    for result in results:
        parts.append(f'<text x="{left + width * result["delay"] / DELAYS[-1]:.1f}" y="{top + height + 20}" text-anchor="middle">{result["delay"]}</text>')
    parts.append(f'<text x="{left + width / 2}" y="{top + height + 42}" text-anchor="middle">delay of gradients, in updates</text>')
    for kind, colour, label in (("async", "#b3541e", "asynchronous"), ("dc_asgd", "#1e6fb3", "DC-ASGD")):
        line = points(kind)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in line)}"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in line]
        parts.append(f'<text x="{line[-1][0] + 10:.1f}" y="{line[-1][1] + 4:.1f}" fill="{colour}">{label}</text>')
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--svg", help="file for the chart")
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    data, results = (images("train", 6000), images("t10k", 1000)), []
    for delay in DELAYS:
        found = {"delay": delay}
        for kind in ("async", "dc_asgd"):
            found[kind] = round(float(np.mean([accuracy_after(data, delay, kind == "dc_asgd", seed) for seed in range(1, args.seeds + 1)])), 3)
        results.append(found)
        print(json.dumps(found), flush=True)
    if args.svg:
        pathlib.Path(args.svg).write_text(svg(results), encoding="utf-8")


if __name__ == "__main__":
    main()
