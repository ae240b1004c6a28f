# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.framework.dtypes import DType as DType
from millstream.framework.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from millstream.framework.dtypes import as_dtype as as_dtype
from millstream.framework.dtypes import bfloat16 as bfloat16
from millstream.framework.dtypes import bool as bool
from millstream.framework.dtypes import complex128 as complex128
from millstream.framework.dtypes import complex64 as complex64
from millstream.framework.dtypes import double as double
from millstream.framework.dtypes import float16 as float16
from millstream.framework.dtypes import float32 as float32
from millstream.framework.dtypes import float64 as float64
from millstream.framework.dtypes import half as half
from millstream.framework.dtypes import int16 as int16
from millstream.framework.dtypes import int32 as int32
from millstream.framework.dtypes import int64 as int64
from millstream.framework.dtypes import int8 as int8
from millstream.framework.dtypes import qint16 as qint16
from millstream.framework.dtypes import qint32 as qint32
from millstream.framework.dtypes import qint8 as qint8
from millstream.framework.dtypes import quint16 as quint16
from millstream.framework.dtypes import quint8 as quint8
from millstream.framework.dtypes import resource as resource
from millstream.framework.dtypes import string as string
from millstream.framework.dtypes import uint16 as uint16
from millstream.framework.dtypes import uint32 as uint32
from millstream.framework.dtypes import uint64 as uint64
from millstream.framework.dtypes import uint8 as uint8
from millstream.framework.dtypes import variant as variant
from millstream.ops.math.math_ops import cast as cast
from millstream.ops.math.math_ops import complex as complex
from millstream.ops.math.math_ops import saturate_cast as saturate_cast
from millstream.ops.strings.string_ops import as_string as as_string

__all__ = [
    "DType",
    "QUANTIZED_DTYPES",
    "as_dtype",
    "as_string",
    "bfloat16",
    "bool",
    "cast",
    "complex",
    "complex128",
    "complex64",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int16",
    "int32",
    "int64",
    "int8",
    "qint16",
    "qint32",
    "qint8",
    "quint16",
    "quint8",
    "resource",
    "saturate_cast",
    "string",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "variant",
]
