# SPDX-License-Identifier: Apache-2.0
"""Something to look at: two workers train a classifier of made-up digits, one of them now and then too late."""
import threading
import time

import numpy as np

import millstream as tf


class Worker:
    def __init__(self, cluster, task):
        self.random = np.random.RandomState(task)
        self.graph = tf.Graph()
        with self.graph.as_default():
            setter = tf.train.replica_device_setter(ps_tasks=1, worker_device=f"/job:worker/task:{task}")
            with tf.device(setter):
                x = tf.placeholder(tf.float32, [None, 64], name="images")
                y = tf.placeholder(tf.int64, [None], name="labels")
                step = tf.train.get_or_create_global_step()
                hidden = tf.layers.dense(x, 128, tf.nn.relu, name="hidden")
                logits = tf.layers.dense(hidden, 10, name="logits")
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss")
                accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32), name="accuracy")
                # What SyncReplicasOptimizer does for each variable, where its parts can be seen: gradients that are older than the
                # global step are dropped.
                optimizer = tf.train.GradientDescentOptimizer(0.2)
                updates = []
                for gradient, variable in optimizer.compute_gradients(loss):
                    with tf.device(variable.device):
                        sums = tf.ConditionalAccumulator(tf.float32, shape=variable.shape, shared_name=variable.op.name + "/gradients")
                        lag = tf.cast(tf.random_uniform([]) < 0.06 * task, tf.int64) * 3
                        put = sums.apply_grad(gradient, local_step=step + 1000 - lag)
                        with tf.control_dependencies([put, sums.set_global_step(step + 999)]):
                            updates.append(tf.assign_sub(variable, 0.2 * gradient))
                self.queue = tf.FIFOQueue(32, [tf.float32], [[]], shared_name="batches")
                turn = tf.cond(self.queue.size() < 20, lambda: tf.group(self.queue.enqueue(1.0)), lambda: tf.group(self.queue.dequeue()))
                with tf.control_dependencies(updates + [turn]):
                    train = tf.assign_add(step, 1, name="train")
            self.inputs, self.fetches = (x, y), [train, loss, accuracy]
            self.init = tf.global_variables_initializer()
            config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{task}"])
            self.session = tf.Session(cluster.target("worker", task), graph=self.graph, config=config)

    def run_step(self):
        labels = self.random.randint(0, 10, 64)
        images = self.random.rand(64, 64).astype("float32")
        images[np.arange(64), labels * 6] += 1.5
        self.session.run(self.fetches, dict(zip(self.inputs, (images, labels))))


class Training:
    def __init__(self, cluster):
        self.cluster = cluster
        self.workers = [Worker(cluster, task) for task in range(2)]
        self.workers[0].session.run(self.workers[0].init)
        self.going = True
        self.threads = [threading.Thread(target=self._train, args=(w, 0.004 * (i + 1))) for i, w in enumerate(self.workers)]

    def _train(self, worker, pause):
        while self.going:
            worker.run_step()
            time.sleep(pause)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.going = False
        for thread in self.threads:
            thread.join()
        for worker in self.workers:
            worker.session.close()
