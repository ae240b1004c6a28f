# SPDX-License-Identifier: Apache-2.0
"""tf.math.special and single ops that few programs use."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import index_ops
from millstream.ops.math import math_ops, reduce_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, ShapeLike, TensorLike


def _of_x(op_name):
    def function(x, name=None):
        return getattr(gen_ops, op_name)(ops.convert_to_tensor(x, name="x"), name=name)
    function.__name__ = function.__qualname__ = op_name
    return function


bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, bessel_j0, bessel_j1, bessel_k0, bessel_k0e, bessel_k1, bessel_k1e, bessel_y0, bessel_y1 = map(
    _of_x, ("bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k0e", "bessel_k1",
            "bessel_k1e", "bessel_y0", "bessel_y1"))
dawsn, expint, fresnel_cos, fresnel_sin, spence = map(_of_x, ("dawsn", "expint", "fresnel_cos", "fresnel_sin", "spence"))


def erfcinv(x: TensorLike, name: Optional[str] = None) -> Any:
    """The inverse of erfc."""
    with ops.name_scope(name, "erfcinv"):
        x = ops.convert_to_tensor(x, name="start")
        return -gen_ops.ndtri(0.5 * x) * math_ops.cast(0.5 ** 0.5, x.dtype)


def stateless_categorical(logits: TensorLike, num_samples: Any, seed: int, dtype: DTypeLike = dtypes.int64,
                          name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "stateless_categorical"):
        return gen_ops.stateless_multinomial(ops.convert_to_tensor(logits, name="logits"), num_samples, seed, output_dtype=dtype)


def stateless_multinomial(logits: TensorLike, num_samples: Any, seed: int, output_dtype: Any = dtypes.int64,
                          name: Optional[str] = None) -> Any:
    return stateless_categorical(logits, num_samples, seed, output_dtype, name)


def stateless_binomial(shape: ShapeLike, seed: int, counts: Any, probs: Any, output_dtype: Any = dtypes.int32,
                       name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "stateless_random_binomial"):
        probs = ops.convert_to_tensor(probs, name="probs")
        counts = math_ops.cast(ops.convert_to_tensor(counts, name="counts"), probs.dtype)
        return gen_ops.stateless_random_binomial(shape, seed, counts, probs, dtype=output_dtype)


def stateless_gamma(shape: ShapeLike, seed: int, alpha: Any, beta: Any = None, dtype: DTypeLike = dtypes.float32,
                    name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "stateless_random_gamma"):
        shape = ops.convert_to_tensor(shape, dtype=dtypes.int32, name="shape")
        alpha = ops.convert_to_tensor(alpha, dtype=dtype, name="alpha")
        beta = ops.convert_to_tensor(1 if beta is None else beta, dtype=dtype, name="beta")
        both = gen_ops.broadcast_args(gen_ops.shape(alpha), gen_ops.shape(beta))
        drawn = gen_ops.stateless_random_gamma_v2(shape, seed, gen_ops.broadcast_to(alpha, both))
        import numpy as np
        return gen_ops.maximum(np.finfo(drawn.dtype.as_numpy_dtype).tiny, drawn / beta)


def stateless_poisson(shape: ShapeLike, seed: int, lam: Any, dtype: DTypeLike = dtypes.int32,
                      name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "stateless_random_poisson"):
        lam = ops.convert_to_tensor(lam, name="lam")
        return gen_ops.stateless_random_poisson(ops.convert_to_tensor(shape, dtype=dtypes.int32), seed, lam, dtype=dtype)


def _fractional(gen_name):
    def pool(value, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False, seed=0, seed2=0, name=None):
        return getattr(gen_ops, gen_name)(value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random, overlapping=overlapping,
                                          deterministic=deterministic, seed=seed, seed2=seed2, name=name)
    pool.__name__ = pool.__qualname__ = gen_name
    return pool


fractional_max_pool, fractional_avg_pool = _fractional("fractional_max_pool"), _fractional("fractional_avg_pool")


def collapse_repeated(labels: TensorLike, seq_length: Any, name: Optional[str] = None) -> Any:
    """(labels without repetitions, padded with zeros; their lengths)."""
    from millstream.ops.array import array_ops
    with ops.name_scope(name, "collapse_repeated_labels"):
        labels, seq_length = ops.convert_to_tensor(labels), ops.convert_to_tensor(seq_length)
        first = array_ops.concat([array_ops.ones_like(labels[:, :1], dtypes.bool), gen_ops.not_equal(labels[:, 1:], labels[:, :-1])], 1)
        kept = gen_ops.logical_and(first, index_ops.sequence_mask(seq_length, array_ops.shape(labels)[1]))
        lengths = reduce_ops.reduce_sum(math_ops.cast(kept, dtypes.int32), axis=1)
        longest = reduce_ops.reduce_max(lengths)
        rows, cols = array_ops.shape(labels)[0], index_ops.where(index_ops.sequence_mask(lengths, longest))
        values = index_ops.boolean_mask(labels, kept)
        out = gen_ops.scatter_nd(math_ops.cast(cols, dtypes.int32), values, array_ops.stack([rows, longest]))
        return out, math_ops.cast(lengths, seq_length.dtype)


def fingerprint(data: Any, method: str = "farmhash64", name: Optional[str] = None) -> Any:
    return gen_ops.fingerprint(data, method, name=name)


def extract_volume_patches(input: Any, ksizes: Any, strides: Any, padding: Any, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.extract_volume_patches(input, ksizes=ksizes, strides=strides, padding=padding, name=name)


def decode_compressed(bytes: Any, compression_type: str = "", name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.decode_compressed(bytes, compression_type=compression_type, name=name)


def tensor_scatter_nd_max(tensor: TensorLike, indices: Any, updates: Any, name: Optional[str] = None) -> Any:
    return gen_ops.tensor_scatter_max(tensor, indices, updates, name=name)


def tensor_scatter_nd_min(tensor: TensorLike, indices: Any, updates: Any, name: Optional[str] = None) -> Any:
    return gen_ops.tensor_scatter_min(tensor, indices, updates, name=name)


def sobol_sample(dim: Any, num_results: Any, skip: Any = 0, dtype: DTypeLike = dtypes.float32,
                 name: Optional[str] = None) -> Any:
    """Points of the Sobol sequence: [num_results, dim] numbers between 0 and 1."""
    with ops.name_scope(name, "sobol", [dim, num_results, skip]):
        return gen_ops.sobol_sample(dim, num_results, skip, dtype=dtype)
