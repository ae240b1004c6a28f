#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real TensorFlow client drives a cluster of ours: 1 ps + 2 workers.

    tests/interop/tensorflow_client.py build/dev/bin/millstream
"""
import os
import sys
import tempfile
import threading
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow.compat.v1 as tf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from cluster_processes import Cluster

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

PS, WORKER0, WORKER1 = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, ps=1, worker=2)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        tf.reset_default_graph()
        tf.Session.reset(self.cluster.target("worker"))

    def tearDown(self):
        for task in self.cluster.processes:
            self.assertTrue(self.cluster.alive(*task), f"{task} died")

    def session(self, job="worker", task=0, **config):
        return tf.Session(self.cluster.target(job, task), config=tf.ConfigProto(**config) if config else None)

    def test_feeds_and_fetches(self):
        x = tf.placeholder(tf.float32, [None, 2])
        with tf.device(PS):
            y = tf.matmul(x, [[1.0], [2.0]])
        with tf.device(WORKER1):
            z = tf.reduce_sum(y) + 1.0
        words = tf.placeholder(tf.string, [None])
        with tf.device(PS):
            joined = tf.identity(words)
        with self.session() as session:
            for n in (1, 3, 1000):
                value = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
                got_y, got_z, got_x = session.run([y, z, x], {x: value})
                np.testing.assert_allclose(got_y, value @ [[1.0], [2.0]])
                np.testing.assert_allclose(got_z, got_y.sum() + 1, rtol=1e-5)
                np.testing.assert_array_equal(got_x, value)
            self.assertEqual(list(session.run(joined, {words: [b"a", b"", b"long" * 5000]})), [b"a", b"", b"long" * 5000])
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Placeholder"):
                session.run(y)
            grown = y * 2  # the graph is extended
            np.testing.assert_allclose(session.run(grown, {x: [[1, 1]]}), [[6]])

    def check_variables(self, use_resource):
        with tf.device(PS):
            v = tf.get_variable("v", initializer=np.float32([1, 2]), use_resource=use_resource)
        with tf.device(WORKER1):
            add = v.assign_add([1.0, 1.0])
            doubled = v * 2.0
        with self.session() as session, self.session("worker", 1) as other:
            with self.assertRaises(tf.errors.FailedPreconditionError):
                session.run(v)
            session.run(v.initializer)
            session.run(add)
            np.testing.assert_array_equal(other.run(doubled), [4, 6])  # sessions of different masters share variables
            np.testing.assert_array_equal(other.run(v), [2, 3])
        with self.session() as session:
            np.testing.assert_array_equal(session.run(v), [2, 3])
        with self.session(isolate_session_state=True) as session, self.assertRaises(tf.errors.FailedPreconditionError):
            session.run(v)

    def test_ref_variables(self):
        self.check_variables(use_resource=False)

    def test_resource_variables(self):
        self.check_variables(use_resource=True)

    def test_reset(self):
        with tf.device(PS):
            v = tf.Variable(1.0)
        session = self.session()
        session.run(v.initializer)
        tf.Session.reset(self.cluster.target("worker"))
        with self.assertRaises(tf.errors.AbortedError):
            session.run(v)
        with self.session() as fresh, self.assertRaises(tf.errors.FailedPreconditionError):
            fresh.run(v)

    def test_list_devices(self):
        with self.session() as session:
            names = [d.name for d in session.list_devices()]
        for task in ("/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"):
            self.assertIn(task + "/device:CPU:0", names)

    def test_device_filters(self):
        with self.session(device_filters=["/job:ps", WORKER0]) as session:
            self.assertEqual(len(session.list_devices()), 2)
            with tf.device(WORKER1):
                c = tf.constant(1)
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "worker"):
                session.run(c)

    def test_partial_run(self):
        a, b, c = (tf.placeholder(tf.float32, []) for _ in range(3))
        with tf.device(PS):
            first = a + b
        with tf.device(WORKER1):
            second = first * c
        with self.session() as session:
            handle = session.partial_run_setup([first, second], [a, b, c])
            self.assertEqual(session.partial_run(handle, first, {a: 1, b: 2}), 3)
            self.assertEqual(session.partial_run(handle, second, {c: 7}), 21)

            handle = session.partial_run_setup([first, second], [a, b, c])
            session.partial_run(handle, first, {a: 1, b: 2})
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "has already been fetched"):
                session.partial_run(handle, first)
            self.assertEqual(session.partial_run(handle, second, {c: 1}), 3)
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "at least one target to fetch"):
                session.partial_run_setup([], [a])

    def test_session_with_a_cluster_of_its_own(self):
        def config(**jobs):
            return tf.ConfigProto(cluster_def=tf.train.ClusterSpec(jobs).as_cluster_def(), operation_timeout_in_ms=60_000)

        workers = self.cluster.spec["worker"]
        whole = config(first=workers[:1], second=workers[1:])
        with tf.device("/job:second/task:0"):
            v = tf.get_variable("v", initializer=np.float32([1, 2]))
        with tf.device("/job:first/task:0"):
            total = tf.reduce_sum(v)
        with tf.Session(self.cluster.target("worker"), config=whole) as session, \
                tf.Session(self.cluster.target("worker"), config=whole) as other:
            self.assertEqual([d.name for d in session.list_devices()],
                             ["/job:first/replica:0/task:0/device:CPU:0", "/job:second/replica:0/task:0/device:CPU:0"])
            session.run(v.initializer)
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            self.assertEqual(session.run(total, options=options, run_metadata=metadata), 3)
            self.assertTrue(all(d.device.startswith(("/job:first", "/job:second")) for d in metadata.step_stats.dev_stats))
            with self.assertRaises(tf.errors.FailedPreconditionError):
                other.run(total)  # its variables are its own
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "is none of its tasks"):
            tf.Session(self.cluster.target("worker"), config=config(second=workers[1:])).run(total)

    def test_tensors_stay_in_the_session(self):
        with tf.device(PS):
            handle = tf.get_session_handle(tf.constant(3.0) + 1.0)
        with self.session() as session:
            handle = session.run(handle)
            self.assertEqual(handle.eval(), 4)
            holder, value = tf.get_session_tensor(handle.handle, tf.float32)
            self.assertEqual(session.run(value * 10.0, {holder: handle.handle}), 40)
            handle.delete()

    def test_loop_over_tasks(self):
        def body(i, total):
            with tf.device(PS):
                total = total + i
            with tf.device(WORKER1):
                i = i + 1
            return i, total

        with tf.device(WORKER0):
            result = tf.while_loop(lambda i, _: i < 20, body, [0, 0])
            x = tf.constant(2.0)
            power = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, 1.0])[1]
            gradient = tf.gradients(power, x)[0]
        choose = tf.placeholder(tf.bool, [])
        with tf.device(PS):
            branch = tf.cond(choose, lambda: tf.constant(1.0) + x, lambda: tf.constant(2.0) * x * x)
        with self.session() as session:
            self.assertEqual(session.run(result), (20, 190))
            self.assertEqual(session.run([power, gradient]), [8.0, 12.0])
            self.assertEqual(session.run(branch, {choose: True}), 3.0)
            self.assertEqual(session.run(branch, {choose: False}), 8.0)

    def test_queues(self):
        with tf.device(PS):
            queue = tf.FIFOQueue(2, tf.int32, shared_name="shared")
        value = tf.placeholder(tf.int32, [])
        put, take, close = queue.enqueue(value), queue.dequeue(), queue.close()
        got = []
        with self.session() as a, self.session("worker", 1) as b:
            def consume():
                try:
                    while True:
                        got.append(b.run(take))
                except tf.errors.OutOfRangeError:
                    pass

            thread = threading.Thread(target=consume)
            thread.start()
            for i in range(50):
                a.run(put, {value: i})
            a.run(close)
            thread.join()
            self.assertEqual(got, list(range(50)))

    def test_timeout(self):
        with tf.device(PS):
            queue = tf.FIFOQueue(2, tf.int32)
        with self.session() as session, self.assertRaises(tf.errors.DeadlineExceededError):
            session.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=200))

    def test_monitored_session_with_checkpoints(self):
        with tf.device(tf.train.replica_device_setter(cluster=self.cluster.spec)):
            step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
            loss = tf.reduce_sum(tf.square(w - [1.0, 2.0]))
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
            tf.summary.scalar("loss", loss)
        with tempfile.TemporaryDirectory() as folder:
            for last in (30, 60):
                with tf.train.MonitoredTrainingSession(
                        master=self.cluster.target("worker"), is_chief=True, checkpoint_dir=folder,
                        hooks=[tf.train.StopAtStepHook(last_step=last)], save_checkpoint_steps=10,
                        save_summaries_steps=10) as session:
                    while not session.should_stop():
                        session.run(train)
                reader = tf.train.load_checkpoint(folder)
                self.assertEqual(reader.get_tensor("global_step"), last)
                tf.Session.reset(self.cluster.target("worker"))  # only the checkpoint knows
            np.testing.assert_allclose(reader.get_tensor("w"), [1, 2], atol=1e-4)

    def test_sync_replicas(self):
        errors = []

        def work(task):
            try:
                with tf.Graph().as_default():
                    with tf.device(tf.train.replica_device_setter(cluster=self.cluster.spec, worker_device=f"/job:worker/task:{task}")):
                        step = tf.train.get_or_create_global_step()
                        w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
                        loss = tf.reduce_sum(tf.square(w - [1.0, 2.0]))
                        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 2, 2)
                        train = optimizer.minimize(loss, global_step=step)
                    hooks = [optimizer.make_session_run_hook(task == 0), tf.train.StopAtStepHook(last_step=20)]
                    with tf.train.MonitoredTrainingSession(
                            master=self.cluster.target("worker", task), is_chief=task == 0, hooks=hooks,
                            stop_grace_period_secs=5) as session:
                        while not session.should_stop():
                            session.run(train)
            except Exception as e:  # noqa: BLE001
                errors.append((task, e))

        threads = [threading.Thread(target=work, args=(task,)) for task in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        with tf.device(tf.train.replica_device_setter(cluster=self.cluster.spec)):
            step, w = tf.train.get_or_create_global_step(), tf.get_variable("w", [2])
        with self.session() as session:
            self.assertGreaterEqual(session.run(step), 20)
            np.testing.assert_allclose(session.run(w), [1, 2], atol=0.05)

    def test_tf_data(self):
        with tf.device(WORKER1):
            dataset = tf.data.Dataset.range(10).map(lambda x: x * x).filter(lambda x: tf.equal(x % 2, 0)).batch(3).prefetch(1)
            one_shot = tf.data.make_one_shot_iterator(dataset).get_next()
            iterator = tf.data.make_initializable_iterator(dataset)
            following = iterator.get_next()
        with self.session() as session:
            self.assertEqual([list(session.run(one_shot)) for _ in range(2)], [[0, 4, 16], [36, 64]])
            for _ in range(2):
                session.run(iterator.initializer)
                self.assertEqual(list(session.run(following)), [0, 4, 16])
                session.run(following)
                with self.assertRaises(tf.errors.OutOfRangeError):
                    session.run(following)

    def test_full_trace(self):
        with tf.device(PS):
            a = tf.random_normal([4, 4])
        with tf.device(WORKER1):
            b = tf.matmul(a, a, name="product")
        metadata = tf.RunMetadata()
        with self.session() as session:
            session.run(b, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        devices = {d.device: [n.node_name for n in d.node_stats] for d in metadata.step_stats.dev_stats}
        self.assertIn("product", devices["/job:worker/replica:0/task:1/device:CPU:0"])
        self.assertTrue(any("ps" in d for d in devices))

    def test_in_graph_replication(self):
        """One client drives two workers: synchronously, then each from a thread of its own."""
        with tf.device(PS):
            w = tf.Variable(0.0)
        towers = []
        for task in range(2):
            with tf.device(f"/job:worker/task:{task}"):
                towers.append(tf.gradients(tf.square(w - 3.0 - task), w)[0])
        with tf.device(PS):
            together = w.assign_sub(0.25 * tf.add_n(towers) / 2)
            alone = [w.assign_sub(0.1 * g, use_locking=True) for g in towers]
        with self.session() as session:
            session.run(w.initializer)
            for _ in range(30):
                session.run(together)
            self.assertAlmostEqual(session.run(w), 3.5, places=3)
            threads = [threading.Thread(target=lambda op=op: [session.run(op) for _ in range(50)]) for op in alone]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertTrue(2.9 < session.run(w) < 4.1)

    def test_errors_name_node_and_task(self):
        with tf.device(PS):
            bad = tf.check_numerics(tf.log(tf.constant(-1.0)), "minus one", name="checked")
        with self.session() as session:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "job:ps") as caught:
                session.run(bad)
            self.assertEqual(caught.exception.op.name, "checked")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
