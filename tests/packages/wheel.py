#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A wheel as its users get it: installed into a new virtual environment, away from the sources and without the settings of this shell.

    tests/packages/wheel.py dist/millstream-*.whl       # `make wheel` does it at its end

Needs nothing but Python, so it also runs on a machine, or in a chroot, that has none of our Debian packages. pip's own settings (PIP_*) are kept.
"""
import os
import re
import sys
import unittest
import zipfile

import notices
from installed_package import InstalledPackage

WHEEL = os.path.abspath(sys.argv.pop()) if len(sys.argv) > 1 else sys.exit(__doc__)
MEGABYTE = 1e6
TF1_PROGRAM = """
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data
mnist = input_data.read_data_sets("MNIST_data", one_hot=True)
x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.float32, [None, 10])
logits = tf.layers.dense(x, 10)
train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.losses.softmax_cross_entropy(y, logits))
right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(200):
        images, labels = mnist.train.next_batch(100)
        session.run(train, {x: images, y: labels})
    print("accuracy", session.run(right, {x: mnist.test.images, y: mnist.test.labels}))
"""
CLUSTER_PROGRAM = """
import argparse
import millstream as tf
parser = argparse.ArgumentParser()
for name in ("ps_hosts", "worker_hosts", "job_name"):
    parser.add_argument("--" + name)
parser.add_argument("--task_index", type=int)
flags = parser.parse_args()
cluster = tf.train.ClusterSpec({"ps": flags.ps_hosts.split(","), "worker": flags.worker_hosts.split(",")})
server = tf.train.Server(cluster, job_name=flags.job_name, task_index=flags.task_index)
if flags.job_name == "ps":
    server.join()
else:
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % flags.task_index)):
        step = tf.assign_add(tf.train.get_or_create_global_step(), 1, use_locking=True)
    with tf.train.MonitoredTrainingSession(server.target, is_chief=flags.task_index == 0, hooks=[tf.train.StopAtStepHook(last_step=20)]) as session:
        while not session.should_stop():
            value = session.run(step)
    print("reached", value)
"""


class Wheel(InstalledPackage):
    wheels = (WHEEL,)

    def output(self, *command):
        return self.run_in_venv(*command)[0]

    def script(self, name, text):
        path = os.path.join(self.scratch.name, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def test_size_and_tag(self):
        self.assertLessEqual(os.path.getsize(WHEEL), 40 * MEGABYTE)
        self.assertRegex(os.path.basename(WHEEL), r"manylinux_2_\d+_x86_64")

    def test_import_loads_little(self):
        # What it costs is measured by bench/peers/footprint.py; that it loads neither NumPy nor the library is why.
        out = self.output("python", "-c", "import sys, millstream; print('numpy' in sys.modules, 'millstream._core' in sys.modules)")
        self.assertEqual(out, "False False\n")
        out = self.output("python", "-c", "import resource, millstream as tf; tf.constant(1); "
                               "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)")
        self.assertLess(int(out) * 1024, 80 * MEGABYTE)

    def test_a_tf1_script(self):
        out = self.output("python", "-m", "millstream", self.script("tf1.py", TF1_PROGRAM))
        self.assertGreater(float(re.search(r"accuracy ([\d.]+)", out)[1]), 0.85)

    def test_the_command(self):
        self.assertRegex(self.output("millstream", "--version"), r"^\d+\.\d+\.\d+")
        out = self.output("millstream", "train", "--model", "softmax", "--train_steps", "300", "--logdir", "logs")
        self.assertIn("accuracy", out)
        self.assertIn("softmax/kernel", self.output("millstream", "inspect", "logs"))

    def test_a_cluster(self):
        out = self.output("millstream", "launch", "--ps", "1", "--workers", "2", "--", "python", self.script("cluster.py", CLUSTER_PROGRAM))
        self.assertEqual(out.count("reached"), 2, out)

    def test_third_party_notices(self):
        with zipfile.ZipFile(WHEEL) as wheel:
            libraries = [os.path.basename(name) for name in wheel.namelist() if ".libs/" in name and ".so" in name]
            [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/licenses/THIRD_PARTY_NOTICES.txt")]
            text = wheel.read(name).decode()
        self.assertGreater(len(libraries), 10)
        self.assertEqual(list(notices.missing(text, libraries)), [])

    def test_type_stubs(self):
        path = self.output("python", "-c", "import millstream; print(millstream.__path__[0])").strip()
        self.assertTrue(os.path.exists(path + "/__init__.pyi") and os.path.exists(path + "/py.typed"))

    def test_zz_nothing_is_left_after_uninstall(self):
        path = self.output("python", "-c", "import millstream; print(millstream.__path__[0])").strip()
        self.output("pip", "uninstall", "--quiet", "--yes", "millstream")
        self.assertFalse(os.path.exists(path))
        self.assertFalse(os.path.exists(self.venv + "/bin/millstream"))
        self.assertEqual([name for name in os.listdir(os.path.dirname(path)) if "millstream" in name], [])


if __name__ == "__main__":
    unittest.main(verbosity=1)
