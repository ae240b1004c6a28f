# SPDX-License-Identifier: Apache-2.0
"""python -m millstream, flags, files, cost of importing."""
import os
import subprocess
import sys

import pytest

import millstream as tf

SCRIPT = """
import sys
import tensorflow as tf
import tensorflow.compat.v1 as tf1
from tensorflow.python.framework import ops, dtypes
from tensorflow.python.client import session, device_lib
from tensorflow.python.platform import gfile
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import config_pb2
assert tf is tf1 and ops.Graph is tf.Graph and session.Session is tf.Session
tf.app.flags.DEFINE_string("job_name", "", "x")
tf.app.flags.DEFINE_integer("n", 3, "y")
tf.flags.DEFINE_boolean("sync", False, "")
FLAGS = tf.app.flags.FLAGS

def main(argv):
    with tf.Session() as sess:
        print(FLAGS.job_name, FLAGS.n, FLAGS.sync, sess.run(tf.constant(1) + 1), argv[1:], __name__)

if __name__ == "__main__":
    tf.app.run()
"""


def run(*args):
    return subprocess.run([sys.executable, "-m", "millstream", *args], capture_output=True, text=True, timeout=120)


def test_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    result = run(str(script), "--job_name=ps", "--n", "4", "--sync", "rest")
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n")[0] == "ps 4 True 2 ['rest'] __main__"
    missing = run("-c", "import tensorflow.nosuch")
    assert missing.returncode == 1 and "No module named 'tensorflow.nosuch'" in missing.stderr
    assert run("nosuch.py").returncode == 2


def test_import_is_cheap():
    code = ("import time, sys; t = time.process_time(); import millstream; millstream.constant; d = time.process_time() - t;"
            "peak = int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 1024; print(d, peak,"
            "'google.protobuf' in sys.modules)")
    best = min((subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
                for _ in range(3)), key=lambda r: float(r[0]))
    assert float(best[1]) < 80, "MB"
    assert best[2] == "False"
    assert float(best[0]) < 0.3, "s"


def test_flags():
    flags = tf.flags
    values = flags.FlagValues()
    flags.DEFINE_string("name", "d", "help", flag_values=values)
    flags.DEFINE_float("rate", 0.5, "help", flag_values=values)
    flags.DEFINE_list("hosts", ["a"], "help", flag_values=values)
    flags.DEFINE_bool("sync", True, "help", flag_values=values)
    assert values(["prog", "-name", "x", "--rate=2", "--nosync", "--hosts=b,c", "pos"]) == ["prog", "pos"]
    assert (values.name, values.rate, values.sync, values.hosts) == ("x", 2.0, False, ["b", "c"])
    with pytest.raises(flags.UnrecognizedFlagError):
        values(["prog", "--nosuch=1"])
    with pytest.raises(flags.Error):
        values(["prog", "--rate=abc"])
    with pytest.raises(AttributeError):
        values.nosuch  # pylint: disable=pointless-statement


def test_gfile(tmp_path):
    name = os.path.join(tmp_path, "d", "f.txt")
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.GFile(name).read()
    tf.gfile.MakeDirs(os.path.dirname(name))
    with tf.gfile.Open(name, "w") as f:
        f.write("one\ntwo\n")
    assert tf.gfile.Exists(name) and list(tf.gfile.GFile(name)) == ["one\n", "two\n"]
    assert tf.gfile.FastGFile(name, "rb").read() == b"one\ntwo\n" and tf.gfile.Stat(name).length == 8
    tf.gfile.DeleteRecursively(os.path.dirname(name))
    assert not tf.gfile.Exists(name)


def test_public_namespaces_hide_no_package():
    from millstream import _lazy
    for name, module in list(sys.modules.items()):
        if name.startswith("millstream.") and isinstance(module, _lazy.Namespace):
            folder = os.path.join(os.path.dirname(tf.__file__), *name.split(".")[1:])
            sources = [file for _, _, files in os.walk(folder) for file in files if not file.endswith(".pyi")]  # stubs hide nothing
            assert not sources and not os.path.exists(folder + ".py"), name


def test_every_public_name_loads():
    """Names whose module is there must be in it."""
    import importlib
    import pkgutil
    import millstream.exports as exports
    for info in pkgutil.iter_modules(exports.__path__):
        for module, names in importlib.import_module(f"millstream.exports.{info.name}").EXPORTS.items():
            target = importlib.import_module(module)
            for entry in names.split():
                public, equals, attribute = entry.partition("=")
                attribute = attribute if equals else public.rpartition(".")[2]
                assert not attribute or hasattr(target, attribute), f"{module}.{attribute}"


def test_stubs_are_python(tmp_path):
    import ast
    from millstream.platform import stubs
    stubs.write(str(tmp_path))
    files = list(tmp_path.rglob("*.pyi"))
    assert len(files) > 10 and (tmp_path / "py.typed").exists()
    for file in files:
        ast.parse(file.read_text())


def test_public_names_are_defined_once():
    import importlib
    import pkgutil
    import millstream.exports as exports
    seen = {}
    for info in pkgutil.iter_modules(exports.__path__):
        for module, names in importlib.import_module(f"millstream.exports.{info.name}").EXPORTS.items():
            for entry in names.split():
                public, equals, attribute = entry.partition("=")
                target = (module, attribute if equals else public.rpartition(".")[2])
                assert seen.setdefault(public, target) == target, f"{public}: {seen[public]} and {target}"


@pytest.mark.parametrize("where", ["tf.Session()", "tf.Session(tf.train.Server.create_local_server().target)"])
def test_exit_with_threads_in_steps(where):
    """Programs of TensorFlow 1 leave threads behind that feed queues; the end of the interpreter must survive them."""
    code = f"""
import sys, threading, time
import numpy as np
import millstream as tf
session = {where}
q = tf.FIFOQueue(3, [tf.float32])
item = q.dequeue()
double = tf.placeholder(tf.float32, []) * 2
def wait(): session.run(item)
def work():
    while True: session.run(double, {{double.op.inputs[0]: 1.0}})
def call():
    while True: session.run(calls)
calls = tf.py_func(lambda: np.float32(1), [], tf.float32)
for f in (wait, work, work, call):
    threading.Thread(target=f, daemon=True).start()
time.sleep(0.2)
print("end", flush=True)
sys.exit(3)
"""
    for _ in range(2):
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        assert (result.returncode, result.stdout) == (3, "end\n"), result.stderr


def test_packages_that_came_with_tensorflow(tmp_path):
    """six and absl, where they are not installed; modules of tensorflow.python by folder and name."""
    program = tmp_path / "program.py"
    program.write_text("""
import six
import six.moves.cPickle as pickle
from absl import app, flags, logging
from six.moves import range, urllib, xrange
from six.moves.urllib.request import urlretrieve
import tensorflow as tf
from tensorflow.contrib.slim.python.slim.nets import resnet_v1, vgg
from tensorflow.contrib.seq2seq.python.ops import beam_search_decoder
from tensorflow.python import pywrap_tensorflow
from tensorflow.python.ops import lookup_ops
from tensorflow.python.keras.layers import Dense

flags.DEFINE_integer("n", 3, "n")


def main(_):
    logging.info("not shown")
    table = lookup_ops.index_table_from_tensor(["a", "b"])
    ids = table.lookup(tf.constant(["b"], name=None))
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        print(session.run(ids), list(xrange(flags.FLAGS.n)), sorted(six.iteritems({"k": 1})), Dense is tf.keras.layers.Dense)


app.run(main)
""")
    result = subprocess.run([sys.executable, "-m", "millstream", str(program), "--n=2"], capture_output=True, text=True, timeout=120,
                            check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[1] [0, 1] [('k', 1)] True"


INNER = """
from tensorflow.python import pywrap_tensorflow
from tensorflow.python.ops import rnn, rnn_cell, nn, metrics
from tensorflow.python.ops.distributions import normal
from tensorflow.python.framework import graph_util, graph_io
from tensorflow.python.layers import base, core, convolutional
from tensorflow.python.util import nest, deprecation
from tensorflow.python.platform import test
from tensorflow.python.data.util import nest as data_nest
from tensorflow.python.estimator import model_fn
from tensorflow.examples.tutorials.mnist import mnist
import tensorflow.python.ops.rnn as same
import tensorflow as tf
assert same is rnn and rnn.dynamic_rnn is tf.nn.dynamic_rnn and rnn_cell.GRUCell is tf.nn.rnn_cell.GRUCell and nn.relu is tf.nn.relu
assert core.Dense is tf.layers.Dense and test.TestCase is tf.test.TestCase and model_fn.EstimatorSpec is tf.estimator.EstimatorSpec
assert pywrap_tensorflow.NewCheckpointReader is tf.train.NewCheckpointReader and normal.Normal is tf.distributions.Normal

@deprecation.deprecated("2030-01-01", "no more")
def logits(images):
    return mnist.inference(images, 4, 3)

print(logits(tf.ones([2, mnist.IMAGE_PIXELS])).shape, graph_util.extract_sub_graph.__name__)
"""


def test_modules_inside_tensorflow():
    result = run("-c", INNER)
    assert result.returncode == 0 and result.stdout == "(2, 10) extract_sub_graph\n", result.stderr


def test_versions_are_those_of_the_interface():
    """Programs compare them with 1.x."""
    program = ("print([tf.__version__, tf.VERSION, tf.version.VERSION, tf.compat.v1.__version__], tf.GIT_VERSION, tf.version.GIT_VERSION,"
               "tf.COMPILER_VERSION == tf.version.COMPILER_VERSION, tf.__version__ in tf.GIT_VERSION)")
    expected = "['1.15.5', '1.15.5', '1.15.5', '1.15.5'] v1.15.5 v1.15.5 True True\n"
    assert run("-c", "import tensorflow as tf; " + program).stdout == expected
    plain = subprocess.run([sys.executable, "-c", "import millstream as tf; " + program], capture_output=True, text=True, check=True)
    assert plain.stdout == expected
    assert tuple(int(n) for n in tf.__version__.split(".")) > (1, 15, 0)


def test_the_packages_own_version_is_that_of_the_build():
    import pathlib
    import re
    header = pathlib.Path(__file__).resolve().parents[2] / "millstream" / "base" / "version.h"
    assert tf.__millstream_version__ == re.search(r'kVersion\[\] = "(.*)"', header.read_text()).group(1)
