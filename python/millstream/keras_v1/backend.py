# SPDX-License-Identifier: Apache-2.0
"""tf.keras.backend: sessions and phases, and functions of tensors under Keras's names."""
import numpy as np

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, gradients as gradients_lib, ops
from millstream.keras_v1 import losses
from millstream.keras_v1.activations import elu, hard_sigmoid, relu, sigmoid, softmax, softplus, softsign, tanh  # noqa: F401
from millstream.keras_v1.base_layer import Input, history
from millstream.keras_v1.state import (clear_session, epsilon, floatx, get_graph, get_session, get_uid, image_data_format,  # noqa: F401
                                       learning_phase, learning_phase_scope, reset_uids, set_epsilon, set_floatx,
                                       set_image_data_format, set_learning_phase, set_session, track)
from millstream.ops.arguments import unsupported
from millstream.ops.array import array_ops, index_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import clip_ops, math_ops, reduce_ops
from millstream.ops.nn import nn_ops
from millstream.ops.random import random_ops
from millstream.ops.variables import init_ops, state_ops, variables

name_scope, stop_gradient, square, exp, log, sin, cos = (ops.name_scope, gen_ops.stop_gradient, gen_ops.square, gen_ops.exp, gen_ops.log,
                                                         gen_ops.sin, gen_ops.cos)
equal, not_equal, greater, greater_equal, less, less_equal = (gen_ops.equal, gen_ops.not_equal, gen_ops.greater, gen_ops.greater_equal,
                                                              gen_ops.less, gen_ops.less_equal)
maximum, minimum, sign, round, pow = gen_ops.maximum, gen_ops.minimum, gen_ops.sign, math_ops.round, math_ops.pow
shape, reshape, expand_dims, squeeze, stack, tile = (array_ops.shape, array_ops.reshape, array_ops.expand_dims, array_ops.squeeze,
                                                     array_ops.stack, gen_ops.tile)
zeros_like, ones_like, identity, reverse, gather = (array_ops.zeros_like, array_ops.ones_like, array_ops.identity, array_ops.reverse,
                                                    index_ops.gather)
update_add, update_sub, update = state_ops.assign_add, state_ops.assign_sub, state_ops.assign


def variable(value, dtype=None, name=None, constraint=None):
    value = np.asarray(value) if not isinstance(value, ops.Tensor) else value
    made = variables.Variable(value, dtype=dtypes.as_dtype(dtype or floatx()), name=name, constraint=constraint, use_resource=True) if \
        isinstance(value, ops.Tensor) else variables.Variable(value.astype(dtypes.as_dtype(dtype or floatx()).as_numpy_dtype), name=name,
                                                              constraint=constraint, use_resource=True)
    track(made)
    return made


def constant(value, dtype=None, shape=None, name=None):  # pylint: disable=redefined-outer-name
    return constant_op.constant(value, dtype=dtype or floatx(), shape=shape, name=name or "Const")


def placeholder(shape=None, ndim=None, dtype=None, sparse=False, name=None):  # pylint: disable=redefined-outer-name
    return Input(batch_shape=tuple(shape) if shape is not None else (None,) * ndim, dtype=dtype, sparse=sparse, name=name)


def is_keras_tensor(x):
    if not isinstance(x, ops.Tensor) and not hasattr(x, "_get_save_slice_info"):
        raise ValueError(f"Unexpectedly found an instance of type `{type(x)}`. Expected a symbolic tensor instance.")
    return history(x) is not None


def zeros(shape, dtype=None, name=None):  # pylint: disable=redefined-outer-name
    return variable(np.zeros(shape), dtype, name)


def ones(shape, dtype=None, name=None):  # pylint: disable=redefined-outer-name
    return variable(np.ones(shape), dtype, name)


def int_shape(x):
    return tuple(x.shape.as_list()) if x.shape.rank is not None else None


def ndim(x):
    return x.shape.rank


def dtype(x):
    return x.dtype.base_dtype.name


def count_params(x):
    return int(np.prod(x.shape.as_list()))


def cast(x, dtype):  # pylint: disable=redefined-outer-name
    return math_ops.cast(x, dtype)


def cast_to_floatx(x):
    return math_ops.cast(x, floatx()) if isinstance(x, ops.Tensor) else np.asarray(x, dtype=floatx())


def eval(x):  # pylint: disable=redefined-builtin
    return get_session().run(x)


get_value = eval


def batch_get_value(tensors):
    return get_session().run(list(tensors)) if tensors else []


def set_value(x, value):
    x.load(np.asarray(value, x.dtype.base_dtype.as_numpy_dtype), get_session())


def batch_set_value(tuples):
    for x, value in tuples:
        set_value(x, value)


def _reducer(function):
    def reduce(x, axis=None, keepdims=False):
        x = ops.convert_to_tensor(x)
        if x.dtype.base_dtype == dtypes.bool and function in (reduce_ops.reduce_mean,):
            x = math_ops.cast(x, floatx())
        return function(x, axis=axis, keepdims=keepdims)
    reduce.__name__ = function.__name__.replace("reduce_", "")
    return reduce


sum, prod, mean, max, min = [_reducer(f) for f in (reduce_ops.reduce_sum, reduce_ops.reduce_prod,  # pylint: disable=redefined-builtin
                                                   reduce_ops.reduce_mean, reduce_ops.reduce_max, reduce_ops.reduce_min)]
any, all, var, std, logsumexp = [_reducer(f) for f in (reduce_ops.reduce_any, reduce_ops.reduce_all,  # pylint: disable=redefined-builtin
                                                       reduce_ops.reduce_variance, reduce_ops.reduce_std, reduce_ops.reduce_logsumexp)]


def argmax(x, axis=-1):
    return math_ops.argmax(x, axis)


def argmin(x, axis=-1):
    return math_ops.argmin(x, axis)


def abs(x):  # pylint: disable=redefined-builtin
    return gen_ops.abs(x)


def sqrt(x):
    return gen_ops.sqrt(gen_ops.maximum(x, ops.convert_to_tensor(0.0, dtype=x.dtype.base_dtype)))


def clip(x, min_value, max_value):
    return clip_ops.clip_by_value(x, min_value, max_value)


def dot(x, y):
    """The product over the last axis of x and the last but one of y."""
    if ndim(x) is not None and (ndim(x) > 2 or ndim(y) > 2):
        return linalg_ops.tensordot(x, y, [[ndim(x) - 1], [builtins_max(ndim(y) - 2, 0)]])
    return linalg_ops.matmul(x, y)


def builtins_max(a, b):
    return a if a > b else b


def batch_dot(x, y, axes=None):
    from millstream.keras_v1 import shape_layers
    return shape_layers.Dot(axes if axes is not None else (ndim(x) - 1, ndim(y) - 2)).call([x, y])


def transpose(x):
    return array_ops.transpose(x)


def permute_dimensions(x, pattern):
    return array_ops.transpose(x, pattern)


def concatenate(tensors, axis=-1):
    return array_ops.concat(list(tensors), axis)


def flatten(x):
    return array_ops.reshape(x, [-1])


def batch_flatten(x):
    return array_ops.reshape(x, array_ops.stack([-1, reduce_ops.reduce_prod(array_ops.shape(x)[1:])]))


def repeat(x, n):
    return gen_ops.tile(array_ops.expand_dims(x, 1), [1, n, 1])


def repeat_elements(x, rep, axis):
    return index_ops.repeat(x, rep, axis=axis)


def one_hot(indices, num_classes):
    return index_ops.one_hot(indices, num_classes, axis=-1)


def l2_normalize(x, axis=None):
    return nn_ops.l2_normalize(x, axis=axis)


def dropout(x, level, noise_shape=None, seed=None):
    return nn_ops.dropout(x, rate=level, noise_shape=noise_shape, seed=seed)


def bias_add(x, bias, data_format=None):
    first = (data_format or image_data_format()) == "channels_first"
    return nn_ops.bias_add(x, bias, data_format="NCHW" if first and x.shape.rank > 2 else None)


def gradients(loss, variables):  # pylint: disable=redefined-outer-name
    return gradients_lib.gradients(loss, variables)


def switch(condition, then_expression, else_expression):
    as_function = lambda e: e if callable(e) else lambda: e
    if condition.shape.rank == 0:
        return control_flow_ops.cond(condition, as_function(then_expression), as_function(else_expression))
    then, other = (e() if callable(e) else e for e in (then_expression, else_expression))
    return index_ops.where(condition, then, other)


def in_train_phase(x, alt, training=None):
    return control_flow_ops.smart_cond(learning_phase() if training is None else training, x if callable(x) else lambda: x,
                                       alt if callable(alt) else lambda: alt)


def in_test_phase(x, alt, training=None):
    return in_train_phase(alt, x, training)


def random_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):  # pylint: disable=redefined-outer-name
    return random_ops.random_normal(shape, mean, stddev, dtypes.as_dtype(dtype or floatx()), seed)


def random_uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):  # pylint: disable=redefined-outer-name
    return random_ops.random_uniform(shape, minval, maxval, dtypes.as_dtype(dtype or floatx()), seed)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):  # pylint: disable=redefined-outer-name
    return random_ops.truncated_normal(shape, mean, stddev, dtypes.as_dtype(dtype or floatx()), seed)


def random_normal_variable(shape, mean, scale, dtype=None, name=None, seed=None):  # pylint: disable=redefined-outer-name
    kind = dtypes.as_dtype(dtype or floatx())
    return variable(init_ops.RandomNormal(mean, scale, seed)(shape, dtype=kind), kind, name)


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    losses.check_class_axis(output, axis)
    return losses.categorical_crossentropy(target, output, from_logits)


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    return losses.sparse_categorical_crossentropy(target, output, from_logits, axis)


def binary_crossentropy(target, output, from_logits=False):
    if from_logits:
        return nn_ops.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
    p, tiny = clip(output, epsilon(), 1 - epsilon()), epsilon()
    return -(target * gen_ops.log(p + tiny) + (1 - target) * gen_ops.log(1 - p + tiny))


class _Function:
    """Values of tensors for given inputs, after updates."""

    def __init__(self, inputs, outputs, updates=None, name=None):
        self._inputs, self._outputs = list(inputs), list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        self._updates = [control_flow_ops.group(*u) if isinstance(u, tuple) else u for u in updates or ()]

    def __call__(self, inputs):
        feed = {}
        for tensor, value in zip(self._inputs, inputs):
            if isinstance(tensor, ops.Tensor):
                feed[tensor] = bool(value) if tensor.dtype == dtypes.bool else value
        return get_session().run(self._outputs + self._updates, feed)[:len(self._outputs)]


def function(inputs, outputs, updates=None, name=None, **kwargs):
    unsupported("keras.backend.function", **kwargs)
    return _Function(inputs, outputs, updates, name)
