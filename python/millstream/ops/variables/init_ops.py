# SPDX-License-Identifier: Apache-2.0
"""Initializers: callables (shape, dtype, partition_info) -> tensor."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops, tensor_shape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike


def _seeds(seed):
    from millstream.framework import random_seed
    return random_seed.get_seed(seed)


def _shape_list(shape):
    return tensor_shape.TensorShape(shape).as_list() if not isinstance(shape, ops.Tensor) else shape


def _random(gen, shape, dtype, seed, scope_name, transform):
    """Nodes as tf.random_* make them: shape, the raw op, mean/stddev (or min/max) around it."""
    with ops.name_scope(None, scope_name) as name:
        shape_tensor = ops.convert_to_tensor(np.array(shape, np.int32) if not isinstance(shape, ops.Tensor) else shape,
                                             name="shape")
        a, b = transform[0](), transform[1]()
        seed1, seed2 = _seeds(seed)
        raw = gen(shape_tensor, dtype=dtype, seed=0 if seed1 is None else seed1, seed2=0 if seed2 is None else seed2)
        return transform[2](raw, a, b, name)


def _affine_normal(mean, stddev, dtype):
    return (lambda: ops.convert_to_tensor(mean, dtype=dtype, name="mean"),
            lambda: ops.convert_to_tensor(stddev, dtype=dtype, name="stddev"),
            lambda raw, m, s, name: gen_ops.add_v2(gen_ops.mul(raw, s, name="mul"), m, name=name))


def random_normal(shape, mean, stddev, dtype, seed):
    return _random(gen_ops.random_standard_normal, shape, dtype, seed, "random_normal", _affine_normal(mean, stddev, dtype))


def truncated_normal(shape, mean, stddev, dtype, seed):
    return _random(gen_ops.truncated_normal, shape, dtype, seed, "truncated_normal", _affine_normal(mean, stddev, dtype))


def random_uniform(shape, minval, maxval, dtype, seed):
    dtype = dtypes.as_dtype(dtype)
    if dtype.is_integer:
        with ops.name_scope(None, "random_uniform") as name:
            seed1, seed2 = _seeds(seed)
            return gen_ops.random_uniform_int(ops.convert_to_tensor(np.array(shape, np.int32), name="shape"),
                                              ops.convert_to_tensor(minval, dtype=dtype, name="min"),
                                              ops.convert_to_tensor(maxval, dtype=dtype, name="max"),
                                              seed=seed1 or 0, seed2=seed2 or 0, name=name)

    def finish(raw, low, high, name):
        width = gen_ops.sub(high, low, name="sub")
        return gen_ops.add_v2(gen_ops.mul(raw, width, name="mul"), low, name=name)
    return _random(gen_ops.random_uniform, shape, dtype, seed, "random_uniform",
                   (lambda: ops.convert_to_tensor(minval, dtype=dtype, name="min"),
                    lambda: ops.convert_to_tensor(maxval, dtype=dtype, name="max"), finish))


class Initializer:
    """Base of initializers; users write their own."""

    def __call__(self, shape, dtype=None, partition_info=None):
        raise NotImplementedError

    def get_config(self) -> Any:
        return {}

    @classmethod
    def from_config(cls, config: Any) -> Any:
        config = dict(config)
        config.pop("dtype", None)
        return cls(**config)

    def _dtype_of(self, dtype):
        return dtypes.as_dtype(self.dtype if dtype is None else dtype)


def _float_dtype(dtype):
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    return dtype


class Zeros(Initializer):
    """An initializer that sets all elements to zero."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return constant_op_zeros(shape, self._dtype_of(dtype), "zeros", 0)

    def get_config(self) -> Any:
        return {"dtype": self.dtype.name}


class Ones(Initializer):
    """An initializer that sets all elements to one."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return constant_op_zeros(shape, self._dtype_of(dtype), "ones", 1)

    def get_config(self) -> Any:
        return {"dtype": self.dtype.name}


def constant_op_zeros(shape, dtype, name, value):
    """As tf.zeros()/tf.ones(): a small constant, or a Fill of a large shape."""
    shape = _shape_list(shape)
    with ops.name_scope(None, name, [shape]) as scope:
        if dtype == dtypes.string:
            value = b"" if value == 0 else b"1"
        elif dtype == dtypes.bool:
            value = bool(value)
        if not isinstance(shape, ops.Tensor) and int(np.prod(shape, dtype=np.int64)) < 1000:
            return constant_op.constant(value, dtype=dtype, shape=shape, name=scope)
        if not isinstance(shape, ops.Tensor):
            shape = ops.convert_to_tensor(np.array(shape, np.int32), name="shape_as_tensor")
        return gen_ops.fill(shape, constant_op.constant(value, dtype=dtype, name="Const"), name=scope)


class Constant(Initializer):
    """An initializer that sets elements to a given value, or to the values of a list or an array."""

    def __init__(self, value: Any = 0, dtype: DTypeLike = dtypes.float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(f"Invalid type for initial value: {value} (of type: {type(value).__name__}). Expected Python "
                            "scalar, list or tuple of values, or numpy.ndarray.")
        self.value, self.dtype, self._verify_shape = value, dtypes.as_dtype(dtype), verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
        verify = self._verify_shape if verify_shape is None else verify_shape
        if verify and list(np.shape(self.value)) != list(_shape_list(shape)):
            raise TypeError(f"Expected Tensor's shape: {tuple(_shape_list(shape))}, got {np.shape(self.value)}.")
        dtype = self._dtype_of(dtype)
        sizes = _shape_list(shape)
        if not isinstance(sizes, ops.Tensor) and np.size(self.value) == 1 and int(np.prod(sizes, dtype=np.int64)) >= 1000:
            with ops.name_scope(None, "Const") as scope:
                scalar = constant_op.constant(np.reshape(self.value, []), dtype=dtype)
                return gen_ops.fill(ops.convert_to_tensor(np.array(sizes, np.int32)), scalar, name=scope)
        return constant_op.constant(self.value, dtype=dtype, shape=sizes)

    def get_config(self) -> Any:
        return {"value": self.value, "dtype": self.dtype.name}


class RandomUniform(Initializer):
    """An initializer of uniformly distributed values between `minval` and `maxval`."""

    def __init__(self, minval: Any = 0, maxval: Any = None, seed: Optional[int] = None,
                 dtype: DTypeLike = dtypes.float32) -> None:
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, dtypes.as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        dtype = self._dtype_of(dtype)
        maxval = self.maxval if self.maxval is not None else (1 if dtype.is_floating else dtype.max)
        return random_uniform(_shape_list(shape), self.minval, maxval, dtype, self.seed)

    def get_config(self) -> Any:
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed, "dtype": self.dtype.name}


class RandomNormal(Initializer):
    """An initializer of normally distributed values with mean `mean` and standard deviation `stddev`."""
    _make = staticmethod(random_normal)

    def __init__(self, mean: Any = 0.0, stddev: Any = 1.0, seed: Optional[int] = None,
                 dtype: DTypeLike = dtypes.float32) -> None:
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, _float_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return self._make(_shape_list(shape), self.mean, self.stddev, self._dtype_of(dtype), self.seed)

    def get_config(self) -> Any:
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed, "dtype": self.dtype.name}


class TruncatedNormal(RandomNormal):
    """Normally distributed values within two standard deviations of the mean."""
    _make = staticmethod(truncated_normal)


class UniformUnitScaling(Initializer):
    """Uniformly distributed values that keep the scale of the input's variance."""

    def __init__(self, factor: Any = 1.0, seed: Optional[int] = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.factor, self.seed, self.dtype = factor, seed, _float_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        full = _shape_list(shape if partition_info is None else partition_info.full_shape)
        size = 1.0
        for dim in full[:-1]:
            size *= float(dim)
        limit = math.sqrt(3 / max(size, 1.0)) * self.factor
        return random_uniform(_shape_list(shape), -limit, limit, self._dtype_of(dtype), self.seed)

    def get_config(self) -> Any:
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


def _fans(shape):
    if len(shape) < 1:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    field = 1
    for dim in shape[:-2]:
        field *= dim
    return shape[-2] * field, shape[-1] * field


class VarianceScaling(Initializer):
    """Random values whose variance depends on the number of inputs or outputs."""

    def __init__(self, scale: Any = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal",
                 seed: Optional[int] = None, dtype: DTypeLike = dtypes.float32) -> None:
        if scale <= 0.:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: {mode}")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Argument `distribution` should be one of ('normal', 'uniform', 'truncated_normal', "
                             f"'untruncated_normal'). Received: {distribution}")
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed
        self.dtype = _float_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        dtype = self._dtype_of(dtype)
        fan_in, fan_out = _fans(_shape_list(shape if partition_info is None else partition_info.full_shape))
        fan = {"fan_in": max(1., fan_in), "fan_out": max(1., fan_out), "fan_avg": max(1., (fan_in + fan_out) / 2.)}
        scale = self.scale / fan[self.mode]
        shape = _shape_list(shape)
        if self.distribution in ("normal", "truncated_normal"):
            # A normal distribution cut at two deviations has this deviation.
            return truncated_normal(shape, 0.0, math.sqrt(scale) / .87962566103423978, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(scale), dtype, self.seed)
        limit = math.sqrt(3.0 * scale)
        return random_uniform(shape, -limit, limit, dtype, self.seed)

    def get_config(self) -> Any:
        return {"scale": self.scale, "mode": self.mode, "distribution": self.distribution, "seed": self.seed,
                "dtype": self.dtype.name}


class Orthogonal(Initializer):
    """A random matrix with orthonormal rows or columns, times `gain`."""

    def __init__(self, gain: Any = 1.0, seed: Optional[int] = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain, self.seed, self.dtype = gain, seed, _float_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        dtype = self._dtype_of(dtype)
        shape = _shape_list(shape)
        if len(shape) < 2:
            raise ValueError(f"The tensor to initialize must be at least two-dimensional. Received: shape={shape} of rank "
                             f"{len(shape)}.")
        rows = int(np.prod(shape[:-1]))
        cols = shape[-1]
        flat = (max(rows, cols), min(rows, cols))
        normal = random_normal(flat, 0.0, 1.0, dtype, self.seed)
        q, r = gen_ops.qr(normal, full_matrices=False)
        q = q * gen_ops.sign(gen_ops.diag_part(r))
        if rows < cols:
            with ops.name_scope("matrix_transpose"):
                q = gen_ops.transpose(q, [1, 0], name="transpose")
        return self.gain * gen_ops.reshape(q, np.array(shape, np.int32))

    def get_config(self) -> Any:
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class Identity(Initializer):
    """The identity matrix, times `gain`."""

    def __init__(self, gain: Any = 1.0, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain, self.dtype = gain, _float_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        full = _shape_list(shape if partition_info is None else partition_info.full_shape)
        if len(full) != 2:
            raise ValueError(f"The tensor to initialize, specified by argument `shape` must be at least two-dimensional. "
                             f"Received shape={shape}")
        dtype = self._dtype_of(dtype)
        value = np.eye(*full)
        if partition_info is not None:
            o = partition_info.var_offset
            s = _shape_list(shape)
            value = value[o[0]:o[0] + s[0], o[1]:o[1] + s[1]]
        return constant_op.constant(self.gain * value, dtype=dtype)

    def get_config(self) -> Any:
        return {"gain": self.gain, "dtype": self.dtype.name}


class GlorotUniform(VarianceScaling):
    """An initializer of uniformly distributed values within +-sqrt(6 / (fan_in + fan_out)), also called Xavier uniform."""

    def __init__(self, seed: Optional[int] = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(scale=1.0, mode="fan_avg", distribution="uniform", seed=seed, dtype=dtype)

    def get_config(self) -> Any:
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """An initializer of truncated normal values with variance 2 / (fan_in + fan_out), also called Xavier normal."""

    def __init__(self, seed: Optional[int] = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(scale=1.0, mode="fan_avg", distribution="truncated_normal", seed=seed, dtype=dtype)

    def get_config(self) -> Any:
        return {"seed": self.seed, "dtype": self.dtype.name}


def he_normal(seed: Optional[int] = None) -> Any:
    return VarianceScaling(scale=2., mode="fan_in", distribution="truncated_normal", seed=seed)


def he_uniform(seed: Optional[int] = None) -> Any:
    return VarianceScaling(scale=2., mode="fan_in", distribution="uniform", seed=seed)


def lecun_normal(seed: Optional[int] = None) -> Any:
    return VarianceScaling(scale=1., mode="fan_in", distribution="truncated_normal", seed=seed)


def lecun_uniform(seed: Optional[int] = None) -> Any:
    return VarianceScaling(scale=1., mode="fan_in", distribution="uniform", seed=seed)


def xavier_initializer(uniform=True, seed=None, dtype=dtypes.float32):
    """contrib.layers.xavier_initializer."""
    return GlorotUniform(seed, dtype) if uniform else VarianceScaling(1.0, "fan_avg", "truncated_normal", seed, dtype)


def variance_scaling_initializer(factor: Any = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: Optional[int] = None,
                                 dtype: DTypeLike = dtypes.float32) -> Any:
    """contrib.layers.variance_scaling_initializer."""
    return VarianceScaling(factor, mode.lower(), "uniform" if uniform else "truncated_normal", seed, dtype)


def get(identifier):
    """An initializer from itself, its name or its configuration."""
    if identifier is None or callable(identifier) and not isinstance(identifier, type):
        return identifier
    if isinstance(identifier, type):
        return identifier()
    if isinstance(identifier, dict):
        return get(identifier["class_name"]).from_config(identifier.get("config", {}))
    found = _BY_NAME.get(str(identifier))
    if found is None:
        raise ValueError(f"Could not interpret initializer identifier: {identifier}")
    return found()


_BY_NAME = {"zeros": Zeros, "ones": Ones, "constant": Constant, "random_uniform": RandomUniform, "uniform": RandomUniform,
            "random_normal": RandomNormal, "normal": RandomNormal, "truncated_normal": TruncatedNormal,
            "glorot_uniform": GlorotUniform, "glorot_normal": GlorotNormal, "he_normal": he_normal, "he_uniform": he_uniform,
            "lecun_normal": lecun_normal, "lecun_uniform": lecun_uniform, "orthogonal": Orthogonal, "identity": Identity}
_BY_NAME.update({f.__name__: f for f in (Zeros, Ones, Constant, RandomUniform, RandomNormal, TruncatedNormal, GlorotUniform,
                                         GlorotNormal, Orthogonal, Identity, VarianceScaling)})
