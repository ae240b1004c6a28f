# SPDX-License-Identifier: Apache-2.0
"""Two replicas in one graph, over the servers of a cluster in this process; averages of gradients; a second client."""

import tensorflow as tf, numpy as np, threading, socket


def port():
    s = socket.socket()
    s.bind(("localhost", 0))
    p = s.getsockname()[1]
    s.close()
    return p


cluster = tf.train.ClusterSpec(
    {"ps": ["localhost:%d" % port() for _ in range(2)], "worker": ["localhost:%d" % port() for _ in range(2)]}
)
print(
    sorted(cluster.jobs),
    cluster.num_tasks("ps"),
    cluster.task_indices("worker"),
    cluster == tf.train.ClusterSpec(cluster.as_dict()),
)
servers = [tf.train.Server(cluster, job_name=j, task_index=i) for j in ("ps", "worker") for i in range(2)]
print(
    len(set((s.target for s in servers))),
    servers[0].target.startswith("grpc://"),
    servers[0].server_def.job_name,
    servers[3].server_def.task_index,
)
g = tf.Graph()
with g.as_default():
    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [1], initializer=tf.constant_initializer(0.5))
        gs = tf.train.get_or_create_global_step()
    xs = np.arange(32).reshape(8, 4).astype(np.float32) / 32
    ys = xs.sum(1, keepdims=True)
    losses = []
    grads = []
    opt = tf.train.GradientDescentOptimizer(0.1)
    for i in range(2):
        with tf.device("/job:worker/task:%d" % i), tf.name_scope("tower_%d" % i):
            x = tf.constant(xs[i::2])
            y = tf.constant(ys[i::2])
            l = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
            losses.append(l)
            grads.append(opt.compute_gradients(l, [w, b]))
    avg = []
    for gv in zip(*grads):
        with tf.device(gv[0][1].device):
            avg.append((tf.reduce_mean(tf.stack([g for g, _ in gv]), 0), gv[0][1]))
    train = opt.apply_gradients(avg, global_step=gs)
    init = tf.global_variables_initializer()
    print(w.device, b.device, gs.device, losses[1].device)
    with tf.Session(servers[2].target, config=tf.ConfigProto(allow_soft_placement=True)) as s:
        s.run(init)
        for i in range(20):
            _, ls = s.run([train, losses])
        print(i, ls, s.run(gs), s.run(w).ravel(), s.run(b))
        opts = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        md = tf.RunMetadata()
        s.run(train, options=opts, run_metadata=md)
        print(sorted({d.device.split("/device")[0] for d in md.step_stats.dev_stats}))
    with tf.Session(servers[3].target) as s2:
        print("seen by other", s2.run(gs), s2.run(tf.report_uninitialized_variables()))
    tf.Session.reset(servers[2].target)
