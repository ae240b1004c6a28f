# SPDX-License-Identifier: Apache-2.0
"""What mypy and editors know of the public names: signatures, not Any."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MYPY = ROOT / ".venv-lint" / "bin" / "mypy"  # tools/setup.sh lint

NAMES = """Graph Session Tensor Operation Variable VariableScope TensorShape SparseTensor acos add constant convert_to_tensor
    concat cond control_dependencies float32 get_variable global_variables_initializer gradients group matmul name_scope placeholder
    reduce_mean reshape while_loop variable_scope nn.relu nn.softmax nn.relu6 layers.dense losses.mean_squared_error metrics.accuracy
    train.AdamOptimizer train.ClusterSpec train.Coordinator train.MonitoredTrainingSession train.Saver train.Server
    train.SyncReplicasOptimizer train.Supervisor train.exponential_decay data.Dataset estimator.Estimator estimator.RunConfig
    summary.FileWriter summary.scalar errors.NotFoundError errors.OutOfRangeError contrib.layers.xavier_initializer
    compat.v1.train.GradientDescentOptimizer""".split()


def check(program, folder):
    if not MYPY.exists():
        pytest.skip("mypy is not installed (tools/setup.sh lint)")
    (folder / "program.py").write_text("import millstream as tf\n" + program)
    # Its own cache: another run of mypy may be under way.
    return subprocess.run([MYPY, "--config-file", ROOT / "pyproject.toml", "--cache-dir", folder / "cache", folder / "program.py"],
                          env={**os.environ, "MYPYPATH": str(ROOT / "python")}, cwd=ROOT, capture_output=True, text=True, timeout=600)


def revealed(expressions, folder):
    """{expression: the type that mypy shows for it}"""
    done = check("".join(f"reveal_type({expression})\n" for expression in expressions), folder)
    assert "error:" not in done.stdout, done.stdout
    types = dict(re.findall(r'program\.py:(\d+): note: Revealed type is "(.*)"', done.stdout))
    return {expression: types[str(line)] for line, expression in enumerate(expressions, 2)}


def test_public_names_have_types(tmp_path):
    types = revealed([f"tf.{name}" for name in NAMES], tmp_path)
    assert [name for name, shown in types.items() if shown == "Any"] == []


def test_results_have_types(tmp_path):
    tensor = "millstream.framework.tensor.Tensor"
    types = {"tf.matmul(tf.constant(1.0), [2.0])": tensor, "tf.placeholder(tf.float32, [None, 3]) + 1": tensor, "tf.Variable(1.0) * 2": tensor,
             "tf.nn.softmax([1.0])": tensor, "tf.losses.mean_squared_error([1.0], [2.0])": tensor, "tf.Session().graph": "millstream.framework.graph.Graph",
             "tf.data.Dataset.range(3).map(abs)": "millstream.datasets.dataset_ops.Dataset", "tf.constant(1)[0]": tensor}
    assert revealed(list(types), tmp_path) == types


def test_a_name_that_does_not_exist_is_an_error(tmp_path):
    done = check("tf.no_such_name\ntf.nn.no_such_name\n", tmp_path)
    assert done.stdout.count("has no attribute") == 2, done.stdout
