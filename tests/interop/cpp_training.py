#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings in C++ and TensorFlow go on from each other's checkpoints, and TensorFlow runs the C++ program's graph.

    tests/interop/cpp_training.py build/dev/examples/mnist_replica
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow.compat.v1 as tf

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "cluster"))
from cluster_processes import free_ports  # noqa: E402

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
PROGRAM = os.path.abspath(sys.argv.pop(1))


def train(folder, steps):
    """What the worker printed when it trained to that step."""
    ports = free_ports(2)
    command = [PROGRAM, f"--ps_hosts=localhost:{ports[0]}", f"--worker_hosts=localhost:{ports[1]}", f"--train_steps={steps}",
               f"--checkpoint_dir={folder}", "--task_index=0"]
    ps = subprocess.Popen(command + ["--job_name=ps"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        worker = subprocess.run(command + ["--job_name=worker"], cwd=ROOT, timeout=120, check=True, capture_output=True, text=True)
        assert ps.wait(30) == 0
        return worker.stdout
    finally:
        ps.kill()
        ps.wait()


class CppTraining(unittest.TestCase):
    def test_there_and_back(self):
        with tempfile.TemporaryDirectory() as folder:
            train(folder, 40)
            path = tf.train.latest_checkpoint(folder)
            self.assertEqual(path, f"{folder}/model.ckpt-40")
            saver = tf.train.import_meta_graph(path + ".meta", clear_devices=True)
            self.assertEqual([v.op.name for v in tf.trainable_variables()], ["hid_w", "hid_b", "sm_w", "sm_b"])
            with tf.Session() as session:
                saver.restore(session, path)
                step = tf.train.get_global_step()
                self.assertEqual(session.run(step), 40)
                x = np.random.RandomState(1).rand(5, 784).astype(np.float32)
                hid_w, hid_b, sm_w, sm_b = session.run(tf.trainable_variables())
                logits = np.maximum(x @ hid_w + hid_b, 0) @ sm_w + sm_b
                expected = np.exp(logits - logits.max(1, keepdims=True))
                expected /= expected.sum(1, keepdims=True)
                np.testing.assert_allclose(session.run("Softmax:0", {"Placeholder:0": x}), expected, rtol=1e-3, atol=1e-5)
                session.run(tf.assign(step, 90))
                saver.save(session, f"{folder}/model.ckpt", global_step=step)
            steps = [int(s) for s in re.findall(r"\(global step:(\d+)\)", train(folder, 100))]
            self.assertGreaterEqual(min(steps), 90)
            self.assertEqual(len(steps), 10)
            self.assertEqual(tf.train.load_variable(folder, "global_step"), 100)

            kinds = {event.WhichOneof("what") for file in glob.glob(f"{folder}/events*") for event in tf.train.summary_iterator(file)}
            self.assertLessEqual({"file_version", "graph_def", "meta_graph_def", "session_log"}, kinds)


if __name__ == "__main__":
    unittest.main()
