# SPDX-License-Identifier: Apache-2.0
"""Static shapes: TensorShape and Dimension with the behaviour of TensorFlow 1."""
from __future__ import annotations

import operator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Optional


class Dimension:
    """One size, or unknown (value None). Comparisons with an unknown size are None."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        if value is None:
            self._value = None
            return
        if isinstance(value, Dimension):
            self._value = value._value
            return
        try:
            self._value = operator.index(value)
        except TypeError:
            raise TypeError(f"Dimension value must be integer or None or have an __index__ method, got value "
                            f"'{value!r}' with type '{type(value)!r}'") from None
        if self._value < 0:
            raise ValueError(f"Dimension {self._value} must be >= 0")

    @property
    def value(self) -> Optional[int]:
        return self._value

    def __repr__(self):
        return f"Dimension({self._value!r})"

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def __hash__(self):
        if self._value is None:
            raise ValueError("Unable to hash Dimension without a value. Use Dimension.value instead.")
        return hash(self._value)

    def __int__(self):
        if self._value is None:
            raise TypeError("__int__ returned non-int (type NoneType)")
        return self._value

    def __index__(self):
        if self._value is None:
            raise TypeError("Dimension value is not known")
        return self._value

    def __bool__(self):
        return bool(self._value)

    def _compare(self, other, op):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return None
        return op(self._value, other._value)

    def __eq__(self, other):
        return self._compare(other, operator.eq)

    def __ne__(self, other):
        return self._compare(other, operator.ne)

    def __lt__(self, other):
        return self._compare(other, operator.lt)

    def __le__(self, other):
        return self._compare(other, operator.le)

    def __gt__(self, other):
        return self._compare(other, operator.gt)

    def __ge__(self, other):
        return self._compare(other, operator.ge)

    def _calculate(self, other, op, swap=False):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        a, b = (other, self) if swap else (self, other)
        if a._value is None or b._value is None:
            return Dimension(None)
        return Dimension(op(a._value, b._value))

    def __add__(self, other):
        return self._calculate(other, operator.add)

    def __radd__(self, other):
        return self._calculate(other, operator.add, True)

    def __sub__(self, other):
        return self._calculate(other, operator.sub)

    def __rsub__(self, other):
        return self._calculate(other, operator.sub, True)

    def __mul__(self, other):
        return self._calculate(other, operator.mul)

    def __rmul__(self, other):
        return self._calculate(other, operator.mul, True)

    def __floordiv__(self, other):
        return self._calculate(other, operator.floordiv)

    def __rfloordiv__(self, other):
        return self._calculate(other, operator.floordiv, True)

    def __div__(self, other):
        return self // other

    def __truediv__(self, other):
        raise TypeError(f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', please use //"
                        " instead")

    def __rtruediv__(self, other):
        raise TypeError(f"unsupported operand type(s) for /: '{type(other).__name__}' and 'Dimension', please use //"
                        " instead")

    def __mod__(self, other):
        return self._calculate(other, operator.mod)

    def __rmod__(self, other):
        return self._calculate(other, operator.mod, True)

    def is_compatible_with(self, other: Any) -> bool:
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other._value if self._value is None else self._value)

    def __reduce__(self):
        return Dimension, (self._value,)


def as_dimension(value):
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: Any) -> Any:
    """The size as an int or None, from a Dimension or what is one already."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: Any, index: Any) -> Any:
    return Dimension(None) if shape.rank is None else shape.dims[index]


class TensorShape:
    """A shape of which the rank or single sizes may be unknown."""

    __slots__ = ("_sizes",)

    def __init__(self, dims: Any) -> None:
        if dims is None:
            self._sizes = None
        elif isinstance(dims, TensorShape):
            self._sizes = dims._sizes
        elif hasattr(dims, "dim") and hasattr(dims, "unknown_rank"):  # a TensorShapeProto
            self._sizes = None if dims.unknown_rank else tuple(None if d.size == -1 else d.size for d in dims.dim)
        else:
            try:
                items = iter(dims)
            except TypeError:
                self._sizes = (Dimension(dims).value,)
            else:
                self._sizes = tuple(Dimension(d).value for d in items)

    @classmethod
    def _of_core(cls, dims):
        """From the form that the extension uses: None, or sizes with -1 for unknown."""
        shape = cls.__new__(cls)
        shape._sizes = None if dims is None else tuple(None if d < 0 else d for d in dims)
        return shape

    def _to_core(self):
        return None if self._sizes is None else [-1 if d is None else d for d in self._sizes]

    @property
    def dims(self) -> Any:
        return None if self._sizes is None else [Dimension(d) for d in self._sizes]

    @property
    def rank(self) -> Optional[int]:
        return None if self._sizes is None else len(self._sizes)

    @property
    def ndims(self) -> Optional[int]:
        return self.rank

    def __len__(self):
        if self._sizes is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._sizes)

    def __bool__(self):
        return self._sizes is not None

    def __iter__(self):
        if self._sizes is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter([Dimension(d) for d in self._sizes])

    def __getitem__(self, key):
        if self._sizes is not None:
            if isinstance(key, slice):
                return TensorShape(self._sizes[key])
            return Dimension(self._sizes[key])
        if not isinstance(key, slice):
            return Dimension(None)
        start = key.start or 0
        stop = key.stop
        if key.step is not None or stop is None or stop < 0 or start < 0:
            return unknown_shape()
        return unknown_shape(max(stop - start, 0))

    def num_elements(self):
        if not self.is_fully_defined():
            return None
        product = 1
        for d in self._sizes:
            product *= d
        return product

    def is_fully_defined(self) -> bool:
        return self._sizes is not None and None not in self._sizes

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        other = as_shape(other)
        if self._sizes is None or other._sizes is None:
            return True
        return len(self._sizes) == len(other._sizes) and all(
            a is None or b is None or a == b for a, b in zip(self._sizes, other._sizes))

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_same_rank(self, other: Any) -> None:
        other = as_shape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: Any) -> None:
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def merge_with(self, other: Any) -> TensorShape:
        other = as_shape(other)
        if self._sizes is None:
            return other
        if other._sizes is None:
            return self
        self.assert_is_compatible_with(other)
        return TensorShape([b if a is None else a for a, b in zip(self._sizes, other._sizes)])

    def most_specific_compatible_shape(self, other: Any) -> Any:
        other = as_shape(other)
        if self._sizes is None or other._sizes is None or self.rank != other.rank:
            return unknown_shape()
        return TensorShape([a if a == b else None for a, b in zip(self._sizes, other._sizes)])

    def concatenate(self, other: Any) -> TensorShape:
        other = as_shape(other)
        if self._sizes is None or other._sizes is None:
            return unknown_shape()
        return TensorShape(self._sizes + other._sizes)

    def __add__(self, other):
        return self.concatenate(other)

    def __radd__(self, other):
        return as_shape(other).concatenate(self)

    def with_rank(self, rank: Any) -> TensorShape:
        return self.merge_with(unknown_shape(rank)) if self.rank in (None, rank) else self._refuse_rank(rank)

    def _refuse_rank(self, rank):
        raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank_at_least(self, rank: Any) -> TensorShape:
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: Any) -> Any:
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def as_list(self) -> Any:
        if self._sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._sizes)

    def as_proto(self):
        from millstream.proto import tensor_shape_pb2
        if self._sizes is None:
            return tensor_shape_pb2.TensorShapeProto(unknown_rank=True)
        return tensor_shape_pb2.TensorShapeProto(
            dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=-1 if d is None else d) for d in self._sizes])

    def __eq__(self, other):
        try:
            other = as_shape(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self._sizes == other._sizes

    def __ne__(self, other):
        try:
            other = as_shape(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self._sizes != other._sizes

    def __hash__(self):
        return hash(self._sizes)

    def __repr__(self):
        if self._sizes is None:
            return "TensorShape(None)"
        return f"TensorShape({[Dimension(d) for d in self._sizes]!r})"

    def __str__(self):
        if self._sizes is None:
            return "<unknown>"
        if len(self._sizes) == 1:
            return "(%s,)" % ("?" if self._sizes[0] is None else self._sizes[0])
        return "(%s)" % ", ".join("?" if d is None else str(d) for d in self._sizes)

    def __reduce__(self):
        return TensorShape, (self._sizes,)


def as_shape(shape):
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank=None, **kwargs):
    if rank is None:
        rank = kwargs.get("ndims")
    return TensorShape(None) if rank is None else TensorShape([None] * rank)


def scalar():
    return TensorShape([])


def vector(length):
    return TensorShape([length])


def matrix(rows, cols):
    return TensorShape([rows, cols])
