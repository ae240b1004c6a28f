#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tf1_symbols.json: TF1's public names with their arguments, from an installed TensorFlow 2.21 (`tensorflow.compat.v1`).

Needs tf_keras for tf.layers and the rnn cells. Usage: TF_USE_LEGACY_KERAS=1 python tools/api/record.py
"""
import inspect
import json
import os
import pathlib
import types

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
FILE = pathlib.Path(__file__).with_name("tf1_symbols.json")
SPACES = """tf tf.app tf.app.flags tf.autograph tf.bitwise tf.compat tf.data tf.data.experimental tf.debugging tf.distributions
    tf.dtypes tf.errors tf.feature_column tf.flags tf.gfile tf.graph_util tf.image tf.initializers tf.io tf.io.gfile tf.layers
    tf.linalg tf.logging tf.lookup tf.lookup.experimental tf.losses tf.manip tf.math tf.metrics tf.nest tf.nn tf.nn.rnn_cell
    tf.python_io tf.quantization tf.queue tf.random tf.resource_loader tf.saved_model tf.saved_model.builder
    tf.saved_model.constants tf.saved_model.loader tf.saved_model.main_op tf.saved_model.signature_constants
    tf.saved_model.signature_def_utils tf.saved_model.tag_constants tf.saved_model.utils tf.sets tf.signal tf.sparse tf.spectral
    tf.strings tf.summary tf.sysconfig tf.test tf.train tf.train.queue_runner tf.user_ops tf.version""".split()
# Classes whose methods are compared, too.
CLASSES = """tf.Session tf.InteractiveSession tf.Graph tf.Operation tf.Tensor tf.Variable tf.VariableScope tf.SparseTensor
    tf.TensorShape tf.DType tf.TensorArray tf.FIFOQueue tf.RandomShuffleQueue tf.IndexedSlices tf.data.Dataset tf.data.Iterator
    tf.train.Saver tf.train.Optimizer tf.train.GradientDescentOptimizer tf.train.SyncReplicasOptimizer tf.train.Supervisor
    tf.train.SessionManager tf.train.Scaffold tf.train.Coordinator tf.train.QueueRunner tf.train.ClusterSpec tf.train.Server
    tf.train.MonitoredSession tf.train.SessionRunHook tf.train.SessionRunContext tf.train.ExponentialMovingAverage
    tf.train.CheckpointSaverHook tf.train.CheckpointSaverListener tf.summary.FileWriter tf.layers.Layer tf.layers.Dense
    tf.nn.rnn_cell.RNNCell tf.nn.rnn_cell.BasicLSTMCell tf.test.TestCase tf.gfile.GFile tf.saved_model.Builder
    tf.ConditionalAccumulator tf.WholeFileReader tf.python_io.TFRecordWriter tf.train.LooperThread tf.DeviceSpec
    tf.lookup.StaticHashTable tf.GraphKeys""".split()


def _default(value):
    from tensorflow.python.framework import dtypes
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, dtypes.DType):
        return f"tf.{value.name}"
    if isinstance(value, (tuple, list)) and all(isinstance(v, (bool, int, float, str)) for v in value):
        return repr(value)
    return "..."


def arguments(value):
    """'a, b=None, *args, **kwargs', or None if it can't be known."""
    from tensorflow.python.util import tf_inspect
    try:
        spec = tf_inspect.getfullargspec(value.__init__ if inspect.isclass(value) else value)
    except (TypeError, ValueError):
        return None
    names = [n for n in spec.args if n not in ("self", "cls")] if inspect.isclass(value) or spec.args[:1] in (
        ["self"], ["cls"]) else list(spec.args)
    defaults = list(spec.defaults or ())
    first = len(names) - len(defaults)
    parts = [n if i < first else f"{n}={_default(defaults[i - first])}" for i, n in enumerate(names)]
    if spec.varargs:
        parts.append("*" + spec.varargs)
    parts += [f"{n}={_default((spec.kwonlydefaults or {}).get(n))}" for n in spec.kwonlyargs]
    if spec.varkw:
        parts.append("**" + spec.varkw)
    return ", ".join(parts)


def _kind(value):
    if inspect.isclass(value):
        return "class"
    if isinstance(value, types.ModuleType):
        return "module"
    return "function" if callable(value) else "value"


def _is_message(value):
    from google.protobuf import message
    return inspect.isclass(value) and issubclass(value, (message.Message, BaseException))


def main():
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
    out = {}
    for space in SPACES:
        at = tf
        for part in space.split(".")[1:]:
            at = getattr(at, part)
        for name in sorted(dir(at)):
            if name.startswith("_") or name in ("absolute_import", "division", "print_function"):
                continue
            try:
                value = getattr(at, name)
            except (AttributeError, ImportError):
                continue
            kind = _kind(value)
            if kind != "module":
                out[f"{space}.{name}"] = [kind, None if kind == "value" or _is_message(value) else arguments(value)]
            elif f"{space}.{name}" not in SPACES:
                out[f"{space}.{name}"] = [kind, None]
    for path in CLASSES:
        at = tf
        for part in path.split(".")[1:]:
            at = getattr(at, part)
        for name in sorted(dir(at)):
            value = inspect.getattr_static(at, name)
            if name.startswith("_"):
                continue
            value = getattr(value, "__func__", value)
            function = callable(value) and not inspect.isclass(value)
            out[f"{path}.{name}"] = ["method" if function else "attribute", arguments(value) if function else None]
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(out.items()))
    FILE.write_text("{\n" + lines + "\n}\n")
    print(len(out), "names")


if __name__ == "__main__":
    main()
