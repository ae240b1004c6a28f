# SPDX-License-Identifier: Apache-2.0
"""tf.distributions of positive numbers, of shares and of counts."""
from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops, index_ops
from millstream.ops.flow import functional_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import nn_ops
from millstream.ops.random import random_ops
from millstream.ops.random.distributions import NOT_REPARAMETERIZED, Distribution, RegisterKL, _tensors

if TYPE_CHECKING:
    from typing import Any


def _further_seed(seed, salt):
    """A seed for the second generator of a distribution, as TensorFlow makes it; None stays None."""
    if seed is None:
        return None
    return int(hashlib.md5((str(seed) + salt).encode()).hexdigest()[:8], 16) & 0x7FFFFFFF


def _where_defined(self, defined, value, message):
    """`value` where it is defined; elsewhere NaN, or an error if NaNs are not wanted."""
    if not self.allow_nan_stats:
        from millstream.ops.debugging import check_ops
        from millstream.ops.flow import control_flow_ops
        return control_flow_ops.with_dependencies([check_ops.assert_equal(defined, True, message=message)], value)
    return index_ops.where(gen_ops.broadcast_to(defined, array_ops.shape(value)), value,
                           array_ops.fill(array_ops.shape(value), math_ops.cast(math.nan, value.dtype)))


class Gamma(Distribution):
    def __init__(self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Gamma") -> None:
        self.concentration, self.rate = _tensors(concentration, rate)
        super().__init__(self.concentration.dtype, self.concentration + self.rate * 0, name,
                         dict(concentration=concentration, rate=rate, name=name), validate_args, allow_nan_stats)

    def _sample_n(self, n, seed):
        return random_ops.random_gamma(array_ops.reshape(n, [1]), self.concentration, self.rate, dtype=self._dtype, seed=seed)

    def _log_prob(self, x):
        return gen_ops.xlogy(self.concentration - 1.0, x) - self.rate * x - self._log_normalization()

    def _log_normalization(self):
        return gen_ops.lgamma(self.concentration) - self.concentration * gen_ops.log(self.rate)

    def _cdf(self, x):
        return gen_ops.igamma(self.concentration + self.rate * 0, self.rate * x)

    def _entropy(self):
        a = self.concentration
        return a - gen_ops.log(self.rate) + gen_ops.lgamma(a) + (1.0 - a) * gen_ops.digamma(a)

    def _mean(self):
        return self.concentration / self.rate

    def _variance(self):
        return self.concentration / math_ops.square(self.rate)

    def _stddev(self):
        return math_ops.sqrt(self.concentration) / self.rate

    def _mode(self):
        return _where_defined(self, self.concentration > 1.0, (self.concentration - 1.0) / self.rate,
                              "mode not defined when any concentration <= 1")


@RegisterKL(Gamma, Gamma)
def _kl_gamma(a, b, name=None):
    return ((a.concentration - b.concentration) * gen_ops.digamma(a.concentration) + gen_ops.lgamma(b.concentration) -
            gen_ops.lgamma(a.concentration) + b.concentration * gen_ops.log(a.rate) - b.concentration * gen_ops.log(b.rate) +
            a.concentration * (b.rate / a.rate - 1.0))


class Exponential(Gamma):
    def __init__(self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential") -> None:
        rate_tensor, = _tensors(rate)
        super().__init__(array_ops.ones_like(rate_tensor), rate_tensor, validate_args, allow_nan_stats, name)
        self._parameters = dict(rate=rate, name=name)

    def _sample_n(self, n, seed):
        import numpy as np
        return -gen_ops.log(self._uniform(n, seed, minval=np.finfo(self._dtype.as_numpy_dtype).tiny)) / self.rate


class Beta(Distribution):
    def __init__(self, concentration1: Any = None, concentration0: Any = None, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "Beta") -> None:
        self.concentration1, self.concentration0 = _tensors(concentration1, concentration0)
        self.total_concentration = self.concentration1 + self.concentration0
        super().__init__(self.concentration1.dtype, self.total_concentration, name,
                         dict(concentration1=concentration1, concentration0=concentration0, name=name), validate_args, allow_nan_stats)

    def _sample_n(self, n, seed):
        ones, shape = array_ops.ones_like(self.total_concentration), array_ops.reshape(n, [1])
        one = random_ops.random_gamma(shape, self.concentration1 * ones, dtype=self._dtype, seed=seed)
        zero = random_ops.random_gamma(shape, self.concentration0 * ones, dtype=self._dtype, seed=_further_seed(seed, "beta"))
        return one / (one + zero)

    def _log_normalization(self):
        return gen_ops.lgamma(self.concentration1) + gen_ops.lgamma(self.concentration0) - gen_ops.lgamma(self.total_concentration)

    def _log_prob(self, x):
        return (gen_ops.xlogy(self.concentration1 - 1.0, x) + (self.concentration0 - 1.0) * gen_ops.log1p(-x) -
                self._log_normalization())

    def _cdf(self, x):
        ones = array_ops.ones_like(self.total_concentration * x)
        return gen_ops.betainc(self.concentration1 * ones, self.concentration0 * ones, x * ones)

    def _entropy(self):
        return (self._log_normalization() - (self.concentration1 - 1.0) * gen_ops.digamma(self.concentration1) -
                (self.concentration0 - 1.0) * gen_ops.digamma(self.concentration0) +
                (self.total_concentration - 2.0) * gen_ops.digamma(self.total_concentration))

    def _mean(self):
        return self.concentration1 / self.total_concentration

    def _variance(self):
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self):
        defined = gen_ops.logical_and(self.concentration1 > 1.0, self.concentration0 > 1.0)
        return _where_defined(self, defined, (self.concentration1 - 1.0) / (self.total_concentration - 2.0),
                              "Mode undefined for concentration1 <= 1 or concentration0 <= 1.")


@RegisterKL(Beta, Beta)
def _kl_beta(a, b, name=None):
    def change(which):
        return gen_ops.digamma(getattr(a, which)) * (getattr(b, which) - getattr(a, which))
    total = gen_ops.digamma(a.total_concentration) * (b.total_concentration - a.total_concentration)
    return b._log_normalization() - a._log_normalization() - change("concentration1") - change("concentration0") + total


class StudentT(Distribution):
    def __init__(self, df: Any, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "StudentT") -> None:
        self.df, self.loc, self.scale = _tensors(df, loc, scale)
        super().__init__(self.df.dtype, self.df * 0 + self.loc + self.scale * 0, name, dict(df=df, loc=loc, scale=scale, name=name),
                         validate_args, allow_nan_stats)

    def _sample_n(self, n, seed):
        normal = random_ops.random_normal(self._shape_of(n), dtype=self._dtype, seed=seed)
        df = self.df * array_ops.ones_like(self._batch)
        gamma = random_ops.random_gamma(array_ops.reshape(n, [1]), 0.5 * df, beta=0.5, dtype=self._dtype,
                                        seed=_further_seed(seed, "student_t"))
        return normal * gen_ops.rsqrt(gamma / df) * self.scale + self.loc

    def _log_prob(self, x):
        z = (x - self.loc) / self.scale
        normalization = (gen_ops.log(math_ops.abs(self.scale)) + 0.5 * gen_ops.log(self.df) + 0.5 * math.log(math.pi) +
                         gen_ops.lgamma(0.5 * self.df) - gen_ops.lgamma(0.5 * (self.df + 1.0)))
        return -0.5 * (self.df + 1.0) * gen_ops.log1p(z * z / self.df) - normalization

    def _cdf(self, x):
        z = (x - self.loc) / math_ops.abs(self.scale)
        ones = array_ops.ones_like(z * self.df)
        tail = 0.5 * gen_ops.betainc(0.5 * self.df * ones, 0.5 * ones, self.df * ones / (z * z + self.df))
        return index_ops.where(gen_ops.less(z * ones, 0.0), tail, 1.0 - tail)

    def _entropy(self):
        half, more = 0.5 * self.df, 0.5 * (self.df + 1.0)
        beta = gen_ops.lgamma(half) + math.lgamma(0.5) - gen_ops.lgamma(half + 0.5)
        return (gen_ops.log(math_ops.abs(self.scale)) + 0.5 * gen_ops.log(self.df) + beta +
                more * (gen_ops.digamma(more) - gen_ops.digamma(half))) + self._batch * 0

    def _mean(self):
        mean = self.loc * array_ops.ones_like(self._batch)
        return _where_defined(self, self.df * array_ops.ones_like(mean) > 1.0, mean, "mean not defined for components of df <= 1")

    def _variance(self):
        df = self.df * array_ops.ones_like(self._batch)
        safe = index_ops.where(df > 2.0, df - 2.0, array_ops.ones_like(df))
        variance = index_ops.where(df > 2.0, math_ops.square(self.scale) * df / safe, array_ops.ones_like(df) * math.inf)
        return _where_defined(self, df > 1.0, variance, "variance not defined for components of df <= 1")

    def _mode(self):
        return self.loc * array_ops.ones_like(self._batch)


class Dirichlet(Distribution):
    _event_rank = 1

    def __init__(self, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Dirichlet") -> None:
        self.concentration, = _tensors(concentration)
        self.total_concentration = reduce_ops.reduce_sum(self.concentration, -1)
        super().__init__(self.concentration.dtype, self.concentration, name, dict(concentration=concentration, name=name),
                         validate_args, allow_nan_stats)

    def _sample_n(self, n, seed):
        gamma = random_ops.random_gamma(array_ops.reshape(n, [1]), self.concentration, dtype=self._dtype, seed=seed)
        return gamma / reduce_ops.reduce_sum(gamma, -1, keepdims=True)

    def _log_prob(self, x):
        return reduce_ops.reduce_sum(gen_ops.xlogy(self.concentration - 1.0, x), -1) - math_ops.lbeta(self.concentration)

    def _entropy(self):
        k = math_ops.cast(array_ops.shape(self.concentration)[-1], self._dtype)
        return (math_ops.lbeta(self.concentration) + (self.total_concentration - k) * gen_ops.digamma(self.total_concentration) -
                reduce_ops.reduce_sum((self.concentration - 1.0) * gen_ops.digamma(self.concentration), -1))

    def _mean(self):
        return self.concentration / self.total_concentration[..., None]

    def _variance(self):
        total = self.total_concentration[..., None]
        return self._mean() / math_ops.sqrt(1.0 + total) * ((total - self.concentration) / (total * math_ops.sqrt(1.0 + total)))

    def _mode(self):
        k = math_ops.cast(array_ops.shape(self.concentration)[-1], self._dtype)
        mode = (self.concentration - 1.0) / (self.total_concentration[..., None] - k)
        return _where_defined(self, reduce_ops.reduce_all(self.concentration > 1.0, axis=-1, keepdims=True), mode,
                              "Mode undefined when any concentration <= 1")


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet(a, b, name=None):
    digamma = gen_ops.digamma(a.concentration) - gen_ops.digamma(a.total_concentration)[..., None]
    change = reduce_ops.reduce_sum((a.concentration - b.concentration) * digamma, -1)
    return change - math_ops.lbeta(a.concentration) + math_ops.lbeta(b.concentration)


class _Counts(Distribution):
    """Of vectors of counts that sum up to total_count."""

    reparameterization_type = NOT_REPARAMETERIZED
    _event_rank = 1

    def _log_combinations(self, counts):
        return gen_ops.lgamma(self.total_count + 1.0) - reduce_ops.reduce_sum(gen_ops.lgamma(counts + 1.0), -1)


class Multinomial(_Counts):
    def __init__(self, total_count, logits=None, probs=None, validate_args=False, allow_nan_stats=True, name="Multinomial"):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        given, = _tensors(probs if logits is None else logits)
        self.logits, self.probs = (given, nn_ops.softmax(given)) if logits is not None else (gen_ops.log(given), given)
        self.total_count = ops.convert_to_tensor(total_count, dtype=None if isinstance(total_count, ops.Tensor) else given.dtype)
        super().__init__(given.dtype, self.total_count[..., None] * self.probs, name,
                         dict(total_count=total_count, logits=logits, probs=probs, name=name), validate_args, allow_nan_stats)

    def _sample_n(self, n, seed):
        k = array_ops.shape(self._batch)[-1]
        logits = array_ops.reshape(self.logits + self._batch * 0, [-1, k])
        draws = math_ops.cast(self.total_count + self._batch[..., 0] * 0, dtypes.int32)

        def one(args):
            drawn = random_ops.multinomial(args[0][None], args[1], seed=seed)
            return reduce_ops.reduce_sum(index_ops.one_hot(array_ops.reshape(drawn, [n, -1]), k, dtype=self._dtype), axis=-2)
        counts = functional_ops.map_fn(one, [logits, n * array_ops.reshape(draws, [-1])], dtype=self._dtype)
        return array_ops.reshape(array_ops.transpose(counts, [1, 0, 2]), self._shape_of(n))

    def _log_prob(self, counts):
        return reduce_ops.reduce_sum(counts * nn_ops.log_softmax(self.logits), -1) + self._log_combinations(counts)

    def _mean(self):
        return array_ops.identity(self._batch)

    def _variance(self):
        return self._batch * (1.0 - self.probs)


class DirichletMultinomial(_Counts):
    def __init__(self, total_count: Any, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "DirichletMultinomial") -> None:
        self.concentration, = _tensors(concentration)
        self.total_count = ops.convert_to_tensor(total_count, dtype=None if isinstance(total_count, ops.Tensor) else
                                                 self.concentration.dtype)
        self.total_concentration = reduce_ops.reduce_sum(self.concentration, -1)
        super().__init__(self.concentration.dtype, self.concentration, name,
                         dict(total_count=total_count, concentration=concentration, name=name), validate_args, allow_nan_stats)

    def _sample_n(self, n, seed):
        k = array_ops.shape(self.concentration)[-1]
        gamma = random_ops.random_gamma(array_ops.reshape(n, [1]), self.concentration, dtype=self._dtype, seed=seed)
        drawn = random_ops.multinomial(array_ops.reshape(gen_ops.log(gamma), [-1, k]), math_ops.cast(self.total_count, dtypes.int32),
                                       seed=_further_seed(seed, "dirichlet_multinomial"))
        counts = reduce_ops.reduce_sum(index_ops.one_hot(drawn, k, dtype=self._dtype), -2)
        return array_ops.reshape(counts, self._shape_of(n))

    def _log_prob(self, counts):
        return math_ops.lbeta(self.concentration + counts) - math_ops.lbeta(self.concentration) + self._log_combinations(counts)

    def _mean(self):
        return self.total_count[..., None] * self.concentration / self.total_concentration[..., None]

    def _variance(self):
        total, n = self.total_concentration[..., None], self.total_count[..., None]
        mean = self._mean()
        return mean * (n - mean) / n * (total + n) / (1.0 + total)
