# SPDX-License-Identifier: Apache-2.0
"""Activations, dropout, cross entropies and small layers without variables: tf.nn.relu, tf.nn.softmax, ..."""
from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops
from millstream.ops.array import array_ops, index_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.random import random_ops
from millstream.ops.arguments import renamed

if TYPE_CHECKING:
    from typing import Callable

    from millstream.framework.tensor import Tensor
    from typing import Any, Optional
    from millstream.framework.type_aliases import TensorLike
    from millstream.gen_ops import TopKV2


def _named_activation(gen_name, scope):
    def apply(features, name=None):
        """Applies the activation to each element."""
        with ops.name_scope(name, scope, [features]) as name:
            return getattr(gen_ops, gen_name)(ops.convert_to_tensor(features, name="features"), name=name)
    apply.__name__ = gen_name
    return apply


relu6: Callable[..., Tensor] = _named_activation("relu6", "Relu6")


def leaky_relu(features: TensorLike, alpha: Any = 0.2, name: Optional[str] = None) -> Tensor:
    """Returns the features where they are positive, and alpha * features elsewhere."""
    with ops.name_scope(name, "LeakyRelu", [features, alpha]) as name:
        features = ops.convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = math_ops.cast(features, dtypes.float32)
        if isinstance(alpha, (int, float, np.generic)):
            return gen_ops.leaky_relu(features, alpha=float(alpha), name=name)
        return gen_ops.maximum(alpha * features, features, name=name)


def crelu(features: TensorLike, name: Optional[str] = None, axis: Any = -1) -> Tensor:
    """relu(x) and relu(-x), concatenated."""
    with ops.name_scope(name, "CRelu", [features]) as name:
        features = ops.convert_to_tensor(features, name="features")
        return gen_ops.relu(array_ops.concat([features, -features], axis, name=name))


def swish(features: TensorLike, beta: Any = 1.0) -> Tensor:
    """x * sigmoid(x)."""
    with ops.name_scope("swish"):
        features = ops.convert_to_tensor(features, name="features")
        return features * math_ops.sigmoid(features if beta == 1.0 else beta * features)


def gelu(features: TensorLike, approximate: bool = False, name: Optional[str] = None) -> Any:
    """x times the probability that a standard normal variable is less than x."""
    with ops.name_scope(name, "Gelu", [features]):
        features = ops.convert_to_tensor(features, name="features")
        if approximate:
            return 0.5 * features * (1.0 + gen_ops.tanh(0.7978845608028654 * (features + 0.044715 * features * features
                                                                              * features)))
        return 0.5 * features * (1.0 + gen_ops.erf(features / 1.4142135623730951))


def _last_axis(gen_name, logits, axis, name):
    """Applies an op that works on the last axis along any axis."""
    logits = ops.convert_to_tensor(logits)
    rank = logits.shape.rank
    if rank is not None and not isinstance(axis, ops.Tensor) and not -rank <= axis < rank:
        raise ValueError(f"`axis` = {axis} is not in [{-rank}, {rank})")
    if axis == -1 or (rank is not None and axis == rank - 1):
        return getattr(gen_ops, gen_name)(logits, name=name)
    if rank is None:
        raise ValueError("The rank must be known for an axis that is not the last")
    perm = list(range(rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    moved = getattr(gen_ops, gen_name)(array_ops.transpose(logits, perm))
    return array_ops.transpose(moved, perm, name=name or "transpose")


def softmax(logits: TensorLike, axis: Any = None, name: Optional[str] = None, dim: Any = None) -> Tensor:
    """Returns exp(logits) / sum(exp(logits)) along `axis`, which is the last one by default."""
    axis = renamed("axis", axis, "dim", dim)
    return _last_axis("softmax", logits, -1 if axis is None else axis, name)


def log_softmax(logits: TensorLike, axis: Any = None, name: Optional[str] = None, dim: Any = None) -> Tensor:
    """The logarithm of softmax."""
    axis = renamed("axis", axis, "dim", dim)
    return _last_axis("log_softmax", logits, -1 if axis is None else axis, name)


def _both_given(labels, logits):
    for what, value in (("labels", labels), ("logits", logits)):
        if value is None:
            raise ValueError(f"Argument `{what}` must not be None.")


def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: Optional[str] = None) -> Tensor:
    """Cross entropy of each label with the sigmoid of its logit."""
    _both_given(labels, logits)
    with ops.name_scope(name, "logistic_loss", [logits, labels]) as name:
        logits = ops.convert_to_tensor(logits, name="logits")
        labels = ops.convert_to_tensor(labels, name="labels", preferred_dtype=logits.dtype.base_dtype)
        if not labels.shape.is_compatible_with(logits.shape):
            raise ValueError(f"`logits` and `labels` must have the same shape, received ({logits.shape} vs {labels.shape}).")
        # max(x, 0) - x * z + log(1 + exp(-|x|)): no overflow, and a gradient at 0.
        zeros = array_ops.zeros_like(logits, dtype=logits.dtype.base_dtype)
        positive = logits >= zeros
        relu_logits = gen_ops.select(positive, logits, zeros)
        neg_abs_logits = gen_ops.select(positive, -logits, logits)
        return math_ops.add(relu_logits - logits * labels, gen_ops.log1p(gen_ops.exp(neg_abs_logits)), name=name)


def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None, targets=None):
    """Sigmoid cross entropy in which positive targets count `pos_weight` times."""
    labels = renamed("labels", labels, "targets", targets)
    with ops.name_scope(name, "logistic_loss", [logits, labels]) as name:
        logits = ops.convert_to_tensor(logits, name="logits")
        labels = ops.convert_to_tensor(labels, name="labels")
        if not labels.shape.is_compatible_with(logits.shape):
            raise ValueError(f"`logits` and `labels` must have the same shape, received ({logits.shape} vs {labels.shape}).")
        log_weight = 1 + (pos_weight - 1) * labels
        return math_ops.add((1 - labels) * logits,
                            log_weight * (gen_ops.log1p(gen_ops.exp(-math_ops.abs(logits))) + gen_ops.relu(-logits)),
                            name=name)


def _flattened(x):
    size = x.shape.as_list()[-1] if x.shape.rank else None
    return array_ops.reshape(x, [-1, size if size is not None else array_ops.shape(x)[-1]])


def softmax_cross_entropy_with_logits_v2(labels: Any = None, logits: Any = None, axis: Any = None, name: Optional[str] = None,
                                         dim: Any = None) -> Tensor:
    """Cross entropy of distributions with the softmax of logits; labels get gradients too."""
    axis = renamed("axis", axis, "dim", dim)
    return _softmax_cross_entropy(labels, logits, -1 if axis is None else axis, name)


def _softmax_cross_entropy(labels, logits, axis, name):
    with ops.name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as name:
        logits = ops.convert_to_tensor(logits, name="logits")
        labels = ops.convert_to_tensor(labels, name="labels", preferred_dtype=logits.dtype.base_dtype)
        half = logits.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16)
        precise = math_ops.cast(logits, dtypes.float32) if half else logits
        labels = math_ops.cast(labels, precise.dtype.base_dtype)
        rank = logits.shape.rank
        if rank == 2 and axis in (-1, 1):
            labels = labels if labels.shape.rank in (None, 2) else _flattened(labels)
            cost = gen_ops.softmax_cross_entropy_with_logits(precise, labels, name=name)[0]
            return math_ops.cast(cost, logits.dtype.base_dtype) if half else cost
        if axis != -1:
            perm = [i for i in range(rank) if i != axis % rank] + [axis % rank]
            precise, labels = array_ops.transpose(precise, perm), array_ops.transpose(labels, perm)
        shape = array_ops.shape(precise)
        cost = gen_ops.softmax_cross_entropy_with_logits(_flattened(precise), _flattened(labels), name=name)[0]
        known = precise.shape
        cost = array_ops.reshape(cost, shape[:-1])
        if known.rank is not None:
            cost.set_shape(known[:-1])
        return math_ops.cast(cost, logits.dtype.base_dtype) if half else cost


def softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, dim: Any = -1, name: Optional[str] = None,
                                      axis: Any = None) -> Tensor:
    """As _v2, but nothing flows back into the labels."""
    dim = axis if axis is not None else dim
    _both_given(labels, logits)
    with ops.name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as name:
        labels = gen_ops.stop_gradient(labels, name="labels_stop_gradient")
    return _softmax_cross_entropy(labels, logits, dim, name)


def sparse_softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: Optional[str] = None) -> Tensor:
    """Cross entropy of class numbers with the softmax of logits."""
    _both_given(labels, logits)
    with ops.name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels = ops.convert_to_tensor(labels)
        logits = ops.convert_to_tensor(logits)
        half = logits.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16)
        precise = math_ops.cast(logits, dtypes.float32) if half else logits
        label_rank, rank = labels.shape.rank, logits.shape.rank
        if rank == 0:
            raise ValueError(f"`logits` cannot be a scalar. Received logits={logits}`")
        if rank is not None and label_rank is not None and label_rank != rank - 1:
            raise ValueError("`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape="
                             f"{labels.shape} of rank {label_rank} and logits.shape={logits.shape} of rank {rank}")
        if rank is not None and label_rank is not None and not labels.shape.is_compatible_with(logits.shape[:-1]):
            raise ValueError("`labels.shape` must equal `logits.shape` except for the last dimension. Received: "
                             "labels.shape="
                             f"{labels.shape} and logits.shape={logits.shape}")
        if rank == 2:
            cost = gen_ops.sparse_softmax_cross_entropy_with_logits(precise, labels, name=name)[0]
        else:
            shape = array_ops.shape(labels)
            cost = gen_ops.sparse_softmax_cross_entropy_with_logits(_flattened(precise), array_ops.reshape(labels, [-1]),
                                                                    name=name)[0]
            cost = array_ops.reshape(cost, shape)
            cost.set_shape(labels.shape)
        return math_ops.cast(cost, logits.dtype.base_dtype) if half else cost


def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """Elements become 0 with probability `rate`; the others grow so that the sum stays the same."""
    if keep_prob is not None:
        if rate is not None:
            raise ValueError("Cannot specify both 'keep_prob' and 'rate'.")
        if isinstance(keep_prob, numbers.Real) and not 0 < keep_prob <= 1:
            raise ValueError(f"`keep_prob` must be in (0, 1]. Received: {keep_prob}")
        rate = 1 - keep_prob
    if rate is None:
        raise ValueError("`rate` must be provided.")
    with ops.name_scope(name, "dropout", [x]):
        number = isinstance(rate, numbers.Real)
        if number and not 0 <= rate < 1:
            raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
        x = ops.convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={x.dtype}")
        dtype = x.dtype.base_dtype
        if number and rate == 0:
            random_ops._seeds(seed)  # counts as a random op
            return x
        if number:
            scaled = gen_ops.mul(x, constant_op.constant(1 / (1 - rate), dtype))
        else:
            rate = ops.convert_to_tensor(rate, dtype=dtype, name="rate") if not isinstance(rate, ops.Tensor) else rate
            if rate.shape.rank not in (None, 0):
                raise ValueError("The rate of a dropout is a scalar")
            scaled = gen_ops.real_div(x, gen_ops.sub(constant_op.constant(1, dtype), math_ops.cast(rate, dtype)))
        noise = random_ops.random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=dtype)
        keep = gen_ops.greater_equal(noise, rate)
        result = gen_ops.select_v2(keep, scaled, constant_op.constant(0, dtype))
        result.set_shape(x.shape)
        return result


def _noise_shape(x, noise_shape):
    if noise_shape is None:
        return array_ops.shape(x)
    if isinstance(noise_shape, ops.Tensor):
        return noise_shape
    sizes = [getattr(d, "value", d) for d in noise_shape]
    if x.shape.rank == len(sizes):
        known = x.shape.as_list()
        sizes = [known[i] if d is None else d for i, d in enumerate(sizes)]
        if None in sizes:
            dynamic = array_ops.shape(x)
            sizes = [dynamic[i] if d is None else d for i, d in enumerate(sizes)]
    return sizes


def bias_add(value: Any, bias: Any, data_format: Any = None, name: Optional[str] = None) -> Tensor:
    """Adds a vector to the channels of `value`."""
    with ops.name_scope(name, "BiasAdd", [value, bias]) as name:
        if data_format is not None:
            if data_format.startswith("NC"):
                data_format = "NCHW"
            elif data_format.startswith("N") and data_format.endswith("C"):
                data_format = "NHWC"
            else:
                raise ValueError(f"`data_format` must be of the form `N...C` or `NC...`. Received: "
                                 f"data_format={data_format}")
        value = ops.convert_to_tensor(value, name="input")
        bias = ops.convert_to_tensor(bias, dtype=value.dtype.base_dtype, name="bias")
        return gen_ops.bias_add(value, bias, data_format=data_format or "NHWC", name=name)


def _layer_inputs(x, weights, biases):
    return (ops.convert_to_tensor(x, name="x"), ops.convert_to_tensor(weights, name="weights"),
            ops.convert_to_tensor(biases, name="biases"))


def xw_plus_b(x: TensorLike, weights: Any, biases: Any, name: Optional[str] = None) -> Tensor:
    """Returns the matrix product of `x` and `weights` plus `biases`, which are added to each row."""
    with ops.name_scope(name, "xw_plus_b", [x, weights, biases]) as name:
        x, weights, biases = _layer_inputs(x, weights, biases)
        return bias_add(linalg_ops.matmul(x, weights), biases, name=name)


def relu_layer(x: TensorLike, weights: Any, biases: Any, name: Optional[str] = None) -> Tensor:
    """relu(x * weights + biases)."""
    with ops.name_scope(name, "relu_layer", [x, weights, biases]) as name:
        x, weights, biases = _layer_inputs(x, weights, biases)
        return gen_ops.relu(bias_add(linalg_ops.matmul(x, weights), biases), name=name)


def l2_normalize(x: TensorLike, axis: Any = None, epsilon: Any = 1e-12, name: Optional[str] = None, dim: Any = None) -> Tensor:
    """Divides by the L2 norm along `axis`."""
    axis = renamed("axis", axis, "dim", dim)
    with ops.name_scope(name, "l2_normalize", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        square_sum = reduce_ops.reduce_sum(gen_ops.square(x), axis, keepdims=True)
        inverse = gen_ops.rsqrt(gen_ops.maximum(square_sum, epsilon))
        return gen_ops.mul(x, inverse, name=name)


def zero_fraction(value: Any, name: Optional[str] = None) -> Tensor:
    """The fraction of elements that are 0."""
    with ops.name_scope(name, "zero_fraction", [value]):
        value = ops.convert_to_tensor(value, name="value")
        zero = constant_op.constant(0, value.dtype.base_dtype, name="zero")
        return reduce_ops.reduce_mean(math_ops.cast(gen_ops.equal(value, zero), dtypes.float32))


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: Optional[str] = None) -> TopKV2:  # pylint: disable=redefined-builtin
    """The `k` largest elements of each row, and their indices."""
    return gen_ops.top_kv2(input, k, sorted=sorted, name=name)


def in_top_k(predictions: TensorLike, targets: Any, k: Any, name: Optional[str] = None) -> Tensor:
    """Whether each target is among the `k` largest predictions."""
    with ops.name_scope(name, "in_top_k"):
        return gen_ops.in_top_kv2(predictions, targets, k, name=name)


def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False, name: Optional[str] = None) -> Tensor:
    """The negative log likelihood of counts with Poisson distribution, given the log of its mean."""
    with ops.name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input = ops.convert_to_tensor(log_input, name="log_input")
        targets = ops.convert_to_tensor(targets, name="targets")
        if not targets.shape.is_compatible_with(log_input.shape):
            raise ValueError(f"`log_input` and `targets` must have the same shape, received ({log_input.shape} vs "
                             f"{targets.shape}).")
        result = gen_ops.exp(log_input) - log_input * targets
        if not compute_full_loss:
            return result
        half_log = constant_op.constant(0.5, targets.dtype.base_dtype)
        two_pi = constant_op.constant(2 * np.pi, targets.dtype.base_dtype)
        stirling = targets * gen_ops.log(targets) - targets + half_log * gen_ops.log(two_pi * targets)
        zeros, ones = array_ops.zeros_like(targets), array_ops.ones_like(targets)
        inside = gen_ops.logical_and(targets >= zeros, targets <= ones)
        return result + index_ops.where(inside, zeros, stirling)
