#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what TensorFlow answers to the expressions in python/tests/behaviour: python tools/goldens/behaviour.py (in .venv)."""
import importlib.util
import json
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "python/tests"


def main():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
    sys.path.insert(0, str(FOLDER))
    import behaviours
    for path in sorted((FOLDER / "behaviour").glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        answers = behaviours.answers(tf, module)
        (FOLDER / "goldens" / f"{path.stem}.json").write_text(json.dumps(answers, indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
