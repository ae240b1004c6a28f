# SPDX-License-Identifier: Apache-2.0
"""Element types: DType objects, one for each type of TensorFlow's DataType enum, and their reference twins."""
import builtins

import numpy as np

_REF = 100


class DType:
    """An element type, such as `tf.float32`.

    There is one object for each type. It is compared by identity or with ==, also with names and NumPy types.
    """

    __slots__ = ("_enum",)

    def __init__(self, type_enum):
        self._enum = int(type_enum)

    @property
    def as_datatype_enum(self):
        return self._enum

    @property
    def name(self):
        name = _NAMES[self._enum % _REF]
        return name + "_ref" if self._is_ref_dtype else name

    @property
    def _is_ref_dtype(self):
        return self._enum > _REF

    @property
    def _as_ref(self):
        return self if self._is_ref_dtype else _BY_ENUM[self._enum + _REF]

    @property
    def base_dtype(self):
        return _BY_ENUM[self._enum - _REF] if self._is_ref_dtype else self

    @property
    def real_dtype(self):
        return {complex64: float32, complex128: float64}.get(self.base_dtype, self)

    @property
    def as_numpy_dtype(self):
        return _numpy_type(self._enum % _REF)

    @property
    def is_numpy_compatible(self):
        return self._enum % _REF not in (20, 21)

    @property
    def is_bool(self):
        return self.base_dtype is bool

    @property
    def is_integer(self):
        return self._enum % _REF in (3, 4, 5, 6, 9, 17, 22, 23, 29, 30, 31, 32)

    @property
    def is_floating(self):
        return self._enum % _REF in (1, 2, 14, 19, 24, 25, 26, 27, 28, 33)

    @property
    def is_complex(self):
        return self._enum % _REF in (8, 18)

    @property
    def is_quantized(self):
        return self._enum % _REF in (11, 12, 13, 15, 16)

    @property
    def is_unsigned(self):
        return self._enum % _REF in (4, 17, 22, 23, 30, 32)

    @property
    def size(self):
        if self._enum % _REF in (7, 20, 21):
            return 0 if self._enum % _REF == 7 else 1
        return np.dtype(self.as_numpy_dtype).itemsize

    @property
    def min(self):
        return self._limits("min")

    @property
    def max(self):
        return self._limits("max")

    @property
    def limits(self):
        return self.min, self.max

    def _limits(self, which):
        if self.is_bool:
            return which == "max"
        if self._enum % _REF >= 24:
            raise ValueError(f"{self} does not have defined limits.")
        if self.base_dtype is bfloat16:
            return float.fromhex("0x1.FEp127") * (-1 if which == "min" else 1)
        if self.is_floating:
            return getattr(np.finfo(self.as_numpy_dtype), which)
        if self.is_integer or self.is_quantized:
            return getattr(np.iinfo(self.as_numpy_dtype), which)
        raise TypeError(f"Cannot find {'minimum' if which == 'min' else 'maximum'} value of {self}.")

    def is_compatible_with(self, other):
        other = as_dtype(other)
        return self._enum in (other._enum, other.base_dtype._enum)

    def __eq__(self, other):
        if other is None:
            return False
        if not isinstance(other, DType):
            try:
                other = as_dtype(other)
            except TypeError:
                return False
        return self._enum == other._enum

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return self._enum

    def __int__(self):
        return self._enum

    def __str__(self):
        return f"<dtype: {self.name!r}>"

    def __repr__(self):
        return "tf." + self.name

    def __reduce__(self):
        return as_dtype, (self._enum,)


_NAMES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 8: "complex64", 9: "int64",
    10: "bool", 11: "qint8", 12: "quint8", 13: "qint32", 14: "bfloat16", 15: "qint16", 16: "quint16", 17: "uint16",
    18: "complex128", 19: "float16", 20: "resource", 21: "variant", 22: "uint32", 23: "uint64", 24: "float8_e5m2",
    25: "float8_e4m3fn", 26: "float8_e4m3fnuz", 27: "float8_e4m3b11fnuz", 28: "float8_e5m2fnuz", 29: "int4", 30: "uint4",
    31: "int2", 32: "uint2", 33: "float4_e2m1fn",
}
# The loop below binds these names; type checkers cannot follow it.
float32: DType
float64: DType
int32: DType
uint8: DType
int16: DType
int8: DType
string: DType
complex64: DType
int64: DType
bool: DType
qint8: DType
quint8: DType
qint32: DType
bfloat16: DType
qint16: DType
quint16: DType
uint16: DType
complex128: DType
float16: DType
resource: DType
variant: DType
uint32: DType
uint64: DType
float8_e5m2: DType
float8_e4m3fn: DType
float8_e4m3fnuz: DType
float8_e4m3b11fnuz: DType
float8_e5m2fnuz: DType
int4: DType
uint4: DType
int2: DType
uint2: DType
float4_e2m1fn: DType
float16_ref: DType
float32_ref: DType
float64_ref: DType
bfloat16_ref: DType
complex64_ref: DType
complex128_ref: DType
int8_ref: DType
int16_ref: DType
int32_ref: DType
int64_ref: DType
uint8_ref: DType
uint16_ref: DType
uint32_ref: DType
uint64_ref: DType
bool_ref: DType
string_ref: DType
# What NumPy has through the package ml_dtypes.
_FROM_ML_DTYPES = frozenset({14, *range(24, 34)})
_NUMPY = {
    1: np.float32, 2: np.float64, 3: np.int32, 4: np.uint8, 5: np.int16, 6: np.int8, 7: np.object_, 8: np.complex64,
    9: np.int64, 10: np.bool_, 11: np.int8, 12: np.uint8, 13: np.int32, 15: np.int16, 16: np.uint16, 17: np.uint16,
    18: np.complex128, 19: np.float16, 20: np.object_, 21: np.object_, 22: np.uint32, 23: np.uint64,
}

_BY_ENUM = {}
for _e in _NAMES:
    _BY_ENUM[_e] = DType(_e)
    _BY_ENUM[_e + _REF] = DType(_e + _REF)
for _e, _name in _NAMES.items():
    globals()[_name] = _BY_ENUM[_e]
    globals()[_name + "_ref"] = _BY_ENUM[_e + _REF]
half = _BY_ENUM[19]
double = _BY_ENUM[2]
half_ref, double_ref = half._as_ref, double._as_ref

_BY_NAME = {d.name: d for d in _BY_ENUM.values()}
_BY_NAME.update({
    "half": half, "float": _BY_ENUM[1], "double": double, "half_ref": half_ref, "float_ref": _BY_ENUM[1]._as_ref,
    "double_ref": double_ref,
})
_BY_PYTHON = {builtins.float: _BY_ENUM[1], builtins.bool: _BY_ENUM[10], builtins.object: _BY_ENUM[7],
              builtins.str: _BY_ENUM[7], builtins.bytes: _BY_ENUM[7], builtins.int: _BY_ENUM[9],
              builtins.complex: _BY_ENUM[18]}
_BY_NUMPY_NAME = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8, "int64": 9, "bool": 10,
    "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23, "object": 7,
    **{_NAMES[_e]: _e for _e in _FROM_ML_DTYPES},
}
QUANTIZED_DTYPES = frozenset(d for d in _BY_ENUM.values() if d.is_quantized)


def _numpy_type(enum):
    if enum in _FROM_ML_DTYPES and enum not in _NUMPY:
        import ml_dtypes
        from millstream import _core
        _NUMPY[enum] = getattr(ml_dtypes, _NAMES[enum])
        _core.set_numpy_type(enum, np.dtype(_NUMPY[enum]))
    return _NUMPY[enum]


def as_dtype(type_value):
    """The DType for a DType, DataType number, name, Python type or NumPy type; TypeError if there is none."""
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, builtins.int) and not isinstance(type_value, builtins.bool):
        found = _BY_ENUM.get(type_value)
        if found is not None:
            return found
    elif isinstance(type_value, builtins.str):
        found = _BY_NAME.get(type_value)
        if found is not None:
            return found
    elif isinstance(type_value, type):
        found = _BY_PYTHON.get(type_value)
        if found is not None:
            return found
    if hasattr(type_value, "dtype") and isinstance(type_value.dtype, DType):
        return type_value.dtype
    try:
        numpy_type = np.dtype(type_value)
    except TypeError:
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.") from None
    if numpy_type.kind in "SU":
        return _BY_ENUM[7]
    if numpy_type.name in _BY_NUMPY_NAME:
        enum = _BY_NUMPY_NAME[numpy_type.name]
        _numpy_type(enum)  # the core learns of types that are not NumPy's own
        return _BY_ENUM[enum]
    raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
