#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what real TensorFlow prints for python/tests/scripts/TOPIC/*.py in the .txt beside each.

Usage: tools/goldens/scripts.py [TOPIC/NAME...]

Needs TensorFlow 2.21 with tf_keras (tf.layers, rnn cells), tf_slim (tf.contrib.slim, tf.contrib.layers) and tensorflow-estimator
2.15 (tf.estimator). A script sees `tensorflow.compat.v1` as `tensorflow`.
"""
import os
import pathlib
import subprocess
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "python" / "tests" / "scripts"

# Run in a process of its own for each script: tensorflow is tensorflow.compat.v1, contrib what tf_slim still has of it.
PRELUDE = """
import sys, types, runpy, warnings
warnings.simplefilter("ignore")
import tensorflow
import tensorflow.compat.v1 as v1
v1.disable_v2_behavior()
v1.logging.set_verbosity(v1.logging.ERROR)
v1.layers.dense, v1.nn.rnn_cell.BasicLSTMCell
v1.__path__ = list(v1.__path__) + list(tensorflow.__path__)
if "contrib" in open(sys.argv[1]).read():
    import importlib
    import tf_slim
    from tensorflow.python.framework import ops, tensor
    ops.Tensor = tensor.Tensor  # tf_slim looks for it there
    for part in ("", ".base", ".convolutional", ".core", ".normalization", ".pooling"):
        sys.modules["tf_keras.legacy_tf_layers" + part] = importlib.import_module("tf_keras.src.legacy_tf_layers" + part)
    from tensorflow.python.ops import init_ops
    contrib = v1.contrib = types.ModuleType("tensorflow.contrib")
    contrib.slim, contrib.layers, contrib.framework = tf_slim, tf_slim.layers, types.ModuleType("framework")
    contrib.rnn = v1.nn.rnn_cell
    if "slim.nets" in open(sys.argv[1]).read():
        from tf_slim.nets import alexnet, inception, resnet_utils, resnet_v1, resnet_v2, vgg
    for name in [n for n in sys.modules if n.startswith("tf_slim")]:
        sys.modules["tensorflow.contrib.slim" + name[len("tf_slim"):]] = sys.modules[name]
    for name in ("arg_scope", "add_arg_scope", "get_variables", "get_or_create_global_step", "model_variable", "variable"):
        setattr(contrib.framework, name, getattr(tf_slim, name))
    contrib.layers.xavier_initializer = lambda uniform=True, seed=None, dtype=v1.float32: init_ops.VarianceScaling(
        1.0, "fan_avg", "uniform" if uniform else "truncated_normal", seed=seed)
    for name in ("l1_regularizer", "l2_regularizer", "variance_scaling_initializer"):
        if not hasattr(contrib.layers, name):
            setattr(contrib.layers, name, getattr(tf_slim, name))
if "tf.estimator" in open(sys.argv[1]).read():
    import importlib, importlib.util, os
    folder = os.path.join(os.path.dirname(importlib.util.find_spec("tf_keras").origin), "..")
    for name in ("tensorflow_estimator", "tensorflow_estimator._api", "tensorflow_estimator._api.v1"):
        sys.modules[name] = types.ModuleType(name)  # without what it imports of distribution strategies and TPUs
        sys.modules[name].__path__ = [os.path.join(folder, *name.split("."))]
    export = types.ModuleType("tensorflow_estimator.python.estimator.estimator_export")
    export.estimator_export = lambda *args, **kwargs: lambda f: f
    sys.modules[export.__name__] = export
    from tensorflow.python import distribute
    absent = distribute.estimator_training = types.ModuleType("tensorflow.python.distribute.estimator_training")
    absent.should_run_distribute_coordinator, absent.init_run_config = lambda config: False, lambda config, tf_config: None
    sys.modules[absent.__name__] = absent
    estimator = v1.estimator = types.ModuleType("tensorflow.estimator")
    for part in ("canned.linear", "canned.dnn", "canned.dnn_linear_combined", "canned.baseline", "canned.parsing_utils", "estimator",
                 "run_config", "training", "model_fn", "extenders", "mode_keys"):
        found = vars(importlib.import_module("tensorflow_estimator.python.estimator." + part))
        vars(estimator).update({k: v for k, v in found.items() if not k.startswith("_") and not isinstance(v, types.ModuleType)})
    estimator.export = importlib.import_module("tensorflow_estimator.python.estimator.export.export")
    estimator.inputs = types.ModuleType("tensorflow.estimator.inputs")
    for part in ("numpy_io", "pandas_io"):
        vars(estimator.inputs).update(vars(importlib.import_module("tensorflow_estimator.python.estimator.inputs." + part)))
sys.modules["tensorflow"] = v1
sys.argv = sys.argv[1:]
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def record(name):
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1", "TF_ENABLE_ONEDNN_OPTS": "0"}
    result = subprocess.run([sys.executable, "-c", PRELUDE, str(SCRIPTS / f"{name}.py")], capture_output=True, text=True,
                            env=environment, timeout=600)
    if result.returncode:
        print(f"{name}: {result.stderr[-3000:]}", file=sys.stderr)
        return False
    (SCRIPTS / f"{name}.txt").write_text(result.stdout)
    return True


def main(names):
    names = names or sorted(str(p.relative_to(SCRIPTS).with_suffix("")) for p in SCRIPTS.glob("*/*.py"))
    failed = [n for n in names if not record(n)]
    print(f"{len(names) - len(failed)} recorded" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
