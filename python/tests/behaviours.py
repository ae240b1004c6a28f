# SPDX-License-Identifier: Apache-2.0
"""Answers of a TensorFlow module to lists of expressions, as text that can be compared."""
import numpy as np


def _text(value):
    if isinstance(value, np.ndarray):
        shown = np.array2string(value.astype(object) if value.dtype == object else value, precision=5, threshold=50)
        return f"array {value.dtype} {value.shape} {shown}"
    if isinstance(value, np.generic):
        return f"{type(value).__name__} {value}"
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value).__name__ + " [" + ", ".join(map(_text, value)) + "]"
    if hasattr(value, "_fields"):
        return type(value).__name__ + " (" + ", ".join(map(_text, value)) + ")"
    if isinstance(value, dict):
        return "dict {" + ", ".join(f"{k}: {_text(v)}" for k, v in value.items()) + "}"
    return repr(value)


def answer(tf, prelude, expression):
    """What an expression gives in a graph of its own: its value, or the class of its error."""
    with tf.Graph().as_default():
        names = {"tf": tf, "np": np}
        exec(prelude, names)  # pylint: disable=exec-used
        try:
            return _text(eval(expression, names))  # pylint: disable=eval-used
        except Exception as error:  # noqa: BLE001  its class is the behaviour
            return "raises " + type(error).__name__


def answers(tf, module):
    return {e: answer(tf, module.PRELUDE, e) for e in module.EXPRESSIONS}
