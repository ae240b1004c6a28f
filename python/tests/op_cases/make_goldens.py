# SPDX-License-Identifier: Apache-2.0
"""Writes NAME.json for each NAME.py given, with real TensorFlow."""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import running
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

for name in sys.argv[1:]:
    module = running.load_cases(name)
    goldens = {}
    for case, function in module.CASES.items():
        goldens[case] = golden = running.run_case(tf, function)
        if "error" in golden:
            if not case.startswith("error_"):
                print(f"{name}.{case}: {golden['error']}: {golden['message'][:300]}")
            golden.pop("message")
    with open(os.path.join(running.HERE, name + ".json"), "w", encoding="utf-8") as f:
        f.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k,
                                   v in goldens.items()) + "\n}\n")
    print(name, len(goldens))
