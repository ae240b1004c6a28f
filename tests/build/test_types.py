# SPDX-License-Identifier: Apache-2.0
"""What mypy and editors know of the public names: signatures, not Any."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MYPY = ROOT / ".venv-lint" / "bin" / "mypy"  # tools/setup.sh lint

MOST_USED = [line.split()[0] for line in (ROOT / "python" / "tests" / "data" / "most_used_names.txt").read_text().splitlines() if not line.startswith("#")]
OTHER_NAMES = """Tensor Operation acos float32 contrib.layers.xavier_initializer compat.v1.train.GradientDescentOptimizer train.Supervisor
    train.SyncReplicasOptimizer nn.relu6 estimator.RunConfig""".split()

# Functions whose result has no definite type, and why.
LIKE_ARGUMENTS = "the result has the structure of the arguments or of what a function of the user returns"
MESSAGE = "a protocol buffer message: the classes that protoc generates have no types"
RESULTS_OF_ANY_TYPE = {
    **dict.fromkeys(["while_loop", "cond", "case", "scan", "map_fn", "train.batch", "py_func", "py_function"], LIKE_ARGUMENTS),
    **dict.fromkeys(["saved_model.loader.load", "saved_model.utils.build_tensor_info", "graph_util.convert_variables_to_constants",
                     "graph_util.extract_sub_graph"], MESSAGE),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the programs are checked: with a cache of its own, since another run of mypy may be under way, for all tests of this file."""
    return tmp_path_factory.mktemp("types")


def check(program, folder):
    assert MYPY.exists(), "mypy is not installed: run tools/setup.sh lint"
    (folder / "program.py").write_text("import millstream as tf\n" + program)
    return subprocess.run([MYPY, "--config-file", ROOT / "pyproject.toml", "--cache-dir", folder / "cache", folder / "program.py"],
                          env={**os.environ, "MYPYPATH": str(ROOT / "python")}, cwd=ROOT, capture_output=True, text=True, timeout=600)


def revealed(expressions, folder):
    """{expression: the type that mypy shows for it}"""
    done = check("".join(f"reveal_type({expression})\n" for expression in expressions), folder)
    assert not re.search(r"program\.py:\d+: error:", done.stdout), done.stdout
    types = dict(re.findall(r'program\.py:(\d+): note: Revealed type is "(.*)"', done.stdout))
    return {expression: types[str(line)] for line, expression in enumerate(expressions, 2)}


def end_of_parameters(signature):
    """The position after the parameters of "def (x: Any, y: def (int) -> str) -> Tensor"."""
    depth = 0
    for at, character in enumerate(signature):
        depth += (character == "(") - (character == ")")
        if character == ")" and depth == 0:
            return at + 1
    raise ValueError(signature)


def result_type(shown):
    """What a call of a function or class of the type `shown` returns; the last one of overloads; None for no function."""
    if shown.startswith("Overload("):
        return result_type(shown[shown.rindex(", def ") + len(", "):-1])
    if not shown.startswith("def "):
        return None
    rest = shown[end_of_parameters(shown):]
    return rest.removeprefix(" -> ") or "None"


def test_result_type_is_read_from_signatures():
    assert result_type("def (x: Any, f: def (int) -> str =) -> Tensor") == "Tensor"
    assert result_type("def [T] (f: Any) -> def (*Any, **Any) -> Any") == "def (*Any, **Any) -> Any"
    assert result_type("Overload(def (x: A) -> A, def (x: B, n: def () =) -> B)") == "B"
    assert result_type("def ()") == "None"
    assert result_type("Any") is None


def test_public_names_have_types(folder):
    types = revealed([f"tf.{name}" for name in dict.fromkeys(MOST_USED + OTHER_NAMES)], folder)
    assert [name for name, shown in types.items() if shown == "Any"] == []
    results = {name: result_type(types[f"tf.{name}"]) for name in MOST_USED}
    assert sorted(name for name, result in results.items() if result in (None, "Any")) == sorted(RESULTS_OF_ANY_TYPE)


def test_results_have_types(folder):
    tensor = "millstream.framework.tensor.Tensor"
    types = {"tf.matmul(tf.constant(1.0), [2.0])": tensor, "tf.placeholder(tf.float32, [None, 3]) + 1": tensor, "tf.Variable(1.0) * 2": tensor,
             "tf.nn.softmax([1.0])": tensor, "tf.losses.mean_squared_error([1.0], [2.0])": tensor, "tf.Session().graph": "millstream.framework.graph.Graph",
             "tf.data.Dataset.range(3).map(abs)": "millstream.datasets.dataset_ops.Dataset", "tf.constant(1)[0]": tensor}
    assert revealed(list(types), folder) == types


def test_a_name_that_does_not_exist_is_an_error(folder):
    done = check("tf.no_such_name\ntf.nn.no_such_name\n", folder)
    assert done.stdout.count("has no attribute") == 2, done.stdout
