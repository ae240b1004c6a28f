# SPDX-License-Identifier: Apache-2.0
"""tf.keras.activations."""
from millstream import gen_ops
from millstream.ops.math import clip_ops, math_ops, reduce_ops
from millstream.ops.nn import nn_ops


def softmax(x, axis=-1):
    if x.shape.rank is not None and x.shape.rank < 2:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")
    if axis in (-1, x.shape.rank - 1 if x.shape.rank else None):
        return nn_ops.softmax(x)
    e = gen_ops.exp(x - reduce_ops.reduce_max(x, axis=axis, keepdims=True))
    return e / reduce_ops.reduce_sum(e, axis=axis, keepdims=True)


def elu(x, alpha=1.0):
    result = gen_ops.elu(x)
    return result if alpha == 1 else gen_ops.select(x > 0, result, alpha * result)


def selu(x):
    return gen_ops.selu(x)


def softplus(x):
    return gen_ops.softplus(x)


def softsign(x):
    return gen_ops.softsign(x)


def relu(x, alpha=0.0, max_value=None, threshold=0):
    """max(x, threshold), at most max_value; alpha times what is below the threshold."""
    below = None
    if alpha != 0.0:
        if max_value is None and threshold == 0:
            return nn_ops.leaky_relu(x, alpha=alpha)
        below = gen_ops.relu(threshold - x) if threshold else gen_ops.relu(-x)
    if threshold:
        x = x * math_ops.cast(gen_ops.greater(x, threshold), x.dtype.base_dtype)
    else:
        x = nn_ops.relu6(x) if max_value == 6 else gen_ops.relu(x)
    if max_value is not None and (max_value != 6 or threshold):
        x = clip_ops.clip_by_value(x, 0.0, float(max_value))
    return x if below is None else x - alpha * below


def tanh(x):
    return gen_ops.tanh(x)


def sigmoid(x):
    return gen_ops.sigmoid(x)


def exponential(x):
    return gen_ops.exp(x)


def hard_sigmoid(x):
    """0.2 x + 0.5, within 0 and 1."""
    return clip_ops.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


def linear(x):
    return x


def swish(x):
    return nn_ops.swish(x)


_BY_NAME = {f.__name__: f for f in (softmax, elu, selu, softplus, softsign, relu, tanh, sigmoid, exponential, hard_sigmoid, linear, swish)}
_BY_NAME.update({"relu6": nn_ops.relu6, "leaky_relu": nn_ops.leaky_relu})


def get(identifier):
    if identifier is None:
        return linear
    if callable(identifier):
        return identifier
    if str(identifier) not in _BY_NAME:
        raise ValueError(f"Unknown activation function:{identifier}")
    return _BY_NAME[str(identifier)]


def serialize(activation):
    return activation.__name__


deserialize = get
