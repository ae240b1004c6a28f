# SPDX-License-Identifier: Apache-2.0
"""Softmax regression in one of the training modes, as a TF1 script that every task of `millstream launch` runs; the chief prints the accuracy
on the test images.

Arguments: mode, folder with MNIST's files, global step to stop at, learning rate, flags of the mode as NAME=VALUE."""
import json
import os
import sys

import numpy as np

import millstream as tf

mode, folder, steps, rate = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
flags = dict(word.split("=") for word in sys.argv[5:])
config = json.loads(os.environ["TF_CONFIG"])
cluster, job, index = config["cluster"], config["task"]["type"], config["task"]["index"]
server = tf.train.Server(cluster, job_name=job, task_index=index)
if job == "ps":
    server.join()
    sys.exit()
count, is_chief = len(cluster["worker"]), index == 0
device = f"/job:worker/task:{index}"


def read(name, header):
    return np.fromfile(os.path.join(folder, name + "-ubyte"), np.uint8, offset=header)


def images(name):
    return read(name + "-images-idx3", 16).reshape(-1, 784).astype(np.float32) / 255, read(name + "-labels-idx1", 8).astype(np.int64)


own_variables = mode in ("allreduce", "local-sgd")
where = device if own_variables else tf.train.replica_device_setter(cluster=cluster, worker_device=device)
with tf.device(where):
    tf.set_random_seed(1)
    step = tf.train.get_or_create_global_step()
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
    logits = tf.layers.dense(x, 10, name="softmax")
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    optimizer = {"sgd": tf.train.GradientDescentOptimizer, "momentum": lambda r: tf.train.MomentumOptimizer(r, 0.9),
                 "adagrad": tf.train.AdagradOptimizer, "adam": tf.train.AdamOptimizer, "rmsprop": tf.train.RMSPropOptimizer,
                 "ftrl": tf.train.FtrlOptimizer}[flags.get("optimizer", "sgd")](rate)
    hooks, stop = [], tf.train.StopAtStepHook(last_step=steps)
    if mode == "sync":
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=count, total_num_replicas=count)
    elif mode == "dc-asgd":
        optimizer = tf.train.DelayCompensatedGradientDescentOptimizer(rate, 0.04, num_workers=count, worker_index=index)
    elif mode == "ssp":
        optimizer = tf.train.StaleSynchronousOptimizer(optimizer, int(flags.get("staleness", 3)), count, index)
    elif mode == "allreduce":
        optimizer = tf.train.DistributedOptimizer(optimizer, count, flags.get("compression", "none"), float(flags.get("topk_ratio", 0.01)))
    elif mode == "local-sgd":
        optimizer = tf.train.LocalSGDOptimizer(optimizer, count, int(flags.get("average_every", 10)))
    elif mode == "hierarchical":
        optimizer = tf.train.HierarchicalOptimizer(optimizer, count, index, int(flags.get("group_size", 2)))
    else:
        assert mode == "async", mode
    train = optimizer.minimize(loss, step)
    if mode in ("sync", "allreduce", "local-sgd"):
        hooks = [optimizer.make_session_run_hook(is_chief)]
    elif mode == "ssp":
        hooks = [optimizer.make_session_run_hook()]
    elif mode == "hierarchical":
        stop = optimizer.make_session_run_hook(last_step=steps)

test_images, test_labels = images("t10k")
final = tf.train.FinalOpsHook(accuracy, {x: test_images, y: test_labels})
filters = tf.ConfigProto(device_filters=["/job:ps", device])
data, labels = images("train")
data, labels = data[index::count], labels[index::count]
random = np.random.RandomState(index)
with tf.train.MonitoredTrainingSession(server.target, is_chief=is_chief or own_variables, config=filters,
                                       hooks=[*hooks, stop, *([final] if is_chief else [])]) as session:
    while not session.should_stop():
        batch = random.randint(0, len(data), 50)
        session.run(train, {x: data[batch], y: labels[batch]})
if is_chief:
    print(f"accuracy {final.final_ops_values:.4f}", flush=True)
