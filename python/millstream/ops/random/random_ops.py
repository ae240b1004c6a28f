# SPDX-License-Identifier: Apache-2.0
"""Random tensors: tf.random_normal, tf.random_uniform, ..."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.framework.tensor_shape import Dimension, TensorShape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike, ShapeLike, TensorLike


def _seeds(seed):
    from millstream.framework import random_seed
    one, two = random_seed.get_seed(seed)
    return {"seed": one or 0, "seed2": two or 0}


def shape_tensor(shape):
    """A shape in any form as a tensor."""
    dtype = None
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    if isinstance(shape, (list, tuple)):
        shape = [d.value if isinstance(d, Dimension) else d for d in shape]
        if not shape or all(isinstance(d, (int, np.integer)) for d in shape):
            dtype = dtypes.int32
    return ops.convert_to_tensor(shape, dtype=dtype, name="shape")


def random_normal(shape: ShapeLike, mean: Any = 0.0, stddev: Any = 1.0, dtype: DTypeLike = dtypes.float32,
                  seed: Optional[int] = None, name: Optional[str] = None) -> Tensor:
    """Numbers from a normal distribution."""
    with ops.name_scope(name, "random_normal", [shape, mean, stddev]) as name:
        shape = shape_tensor(shape)
        mean = ops.convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = ops.convert_to_tensor(stddev, dtype=dtype, name="stddev")
        values = gen_ops.random_standard_normal(shape, dtype=dtype, **_seeds(seed))
        return gen_ops.add_v2(values * stddev, mean, name=name)


def truncated_normal(shape: ShapeLike, mean: Any = 0.0, stddev: Any = 1.0, dtype: DTypeLike = dtypes.float32,
                     seed: Optional[int] = None, name: Optional[str] = None) -> Tensor:
    """Normally distributed numbers; those beyond two standard deviations are drawn again."""
    with ops.name_scope(name, "truncated_normal", [shape, mean, stddev]) as name:
        shape = shape_tensor(shape)
        mean = ops.convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = ops.convert_to_tensor(stddev, dtype=dtype, name="stddev")
        values = gen_ops.truncated_normal(shape, dtype=dtype, **_seeds(seed))
        return gen_ops.add_v2(values * stddev, mean, name=name)


def random_uniform(shape: ShapeLike, minval: Any = 0, maxval: Any = None, dtype: DTypeLike = dtypes.float32,
                   seed: Optional[int] = None, name: Optional[str] = None) -> Tensor:
    """Numbers from `minval` up to, without, `maxval`."""
    dtype = dtypes.as_dtype(dtype)
    if dtype not in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64):
        raise ValueError(f"Argument `dtype` got invalid value {dtype!r}.")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with ops.name_scope(name, "random_uniform", [shape, minval, maxval]) as name:
        shape = shape_tensor(shape)
        if dtype.is_integer:
            minval = ops.convert_to_tensor(minval, dtype=dtype, name="min")
            maxval = ops.convert_to_tensor(maxval, dtype=dtype, name="max")
            return gen_ops.random_uniform_int(shape, minval, maxval, **_seeds(seed), name=name)
        unit = not ops.is_dense_tensor_like(minval) and not ops.is_dense_tensor_like(maxval) and (
            np.ndim(minval) == 0 and np.ndim(maxval) == 0 and minval == 0 and maxval == 1)
        if unit:
            return gen_ops.random_uniform(shape, dtype=dtype, **_seeds(seed))
        minval = ops.convert_to_tensor(minval, dtype=dtype, name="min")
        maxval = ops.convert_to_tensor(maxval, dtype=dtype, name="max")
        values = gen_ops.random_uniform(shape, dtype=dtype, **_seeds(seed))
        return gen_ops.add_v2(values * (maxval - minval), minval, name=name)


def random_shuffle(value: Any, seed: Optional[int] = None, name: Optional[str] = None) -> Tensor:
    """Shuffles along the first dimension."""
    return gen_ops.random_shuffle(value, **_seeds(seed), name=name)


def random_crop(value: Any, size: Any, seed: Optional[int] = None, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "random_crop", [value, size]) as name:
        from millstream.ops.array import array_ops
        from millstream.ops.debugging import check_ops
        value = ops.convert_to_tensor(value, name="value")
        size = ops.convert_to_tensor(size, dtype=dtypes.int32, name="size")
        shape = array_ops.shape(value)
        check = check_ops.Assert(gen_ops.all(gen_ops.greater_equal(shape, size), 0),
                                 ["Need value.shape >= size, got ", shape, size], summarize=1000)
        with ops.control_dependencies([check]):
            shape = gen_ops.identity(shape)
        limit = shape - size + 1
        offset = gen_ops.floor_mod(random_uniform(array_ops.shape(shape), dtype=size.dtype, maxval=size.dtype.max,
                                                  seed=seed),
                                   limit)
        return array_ops.slice(value, offset, size, name=name)


def multinomial(logits: TensorLike, num_samples: Any, seed: Optional[int] = None, name: Optional[str] = None,
                output_dtype: Any = None) -> Tensor:
    with ops.name_scope(name, "multinomial", [logits]):
        return _categorical(logits, num_samples, output_dtype, seed)


def categorical(logits: TensorLike, num_samples: Any, dtype: Optional[DTypeLike] = None, seed: Optional[int] = None,
                name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "categorical", [logits]):
        return _categorical(logits, num_samples, dtype, seed)


def _categorical(logits, num_samples, dtype, seed):
    logits = ops.convert_to_tensor(logits, name="logits")
    return gen_ops.multinomial(logits, num_samples, output_dtype=dtype or dtypes.int64, **_seeds(seed))


def random_gamma(shape: ShapeLike, alpha: Any, beta: Any = None, dtype: DTypeLike = dtypes.float32, seed: Optional[int] = None,
                 name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "random_gamma", [shape, alpha, beta]):
        from millstream.ops.array import array_ops
        shape = ops.convert_to_tensor(shape, name="shape", dtype=dtypes.int32)
        alpha = ops.convert_to_tensor(alpha, name="alpha", dtype=dtype)
        beta = ops.convert_to_tensor(1 if beta is None else beta, name="beta", dtype=dtype)
        whole = gen_ops.broadcast_args(array_ops.shape(alpha), array_ops.shape(beta))
        drawn = gen_ops.random_gamma(shape, gen_ops.broadcast_to(alpha, whole), **_seeds(seed))
        return gen_ops.maximum(np.finfo(alpha.dtype.as_numpy_dtype).tiny, drawn / beta)


def random_poisson(lam: Any, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, seed: Optional[int] = None,
                   name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "random_poisson", [lam, shape]):
        shape = ops.convert_to_tensor(shape, name="shape", dtype=dtypes.int32)
        return gen_ops.random_poisson_v2(shape, lam, dtype=dtype, **_seeds(seed))


def stateless_random_uniform(shape: ShapeLike, seed: int, minval: Any = 0, maxval: Any = None,
                             dtype: DTypeLike = dtypes.float32, name: Optional[str] = None) -> Tensor:
    dtype = dtypes.as_dtype(dtype)
    maxval = 1 if maxval is None else maxval
    with ops.name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as name:
        shape = shape_tensor(shape)
        minval = ops.convert_to_tensor(minval, dtype=dtype, name="min")
        maxval = ops.convert_to_tensor(maxval, dtype=dtype, name="max")
        if dtype.is_integer:
            return gen_ops.stateless_random_uniform_int(shape, seed, minval, maxval, name=name)
        values = gen_ops.stateless_random_uniform(shape, seed, dtype=dtype)
        return gen_ops.add_v2(values * (maxval - minval), minval, name=name)


def _stateless_normal(gen_name, default):
    def draw(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        with ops.name_scope(name, default, [shape, seed, mean, stddev]) as name:
            shape = shape_tensor(shape)
            mean = ops.convert_to_tensor(mean, dtype=dtype, name="mean")
            stddev = ops.convert_to_tensor(stddev, dtype=dtype, name="stddev")
            values = getattr(gen_ops, gen_name)(shape, seed, dtype=dtype)
            return gen_ops.add_v2(values * stddev, mean, name=name)
    return draw


stateless_random_normal = _stateless_normal("stateless_random_normal", "stateless_random_normal")
stateless_truncated_normal = _stateless_normal("stateless_truncated_normal", "stateless_truncated_normal")
