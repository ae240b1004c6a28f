# SPDX-License-Identifier: Apache-2.0
"""Programs on devices with memory of their own: the shadow device (millstream/devices/shadow), which crashes whoever forgets a copy."""
import os
import subprocess
import sys
import textwrap

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PLUGIN = os.path.abspath(os.environ.get("MILLSTREAM_SHADOW_PLUGIN", os.path.join(HERE, "../../build/dev/libmillstream_shadow.so")))
MNIST = os.path.join(HERE, "../../data/mnist")


def _environment(gpus=1, **more):
    return dict(os.environ, MILLSTREAM_DEVICE_PLUGINS=PLUGIN, MILLSTREAM_SHADOW_GPUS=str(gpus), **more)


def _run(program, **environment):
    done = subprocess.run([sys.executable, "-c", "import millstream as tf\nimport numpy as np\n" + textwrap.dedent(program)],
                          env=_environment(**environment), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_devices_are_listed_and_preferred():
    shown = _run("""
        x = tf.placeholder(tf.float32, [None])
        with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
            for device in session.list_devices():
                print(device.name)
            print(session.run(tf.reduce_sum(x * 2.0), {x: [1, 2, 3]}))
        """)
    assert "device:CPU:0" in shown and "device:GPU:0" in shown and "12.0" in shown


def test_explicit_devices_and_soft_placement():
    shown = _run("""
        with tf.device("/gpu:0"):
            a = tf.constant([1.0, 2.0]) + 1.0
        with tf.device("/cpu:0"):
            b = a * 10.0
        with tf.device("/gpu:1"):
            c = b - 1.0
        print(list(tf.Session().run(c)))
        with tf.device("/gpu:0"):
            text = tf.string_join(["a", "b"])
        try:
            tf.Session().run(text)
        except tf.errors.InvalidArgumentError as error:
            print("refused", "StringJoin" in str(error))
        print(tf.Session(config=tf.ConfigProto(allow_soft_placement=True)).run(text))
        """, gpus=2)
    assert shown.splitlines() == ["[np.float32(19.0), np.float32(29.0)]", "refused True", "b'ab'"]


def test_no_gpu_where_the_program_wants_none():
    shown = _run("""
        session = tf.Session(config=tf.ConfigProto(device_count={"GPU": 0}))
        print(len(session.list_devices()), session.run(tf.constant(2.0) * 3.0))
        """)
    assert shown.split() == ["1", "6.0"]


def test_out_of_memory_names_node_and_size():
    shown = _run("""
        x = tf.placeholder(tf.float32, [])
        big = tf.fill([1000, 1000], x, name="big_one")
        try:
            tf.Session().run(tf.reduce_sum(big), {x: 1.0})
        except tf.errors.ResourceExhaustedError as error:
            print("big_one" in str(error), "[1000,1000]" in str(error), "GPU:0" in str(error))
        """, MILLSTREAM_SHADOW_BYTES="1000000")
    assert shown.split() == ["True", "True", "True"]


def test_towers_with_averaged_gradients():
    """The program of document 002: one copy of the model on each GPU, variables on the CPU, gradients averaged."""
    shown = _run("""
        rng = np.random.RandomState(1)
        data = rng.rand(40, 3).astype(np.float32)
        answers = data @ np.array([[1.0], [-2.0], [0.5]], np.float32)

        def train(gpus):
            with tf.Graph().as_default(), tf.device("/cpu:0"):
                x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
                optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
                towers = []
                for i in range(gpus):
                    with tf.device("/gpu:%d" % i), tf.variable_scope("model", reuse=i > 0):
                        with tf.device("/cpu:0"):
                            w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
                        share = slice(i * 40 // gpus, (i + 1) * 40 // gpus)
                        loss = tf.reduce_mean(tf.square(tf.matmul(x[share], w) - y[share]))
                        towers.append(optimizer.compute_gradients(loss))
                averaged = [(tf.add_n([g for g, _ in pair]) / gpus, pair[0][1]) for pair in zip(*towers)]
                step = optimizer.apply_gradients(averaged)
                with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
                    session.run(tf.global_variables_initializer())
                    for _ in range(100):
                        session.run(step, {x: data, y: answers})
                    return session.run(w)

        one, two = train(1), train(2)
        print(np.allclose(one, two, atol=1e-5), np.allclose(two[:, 0], [1.0, -2.0, 0.5], atol=0.2))
        """, gpus=2)
    assert shown.split() == ["True", "True"]


@pytest.mark.parametrize("mode", ["async", "sync"])
@pytest.mark.parametrize("ps", [1, 2])
def test_clusters_train(program, tmp_path, mode, ps):
    command = [program, "train", "--data_dir", MNIST, "--model", "mlp", "--mode", mode, "--ps", str(ps), "--workers", "2",
               "--train_steps", "300", "--logdir", str(tmp_path), "--json"]
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert os.path.exists(tmp_path / "checkpoint")


def test_a_missing_plug_in_is_named():
    done = subprocess.run([sys.executable, "-c", "import millstream as tf; print(tf.Session().run(tf.constant(7)))"],
                          env=dict(os.environ, MILLSTREAM_DEVICE_PLUGINS="/nowhere/libdevice.so"), capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "7" and "/nowhere/libdevice.so" in done.stderr
