# SPDX-License-Identifier: Apache-2.0
"""tf.distributions: the distributions that programs of TF1 sample from and score with."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.ops.array import array_ops, index_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import nn_ops
from millstream.ops.random import random_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike
    from millstream.framework.tensor import Tensor



class ReparameterizationType:
    """Whether gradients pass through samples."""

    def __init__(self, rep_type: Any) -> None:
        self._rep_type = rep_type

    def __repr__(self):
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")
_kl: dict = {}


class Distribution:
    """sample(), log_prob() and the moments; subclasses give _sample_n(n, seed), _log_prob(x) and so on."""

    reparameterization_type = FULLY_REPARAMETERIZED
    _event_rank = 0

    def __init__(self, dtype: DTypeLike, batch: Any, name: str, parameters: Any, validate_args: bool = False,
                 allow_nan_stats: bool = True) -> None:
        with ops.name_scope(name) as scope:
            self._name = scope
        self._dtype, self._batch, self._parameters = dtypes.as_dtype(dtype), batch, parameters
        self.validate_args, self.allow_nan_stats = validate_args, allow_nan_stats

    dtype = property(lambda self: self._dtype)
    name = property(lambda self: self._name)
    parameters = property(lambda self: self._parameters)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        shape = array_ops.shape(self._batch)
        return shape[:-1] if self._event_rank else shape

    @property
    def batch_shape(self) -> Any:
        shape = self._batch.shape
        return shape[:-1] if self._event_rank and shape.rank else shape

    @property
    def event_shape(self) -> Any:
        return self._batch.shape[-1:] if self._event_rank else TensorShape([])

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Any:
        return array_ops.shape(self._batch)[-1:] if self._event_rank else ops.convert_to_tensor([], dtype=dtypes.int32)

    def sample(self, sample_shape: Any = (), seed: Optional[int] = None, name: str = "sample") -> Any:
        with ops.name_scope(self._name), ops.name_scope(name):
            shape = ops.convert_to_tensor(sample_shape, dtype=dtypes.int32)
            known = [sample_shape] if isinstance(sample_shape, int) else (
                list(sample_shape) if isinstance(sample_shape, (list, tuple)) else None)
            shape = array_ops.reshape(shape, [-1])
            samples = self._sample_n(reduce_ops.reduce_prod(shape), seed)
            out = array_ops.reshape(samples, array_ops.concat([shape, array_ops.shape(samples)[1:]], 0))
            if known is not None:
                out.set_shape(TensorShape(known).concatenate(self.batch_shape).concatenate(self.event_shape))
            return out

    def _in_scope(self, name, function, *args):
        with ops.name_scope(self._name), ops.name_scope(name):
            return function(*args)

    def __getattr__(self, name):
        if name in ("_mean", "_mode", "_variance", "_entropy", "_cdf", "_log_prob", "_sample_n"):
            raise NotImplementedError(f"{name[1:]} is not implemented: {type(self).__name__}")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _value(self, value):
        return ops.convert_to_tensor(value, dtype=self._dtype if not isinstance(value, ops.Tensor) else None, name="value")

    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        return self._in_scope(name, lambda: self._log_prob(self._value(value)))

    def prob(self, value: Any, name: str = "prob") -> Any:
        return self._in_scope(name, lambda: gen_ops.exp(self._log_prob(self._value(value))))

    def cdf(self, value: Any, name: str = "cdf") -> Any:
        return self._in_scope(name, lambda: self._cdf(self._value(value)))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Any:
        return self._in_scope(name, lambda: gen_ops.log(self._cdf(self._value(value))))

    def survival_function(self, value: Any, name: str = "survival_function") -> Any:
        return self._in_scope(name, lambda: 1.0 - self._cdf(self._value(value)))

    def entropy(self, name: str = "entropy") -> Any:
        return self._in_scope(name, self._entropy)

    def mean(self, name: str = "mean") -> Any:
        return self._in_scope(name, self._mean)

    def mode(self, name: str = "mode") -> Any:
        return self._in_scope(name, self._mode)

    def variance(self, name: str = "variance") -> Any:
        return self._in_scope(name, self._variance)

    def stddev(self, name: str = "stddev") -> Any:
        return self._in_scope(name, lambda: math_ops.sqrt(self._variance()))

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> Any:
        return kl_divergence(self, other, name=name)

    def cross_entropy(self, other: Any, name: str = "cross_entropy") -> Any:
        return self.entropy() + kl_divergence(self, other)

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        return type(self)(**{**self._parameters, **override_parameters_kwargs})

    def __str__(self):
        return f"tf.distributions.{type(self).__name__}(\"{self._name}\", batch_shape={self.batch_shape}, " \
               f"event_shape={self.event_shape}, dtype={self._dtype.name})"

    def _shape_of(self, n):
        return array_ops.concat([[n], array_ops.shape(self._batch)], 0)

    def _uniform(self, n, seed, minval=0.0):
        return random_ops.random_uniform(self._shape_of(n), minval=minval, maxval=1.0, dtype=self._dtype, seed=seed)


def RegisterKL(dist_cls_a: Any, dist_cls_b: Any) -> Any:  # pylint: disable=invalid-name
    """Registers a function (a, b, name) that gives KL(a || b)."""
    def register(function):
        if (dist_cls_a, dist_cls_b) in _kl:
            raise ValueError(f"KL({dist_cls_a.__name__} || {dist_cls_b.__name__}) has already been registered")
        _kl[dist_cls_a, dist_cls_b] = function
        return function
    return register


def kl_divergence(distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: Optional[str] = None) -> Tensor:
    """Returns the Kullback-Leibler divergence of two distributions, KL(a || b), for the pairs of classes that are registered."""
    for a in type(distribution_a).__mro__:
        for b in type(distribution_b).__mro__:
            if (a, b) in _kl:
                with ops.name_scope(name, "KullbackLeibler"):
                    return _kl[a, b](distribution_a, distribution_b, name=name)
    raise NotImplementedError(f"No KL(distribution_a || distribution_b) registered for distribution_a type "
                              f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}")


def _tensors(*values):
    """The values as tensors of one float type."""
    dtype = next((v.dtype.base_dtype for v in values if isinstance(v, ops.Tensor) or hasattr(v, "_as_graph_element")), None)
    tensors = [ops.convert_to_tensor(v, dtype=dtype) for v in values]
    if not tensors[0].dtype.is_floating:
        tensors = [math_ops.cast(t, dtypes.float32) for t in tensors]
    return tensors


class Normal(Distribution):
    """The normal distribution with mean `loc` and standard deviation `scale`."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Normal") -> None:
        self.loc, self.scale = _tensors(loc, scale)
        super().__init__(self.loc.dtype, self.loc + self.scale * 0, name, dict(loc=loc, scale=scale, name=name), validate_args,
                         allow_nan_stats)

    def _sample_n(self, n, seed):
        return random_ops.random_normal(self._shape_of(n), dtype=self._dtype, seed=seed) * self.scale + self.loc

    def _log_prob(self, x):
        z = (x - self.loc) / self.scale
        return -0.5 * z * z - (0.5 * math.log(2 * math.pi) + gen_ops.log(self.scale))

    def _cdf(self, x):
        return 0.5 * gen_ops.erfc(-(x - self.loc) / self.scale * math.sqrt(0.5))

    def _entropy(self):
        return 0.5 * math.log(2 * math.pi) + 0.5 + gen_ops.log(self.scale * array_ops.ones_like(self.loc))

    def _mean(self):
        return self.loc * array_ops.ones_like(self.scale)

    _mode = _mean

    def _variance(self):
        return math_ops.square(self.scale * array_ops.ones_like(self.loc))

    def quantile(self, value: Any, name: str = "quantile") -> Any:
        from millstream.ops import plain_ops
        return plain_ops.ndtri(self._value(value)) * self.scale + self.loc


@RegisterKL(Normal, Normal)
def _kl_normal(a, b, name=None):
    ratio = math_ops.square(a.scale / b.scale)
    return math_ops.square(a.loc - b.loc) / (2 * math_ops.square(b.scale)) + 0.5 * (ratio - 1.0 - gen_ops.log(ratio))


class Uniform(Distribution):
    def __init__(self, low: Any = 0., high: Any = 1., validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Uniform") -> None:
        self.low, self.high = _tensors(low, high)
        super().__init__(self.low.dtype, self.low + self.high * 0, name, dict(low=low, high=high, name=name), validate_args,
                         allow_nan_stats)

    def range(self, name: str = "range") -> Any:
        return self.high - self.low

    def _sample_n(self, n, seed):
        return self.low + self.range() * self._uniform(n, seed)

    def _log_prob(self, x):
        inside = gen_ops.logical_and(gen_ops.greater_equal(x, self.low), gen_ops.less(x, self.high))
        density = -gen_ops.log(self.range()) + array_ops.zeros_like(x)
        return index_ops.where(gen_ops.logical_or(inside, gen_ops.is_nan(x)), density,
                               array_ops.fill(array_ops.shape(density), math.inf) * -1.0)

    def _cdf(self, x):
        from millstream.ops.math import clip_ops
        return clip_ops.clip_by_value((x - self.low) / self.range(), 0.0, 1.0)

    def _entropy(self):
        return gen_ops.log(self.range())

    def _mean(self):
        return (self.low + self.high) / 2.0

    def _variance(self):
        return math_ops.square(self.range()) / 12.0


class _Logits(Distribution):
    reparameterization_type = NOT_REPARAMETERIZED

    def _both(self, logits, probs, to_logits, to_probs):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if logits is not None:
            self.logits, = _tensors(logits)
            self.probs = to_probs(self.logits)
        else:
            self.probs, = _tensors(probs)
            self.logits = to_logits(self.probs)


class Bernoulli(_Logits):
    def __init__(self, logits: Any = None, probs: Any = None, dtype: DTypeLike = dtypes.int32, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "Bernoulli") -> None:
        self._both(logits, probs, lambda p: gen_ops.log(p) - gen_ops.log1p(-p), math_ops.sigmoid)
        super().__init__(dtype, self.logits, name, dict(logits=logits, probs=probs, dtype=dtype, name=name), validate_args,
                         allow_nan_stats)

    def _sample_n(self, n, seed):
        uniform = random_ops.random_uniform(self._shape_of(n), seed=seed, dtype=self.probs.dtype)
        return math_ops.cast(gen_ops.less(uniform, self.probs), self._dtype)

    def _log_prob(self, x):
        x = math_ops.cast(x, self.logits.dtype)
        zeros = array_ops.zeros_like(x + self.logits)
        return -nn_ops.sigmoid_cross_entropy_with_logits(labels=x + zeros, logits=self.logits + zeros)

    def _entropy(self):
        return -self.logits * (math_ops.sigmoid(self.logits) - 1) + gen_ops.softplus(-self.logits)

    def _mean(self):
        return array_ops.identity(self.probs)

    def _variance(self):
        return self.probs * (1.0 - self.probs)

    def _mode(self):
        return math_ops.cast(self.probs > 0.5, self._dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli(a, b, name=None):
    one = gen_ops.softplus(-b.logits) - gen_ops.softplus(-a.logits)
    zero = gen_ops.softplus(b.logits) - gen_ops.softplus(a.logits)
    return math_ops.sigmoid(a.logits) * one + math_ops.sigmoid(-a.logits) * zero


class Categorical(_Logits):
    def __init__(self, logits: Any = None, probs: Any = None, dtype: DTypeLike = dtypes.int32, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "Categorical") -> None:
        self._both(logits, probs, gen_ops.log, nn_ops.softmax)
        super().__init__(dtype, self.logits[..., 0], name, dict(logits=logits, probs=probs, dtype=dtype, name=name),
                         validate_args, allow_nan_stats)

    event_size = property(lambda self: array_ops.shape(self.logits)[-1])

    def _sample_n(self, n, seed):
        flat = self.logits if self.logits.shape.rank == 2 else array_ops.reshape(self.logits, [-1, self.event_size])
        draws = random_ops.multinomial(flat, n, seed=seed, output_dtype=dtypes.int64)
        return math_ops.cast(array_ops.reshape(array_ops.transpose(draws), self._shape_of(n)), self._dtype)

    def _log_prob(self, k):
        k = math_ops.cast(k, dtypes.int32)
        logits = self.logits
        if k.shape.rank != self._batch.shape.rank or k.shape.rank is None or k.shape.as_list() != self._batch.shape.as_list():
            logits = logits * array_ops.ones_like(array_ops.expand_dims(math_ops.cast(k, logits.dtype), -1))
            k = k * array_ops.ones(array_ops.shape(logits)[:-1], dtypes.int32)
        return -nn_ops.sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _entropy(self):
        return -reduce_ops.reduce_sum(nn_ops.log_softmax(self.logits) * nn_ops.softmax(self.logits), axis=-1)

    def _cdf(self, k):
        below = index_ops.sequence_mask(math_ops.cast(k, dtypes.int32), self.event_size, dtype=self.probs.dtype)
        return reduce_ops.reduce_sum(self.probs * below, axis=-1)

    def _mode(self):
        return math_ops.cast(math_ops.argmax(self.logits, axis=-1), self._dtype)


@RegisterKL(Categorical, Categorical)
def _kl_categorical(a, b, name=None):
    delta = nn_ops.log_softmax(a.logits) - nn_ops.log_softmax(b.logits)
    return reduce_ops.reduce_sum(nn_ops.softmax(a.logits) * delta, axis=-1)


class OneHotCategorical(Categorical):
    _event_rank = 1

    def __init__(self, logits: Any = None, probs: Any = None, dtype: DTypeLike = dtypes.int32, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "OneHotCategorical") -> None:
        super().__init__(logits, probs, dtype, validate_args, allow_nan_stats, name)
        self._batch = self.logits

    def _sample_n(self, n, seed):
        flat = array_ops.reshape(self.logits, [-1, self.event_size])
        draws = array_ops.transpose(random_ops.multinomial(flat, n, seed=seed))
        hot = index_ops.one_hot(draws, self.event_size, dtype=self._dtype)
        return array_ops.reshape(hot, self._shape_of(n))

    def _log_prob(self, x):
        return reduce_ops.reduce_sum(math_ops.cast(x, self.logits.dtype) * nn_ops.log_softmax(self.logits), -1)

    def _mode(self):
        return index_ops.one_hot(math_ops.argmax(self.logits, -1), self.event_size, dtype=self._dtype)


class Laplace(Distribution):
    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Laplace") -> None:
        self.loc, self.scale = _tensors(loc, scale)
        super().__init__(self.loc.dtype, self.loc + self.scale * 0, name, dict(loc=loc, scale=scale, name=name), validate_args,
                         allow_nan_stats)

    def _sample_n(self, n, seed):
        import numpy as np
        smallest = np.nextafter(self._dtype.as_numpy_dtype(-1.), self._dtype.as_numpy_dtype(0.))
        u = self._uniform(n, seed, minval=smallest)
        return self.loc - self.scale * math_ops.sign(u) * gen_ops.log1p(-math_ops.abs(u))

    def _log_prob(self, x):
        return -math_ops.abs((x - self.loc) / self.scale) - math.log(2.0) - gen_ops.log(self.scale)

    def _cdf(self, x):
        z = (x - self.loc) / self.scale
        return 0.5 + 0.5 * math_ops.sign(z) * (1.0 - gen_ops.exp(-math_ops.abs(z)))

    def _mean(self):
        return self.loc + array_ops.zeros_like(self.scale)

    _mode = _mean

    def _variance(self):
        return 2.0 * math_ops.square(self.scale) + array_ops.zeros_like(self.loc)

    def _entropy(self):
        return math.log(2.0) + 1 + gen_ops.log(self.scale) + array_ops.zeros_like(self.loc)


class MultivariateNormalDiag(Normal):
    """Independent normals, whose last axis is one event."""

    _event_rank = 1

    def __init__(self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None,
                 validate_args: bool = False, allow_nan_stats: bool = True, name: str = "MultivariateNormalDiag") -> None:
        if scale_diag is None:
            scale_diag = array_ops.ones_like(ops.convert_to_tensor(loc))
        if scale_identity_multiplier is not None:
            scale_diag = scale_diag * scale_identity_multiplier
        if loc is None:
            loc = array_ops.zeros_like(ops.convert_to_tensor(scale_diag))
        super().__init__(loc, scale_diag, validate_args, allow_nan_stats, name)
        self._parameters = dict(loc=loc, scale_diag=scale_diag, name=name)

    def _log_prob(self, x):
        return reduce_ops.reduce_sum(super()._log_prob(x), -1)

    def _entropy(self):
        return reduce_ops.reduce_sum(super()._entropy(), -1)


@RegisterKL(MultivariateNormalDiag, MultivariateNormalDiag)
def _kl_diag(a, b, name=None):
    return reduce_ops.reduce_sum(_kl_normal(a, b), -1)
