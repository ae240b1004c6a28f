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


def test_partial_runs():
    shown = _run("""
        a, b, c = (tf.placeholder(tf.float32, [2]) for _ in range(3))
        with tf.device("/gpu:0"):
            r1 = a + b
            r2 = r1 * c
        with tf.Session() as session:
            for i in range(3):
                handle = session.partial_run_setup([r1, r2], [a, b, c])
                first = session.partial_run(handle, r1, {a: [i, 1], b: [2, 3]})
                print(first.tolist(), session.partial_run(handle, r2, {c: first}).tolist())
            handle = session.partial_run_setup([r1, r2], [a, b, c])  # one that is given up
            session.partial_run(handle, r1, {a: [1, 1], b: [1, 1]})
            print(session.run(r1, {a: [1, 1], b: [1, 1]}).tolist())
        """)
    assert shown.splitlines() == ["[2.0, 4.0] [4.0, 16.0]", "[3.0, 4.0] [9.0, 16.0]", "[4.0, 4.0] [16.0, 16.0]", "[2.0, 2.0]"]


def test_loops_stacks_and_arrays():
    """Values that loops keep for their gradients, TensorArrays and branches, whose predicates are on the host."""
    shown = _run("""
        x = tf.placeholder(tf.float32, [3])
        with tf.device("/gpu:0"):
            _, y, kept = tf.while_loop(lambda i, v, a: i < 4, lambda i, v, a: (i + 1, v * x, a.write(i, v)),
                                       [0, x, tf.TensorArray(tf.float32, 4)])
            gradient, = tf.gradients(y, x)
            branch = tf.cond(tf.reduce_sum(x) > 5.0, lambda: tf.sin(x) * 0.0 + x, lambda: -x)
            stacked = kept.stack()
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            for values in ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]):
                print([v.tolist() for v in session.run([y, gradient, branch, stacked], {x: values})])
        """)
    first, second = shown.splitlines()
    assert first == str([[1.0, 32.0, 243.0], [5.0, 80.0, 405.0], [1.0, 2.0, 3.0], [[1.0, 2.0**k, 3.0**k] for k in range(1, 5)]])
    assert second.startswith("[[1.0, 1.0, 1.0], [5.0, 5.0, 5.0], [-1.0, -1.0, -1.0]")


def test_functions_and_traces():
    shown = _run("""
        from millstream.framework import function
        @function.Defun(tf.float32, noinline=True)
        def apart(v):
            return tf.tanh(v) * 0.0 + v
        @function.Defun(tf.float32)
        def within(v):
            return tf.string_to_number(tf.as_string(v)) + 1.0  # strings are the host's, the sum is the device's
        x = tf.placeholder(tf.float32, [2])
        with tf.device("/gpu:0"):
            y = within(apart(x)) * 2.0
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            print(session.run(y, {x: [1, 2]}, options=options, run_metadata=metadata).tolist())
            print(any("GPU:0" in d.device for d in metadata.step_stats.dev_stats))
        """)
    assert shown.splitlines() == ["[4.0, 6.0]", "True"]


def test_checkpoints_and_slots(tmp_path):
    shown = _run(f"""
        x = tf.placeholder(tf.float32, [4, 3])
        with tf.device("/gpu:0"):
            w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
            v = tf.get_variable("v", [2], initializer=tf.zeros_initializer(), use_resource=True)
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + v - 1.0))
        train = tf.train.AdamOptimizer(0.1).minimize(loss)
        saver = tf.train.Saver()
        config = tf.ConfigProto(allow_soft_placement=True)
        data = {{x: np.ones([4, 3])}}
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(5):
                session.run(train, data)
            saver.save(session, {str(tmp_path / "model")!r})
            before = session.run(tf.global_variables())
            session.run(train, data)
            after = session.run(loss, data)
        with tf.Session(config=config) as session:
            saver.restore(session, {str(tmp_path / "model")!r})
            print(all(np.array_equal(a, b) for a, b in zip(before, session.run(tf.global_variables()))), len(before))
            session.run(train, data)
            print(session.run(loss, data) == after)
        """)
    assert shown.splitlines() == ["True 8", "True"]


def _as_packages(folder):
    """The libraries laid out as the wheels of millstream and millstream-cuda do it, with the shadow device in place of CUDA's."""
    (folder / "millstream").mkdir()
    (folder / "millstream_cuda").mkdir()
    build = os.path.dirname(PLUGIN)
    for name in os.listdir(build):
        if name.startswith("libmillstream.so"):
            (folder / "millstream" / name).symlink_to(os.path.join(build, name))
    (folder / "millstream_cuda" / "libmillstream_cuda.so").symlink_to(PLUGIN)
    environment = {name: value for name, value in os.environ.items() if name != "MILLSTREAM_DEVICE_PLUGINS"}
    return {**environment, "LD_LIBRARY_PATH": str(folder / "millstream")}


@pytest.mark.parametrize("plugins, devices", [(None, "['CPU', 'GPU']"), ("", "['CPU']")])
def test_the_plug_in_of_a_package_beside_this_one_is_found(tmp_path, plugins, devices):
    environment = _as_packages(tmp_path)
    if plugins is not None:
        environment["MILLSTREAM_DEVICE_PLUGINS"] = plugins
    done = subprocess.run([sys.executable, "-c", "import millstream as tf; print(sorted(d.device_type for d in tf.Session().list_devices()))"], env=environment,
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == devices and done.stderr == ""
