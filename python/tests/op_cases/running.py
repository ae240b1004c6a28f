# SPDX-License-Identifier: Apache-2.0
"""Runs cases (functions of the module `tf` that return fetches) and describes what came out, for goldens and tests.

Goldens are made with real TensorFlow:  python make_goldens.py cases_math ...  (in this folder, with TensorFlow installed).
"""
import importlib
import json
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def _flat(value):
    if isinstance(value, dict):
        return [x for k in sorted(value) for x in _flat(value[k])]
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in _flat(v)]
    return [value]


def describe(value):
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        flat = [v.decode("latin1") if isinstance(v, bytes) else str(v) for v in array.ravel()]
        return {"dtype": "string", "shape": list(array.shape), "values": flat}
    if array.dtype.kind == "c":
        return {"dtype": str(array.dtype), "shape": list(array.shape),
                "values": [[v.real, v.imag] for v in array.ravel().tolist()]}
    values = array.ravel().astype(np.float64) if array.dtype.kind == "V" else array.ravel()
    values = [float(f"{v:.9g}") if isinstance(v, float) else v for v in values.tolist()]
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": values}


def restore(description):
    values = description["values"]
    if description["dtype"].startswith("complex"):
        values = [complex(*v) for v in values]
    dtype = object if description["dtype"] == "string" else description["dtype"]
    return np.array(values, dtype).reshape(description["shape"])


def run_case(tf, function):
    """{"results": ..., "nodes": ["name type", ...]} or {"error": name of the exception}."""
    with tf.Graph().as_default() as graph:
        try:
            fetches = function(tf)
            nodes = [f"{op.name} {op.type}" for op in graph.get_operations()]
            with tf.Session(graph=graph) as sess:
                init = [op for op in (getattr(graph, "_golden_init", None),) if op is not None]
                for op in init:
                    sess.run(op)
                feeds = getattr(graph, "_golden_feeds", {})
                results = sess.run(fetches, feeds)
        except Exception as e:  # noqa: BLE001  its class is compared
            return {"error": type(e).__name__, "message": str(e)}
    return {"results": [describe(v) for v in _flat(results) if v is not None], "nodes": nodes}


def load_cases(name):
    sys.path.insert(0, HERE)
    return importlib.import_module(name)


def load_goldens(name):
    with open(os.path.join(HERE, name + ".json"), encoding="utf-8") as f:
        return json.load(f)
