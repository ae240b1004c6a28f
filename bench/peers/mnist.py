# SPDX-License-Identifier: Apache-2.0
"""A TF1 script, unchanged under TensorFlow and Millstream (`python -m millstream mnist.py`): trains on MNIST by feed_dict, locally or as
one task of a cluster, and prints what scripts.py measures as JSON lines.

    mnist.py --model=softmax --data=FOLDER                                              a local session
    mnist.py --model=mlp100 --data=FOLDER --sync --job_name=worker --task_index=0 --ps_hosts=... --worker_hosts=...

FOLDER has images.npy and labels.npy; the environment variable STARTED has the time at which the process was started.
"""
import json
import os
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

flags = tf.app.flags
flags.DEFINE_string("model", "softmax", "softmax, mlp100, mlp500 or lenet")
flags.DEFINE_string("data", "", "folder with images.npy and labels.npy")
flags.DEFINE_string("job_name", "", "ps or worker; empty for a local session")
flags.DEFINE_integer("task_index", 0, "task of the job")
flags.DEFINE_string("ps_hosts", "", "")
flags.DEFINE_string("worker_hosts", "", "")
flags.DEFINE_bool("sync", False, "SyncReplicasOptimizer with one gradient of each worker")
flags.DEFINE_float("seconds", 3.0, "how long to measure")
FLAGS = flags.FLAGS

BATCH = {"softmax": 100, "mlp100": 100, "mlp500": 32, "lenet": 64}


def dense(y, size, name, activation=None):
    inputs = int(y.shape[1])
    w = tf.get_variable(name + "/w", [inputs, size], initializer=tf.truncated_normal_initializer(stddev=inputs**-0.5))
    y = tf.nn.xw_plus_b(y, w, tf.get_variable(name + "/b", [size], initializer=tf.zeros_initializer()))
    return activation(y) if activation else y


def conv(y, size, name):
    inputs = int(y.shape[3])
    w = tf.get_variable(name + "/w", [5, 5, inputs, size], initializer=tf.truncated_normal_initializer(stddev=(25 * inputs)**-0.5))
    b = tf.get_variable(name + "/b", [size], initializer=tf.zeros_initializer())
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(y, w, [1, 1, 1, 1], "SAME"), b))
    return tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


def logits_of(x):
    if FLAGS.model == "softmax":
        return dense(x, 10, "out")
    if FLAGS.model == "mlp100":
        return dense(dense(x, 100, "h1", tf.nn.relu), 10, "out")
    if FLAGS.model == "mlp500":
        return dense(dense(dense(x, 500, "h1", tf.nn.relu), 500, "h2", tf.nn.relu), 10, "out")
    y = conv(conv(tf.reshape(x, [-1, 28, 28, 1]), 32, "c1"), 64, "c2")
    return dense(dense(tf.reshape(y, [-1, 7 * 7 * 64]), 1024, "h", tf.nn.relu), 10, "out")


def optimizer_of():
    if FLAGS.model == "softmax":
        return tf.train.AdagradOptimizer(0.01)
    return tf.train.GradientDescentOptimizer(0.05) if FLAGS.model == "lenet" else tf.train.AdamOptimizer(0.001)


class Batches:
    """Batches that lie side by side in memory."""

    def __init__(self):
        self.images, self.labels = (np.load(os.path.join(FLAGS.data, f"{n}.npy")) for n in ("images", "labels"))
        self.size, self.at = BATCH[FLAGS.model], 0

    def __call__(self):
        self.at = 0 if self.at + 2 * self.size > len(self.images) else self.at + self.size
        rows = slice(self.at, self.at + self.size)
        return self.images[rows], self.labels[rows]


def report(**values):
    print(json.dumps(values), flush=True)


def memory(batches):
    """Peak in MiB without the data."""
    with open("/proc/self/status") as f:
        peak = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
    return peak / 1024 - (batches.images.nbytes + batches.labels.nbytes) / 2**20


def build():
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    y = tf.placeholder(tf.float32, [None, 10], name="y")
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits_of(x)))
    step = tf.train.get_or_create_global_step()
    optimizer, hooks = optimizer_of(), []
    if FLAGS.sync:
        workers = len(FLAGS.worker_hosts.split(","))
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=workers, total_num_replicas=workers)
    train = optimizer.minimize(loss, global_step=step)
    if FLAGS.sync:
        hooks.append(optimizer.make_session_run_hook(FLAGS.task_index == 0))
    return x, y, step, train, hooks


def measure(run, step_of, others_are_ready):
    """Steps per second of all workers together, after a while of warming up."""
    run()
    report(first_step=time.time() - float(os.environ["STARTED"]))
    while not others_are_ready():
        run()
    for _ in range(30):
        run()
    begin, first = time.perf_counter(), step_of(run())
    while time.perf_counter() - begin < FLAGS.seconds:
        last = step_of(run())
    report(steps_per_second=(last - first) / (time.perf_counter() - begin))


def local():
    x, y, step, train, _ = build()
    batches, count = Batches(), iter(range(1 << 60))

    def run():
        images, labels = batches()
        session.run(train, {x: images, y: labels})

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        measure(run, lambda _: next(count), lambda: True)
    report(worker_mib=memory(batches))


def work(server, cluster):
    with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{FLAGS.task_index}", cluster=cluster)):
        x, y, step, train, hooks = build()
    batches, is_chief = Batches(), FLAGS.task_index == 0

    def run():
        images, labels = batches()
        return session.run([train, step], {x: images, y: labels})

    with tf.train.MonitoredTrainingSession(master=server.target, is_chief=is_chief, hooks=hooks) as session:
        marks = [os.path.join(FLAGS.data, f"ready{i}") for i in range(len(FLAGS.worker_hosts.split(",")))]
        seen = []

        def all_ready():
            if not seen:
                open(marks[FLAGS.task_index], "w").close()
            seen.append(1)
            return len(seen) % 10 == 0 and all(map(os.path.exists, marks))

        measure(run, lambda out: int(out[1]), all_ready)
        report(worker_mib=memory(batches))
        while True:  # until all have measured; then scripts.py ends the cluster
            run()


def main(_):
    if not FLAGS.job_name:
        return local()
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
    else:
        work(server, cluster)


if __name__ == "__main__":
    tf.app.run()
