# SPDX-License-Identifier: Apache-2.0
"""tf.linalg.LinearOperator*: matrices made of others, and of few numbers."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops import plain_ops
from millstream.ops.array import array_ops, index_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.linalg.linear_operators import LinearOperator

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, TensorLike


def _all(operators, hint):
    return True if all(getattr(o, hint) for o in operators) else None


class _ProductOfDeterminants(LinearOperator):
    """Of `operators` whose determinants multiply."""

    def determinant(self, name="det"):
        result = self.operators[0].determinant()
        for operator in self.operators[1:]:
            result = result * operator.determinant()
        return result

    def log_abs_determinant(self, name="log_abs_det"):
        return math_ops.add_n([o.log_abs_determinant() for o in self.operators])


class LinearOperatorComposition(_ProductOfDeterminants):
    """The product of operators."""

    def __init__(self, operators: Any, is_non_singular: Any = None, is_self_adjoint: Any = None,
                 is_positive_definite: Any = None, is_square: Any = None, name: Optional[str] = None) -> None:
        self.operators = list(operators)
        if not self.operators:
            raise ValueError("Expected a non-empty list of operators. Found: []")
        square = is_square if is_square is not None else _all(self.operators, "is_square")
        super().__init__(self.operators[0].dtype, None, is_non_singular if is_non_singular is not None else _all(
            self.operators, "is_non_singular"), is_self_adjoint, is_positive_definite, square,
            name or "_o_".join(o.name for o in self.operators))

    def to_dense(self, name: str = "to_dense") -> Any:
        dense = self.operators[-1].to_dense()
        for operator in reversed(self.operators[:-1]):
            dense = operator.matmul(dense)
        return dense

    def matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        if isinstance(x, LinearOperator):
            return super().matmul(x, adjoint, adjoint_arg)
        result = linalg_ops.adjoint(x) if adjoint_arg else x
        for operator in self.operators if adjoint else reversed(self.operators):
            result = operator.matmul(result, adjoint=adjoint)
        return result

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        result = linalg_ops.adjoint(rhs) if adjoint_arg else rhs
        for operator in reversed(self.operators) if adjoint else self.operators:
            result = operator.solve(result, adjoint=adjoint)
        return result


class LinearOperatorAdjoint(LinearOperator):
    """The conjugate transpose of an operator."""

    def __init__(self, operator: Any, is_non_singular: Any = None, is_self_adjoint: Any = None,
                 is_positive_definite: Any = None, is_square: Any = None, name: Optional[str] = None) -> None:
        self.operator = operator
        hint = lambda given, own: own if given is None else given
        super().__init__(operator.dtype, None, hint(is_non_singular, operator.is_non_singular), hint(
            is_self_adjoint, operator.is_self_adjoint), hint(is_positive_definite, operator.is_positive_definite), hint(
            is_square, operator.is_square), name or operator.name + "_adjoint")

    def to_dense(self, name: str = "to_dense") -> Any:
        return linalg_ops.adjoint(self.operator.to_dense())

    def matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        return self.operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        return self.operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def adjoint(self, name: str = "adjoint") -> Any:
        return self.operator


class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator."""

    def __init__(self, operator: Any, is_non_singular: Any = None, is_self_adjoint: Any = None,
                 is_positive_definite: Any = None, is_square: Any = None, name: Optional[str] = None) -> None:
        if is_non_singular is False:
            raise ValueError("operator and supplied hints must have is_non_singular=True or None")
        self.operator = operator
        super().__init__(operator.dtype, None, True, operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint,
                         operator.is_positive_definite if is_positive_definite is None else is_positive_definite, True,
                         name or operator.name + "_inv")

    def to_dense(self, name: str = "to_dense") -> Any:
        return plain_ops.matrix_inverse(self.operator.to_dense())

    def matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        return self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        return self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def determinant(self, name: str = "det") -> Any:
        return 1.0 / self.operator.determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        return -self.operator.log_abs_determinant()

    def inverse(self, name: str = "inverse") -> Any:
        return self.operator


class LinearOperatorBlockDiag(_ProductOfDeterminants):
    """Operators along a diagonal."""

    def __init__(self, operators: Any, is_non_singular: Any = None, is_self_adjoint: Any = None,
                 is_positive_definite: Any = None, is_square: bool = True, name: Optional[str] = None) -> None:
        self.operators = list(operators)
        first = lambda given, hint: given if given is not None else _all(self.operators, hint)
        super().__init__(self.operators[0].dtype, None, first(is_non_singular, "is_non_singular"), first(
            is_self_adjoint, "is_self_adjoint"), first(is_positive_definite, "is_positive_definite"), is_square,
            name or "_ds_".join(o.name for o in self.operators))

    def to_dense(self, name="to_dense"):
        blocks = [o.to_dense() for o in self.operators]
        total = math_ops.add_n([array_ops.shape(b)[-1] for b in blocks])
        rows, before = [], 0
        for block in blocks:
            size = array_ops.shape(block)[-1]
            pads = [[0, 0]] * (block.shape.rank - 1) + [array_ops.stack([before, total - before - size])]
            rows.append(array_ops.pad(block, array_ops.stack([ops.convert_to_tensor(p) for p in pads])))
            before = before + size
        dense = array_ops.concat(rows, -2)
        number = [o.shape.as_list()[-1] if o.shape.rank else None for o in self.operators]
        if None not in number:
            dense.set_shape(blocks[0].shape[:-2].concatenate([sum(number), sum(number)]))
        return dense


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators."""

    def __init__(self, operators: Any, is_non_singular: Any = None, is_self_adjoint: Any = None,
                 is_positive_definite: Any = None, is_square: Any = None, name: Optional[str] = None) -> None:
        self.operators = list(operators)
        first = lambda given, hint: given if given is not None else _all(self.operators, hint)
        super().__init__(self.operators[0].dtype, None, first(is_non_singular, "is_non_singular"), first(
            is_self_adjoint, "is_self_adjoint"), first(is_positive_definite, "is_positive_definite"), first(is_square, "is_square"),
            name or "_x_".join(o.name for o in self.operators))

    def to_dense(self, name: str = "to_dense") -> Any:
        dense = self.operators[0].to_dense()
        for operator in self.operators[1:]:
            other = operator.to_dense()
            product = dense[..., :, None, :, None] * other[..., None, :, None, :]
            sizes = [a * b for a, b in zip(dense.shape.as_list()[-2:], other.shape.as_list()[-2:])]
            dense = array_ops.reshape(product, array_ops.concat([array_ops.shape(product)[:-4], sizes], 0))
        return dense


class LinearOperatorToeplitz(LinearOperator):
    """A matrix whose diagonals are constant: `col` is its first column, `row` its first row."""

    def __init__(self, col: Any, row: Any, is_non_singular: Any = None, is_self_adjoint: Any = None,
                 is_positive_definite: Any = None, is_square: Any = None, name: str = "LinearOperatorToeplitz") -> None:
        self.row = ops.convert_to_tensor(row, name="row")
        self.col = ops.convert_to_tensor(col, dtype=self.row.dtype, name="col")
        super().__init__(self.row.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    def to_dense(self, name: str = "to_dense") -> Any:
        size = array_ops.shape(self.row)[-1]
        line = array_ops.concat([array_ops.reverse(self.col, [-1]), self.row[..., 1:]], -1)
        at = math_ops.range(size)
        dense = index_ops.gather(line, size - 1 - at[:, None] + at[None, :], axis=-1)
        dense.set_shape(self.row.shape.concatenate(self.row.shape[-1:]))
        return dense


class LinearOperatorCirculant(LinearOperator):
    """A matrix of which each row is the one above, turned by one; `spectrum` is the transform of its first column."""

    def __init__(self, spectrum: Any, input_output_dtype: Any = dtypes.complex64, is_non_singular: Any = None,
                 is_self_adjoint: Any = None, is_positive_definite: Any = None, is_square: bool = True,
                 name: str = "LinearOperatorCirculant") -> None:
        self.spectrum = ops.convert_to_tensor(spectrum, name="spectrum")
        if not self.spectrum.dtype.is_complex and is_self_adjoint is None:
            is_self_adjoint = True
        super().__init__(input_output_dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    def _complex(self):
        if self.spectrum.dtype.is_complex:
            return self.spectrum
        return math_ops.cast(self.spectrum, dtypes.complex64 if self.spectrum.dtype == dtypes.float32 else dtypes.complex128)

    def to_dense(self, name: str = "to_dense") -> Any:
        column = gen_ops.ifft(self._complex())
        size = array_ops.shape(column)[-1]
        at = math_ops.range(size)
        dense = math_ops.cast(index_ops.gather(column, gen_ops.floor_mod(at[:, None] - at[None, :], size), axis=-1), self.dtype)
        dense.set_shape(self.spectrum.shape.concatenate(self.spectrum.shape[-1:]))
        return dense

    def convolution_kernel(self, name: str = "convolution_kernel") -> Any:
        return math_ops.cast(gen_ops.ifft(self._complex()), self.dtype)

    def determinant(self, name: str = "det") -> Any:
        return math_ops.cast(reduce_ops.reduce_prod(self._complex(), axis=-1), self.dtype)


class LinearOperatorHouseholder(LinearOperator):
    """The reflection at the hyperplane whose normal is `reflection_axis`."""

    def __init__(self, reflection_axis: Any, is_non_singular: Any = None, is_self_adjoint: Any = None,
                 is_positive_definite: Any = None, is_square: Any = None, name: str = "LinearOperatorHouseholder") -> None:
        self.reflection_axis = ops.convert_to_tensor(reflection_axis, name="reflection_axis")
        super().__init__(self.reflection_axis.dtype, None, True, True, False, True, name)

    def to_dense(self, name: str = "to_dense") -> Any:
        norm = math_ops.sqrt(reduce_ops.reduce_sum(math_ops.square(self.reflection_axis), axis=-1, keepdims=True))
        unit = self.reflection_axis / norm
        identity = linalg_ops.matrix_diag(array_ops.ones_like(unit))
        return identity - 2.0 * unit[..., :, None] * unit[..., None, :]

    def determinant(self, name: str = "det") -> Any:
        return array_ops.ones(self.batch_shape_tensor(), self.dtype) * -1.0

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        return array_ops.zeros(self.batch_shape_tensor(), self.dtype)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        return self.matmul(rhs, adjoint, adjoint_arg)


class LinearOperatorPermutation(LinearOperator):
    """Row i of the product is row perm[i]."""

    def __init__(self, perm: Any, dtype: DTypeLike = dtypes.float32, is_non_singular: Any = None, is_self_adjoint: Any = None,
                 is_positive_definite: Any = None, is_square: Any = None, name: str = "LinearOperatorPermutation") -> None:
        self.perm = ops.convert_to_tensor(perm, name="perm")
        super().__init__(dtype, None, True, is_self_adjoint, False, True, name)

    def to_dense(self, name: str = "to_dense") -> Any:
        return index_ops.one_hot(self.perm, array_ops.shape(self.perm)[-1] if self.perm.shape.as_list()[-1] is None else
                                 self.perm.shape.as_list()[-1], dtype=self.dtype)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        return self.matmul(rhs, not adjoint, adjoint_arg)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        return array_ops.zeros(self.batch_shape_tensor(), self.dtype)


class LinearOperatorZeros(LinearOperator):
    def __init__(self, num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Optional[DTypeLike] = None,
                 is_non_singular: bool = False, is_self_adjoint: bool = True, is_positive_definite: bool = False,
                 is_square: bool = True, assert_proper_shapes: bool = False, name: str = "LinearOperatorZeros") -> None:
        columns = num_rows if num_columns is None else num_columns
        self._sizes = list(batch_shape or []) + [num_rows, columns]
        super().__init__(dtype or dtypes.float32, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    def to_dense(self, name: str = "to_dense") -> Any:
        return array_ops.zeros(self._sizes, self.dtype)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        raise NotImplementedError("Exact solve not implemented for an operator that is expected to be singular.")

    def inverse(self, name: str = "inverse") -> Any:
        raise ValueError("Cannot take the Inverse: This operator represents a singular matrix.")


class LinearOperatorTridiag(LinearOperator):
    """By its three diagonals: "compact", "sequence" or "matrix"."""

    def __init__(self, diagonals: Any, diagonals_format: str = "compact", is_non_singular: Any = None,
                 is_self_adjoint: Any = None, is_positive_definite: Any = None, is_square: Any = None,
                 name: str = "LinearOperatorTridiag") -> None:
        from millstream.ops.linalg import matrix_functions
        self.diagonals, self.diagonals_format = diagonals, diagonals_format
        self._compact = matrix_functions._compact(diagonals, diagonals_format)
        super().__init__(self._compact.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    def to_dense(self, name: str = "to_dense") -> Any:
        size = array_ops.shape(self._compact)[-1]
        dense = gen_ops.matrix_diag_v3(self._compact, (-1, 1), size, size, 0, align="LEFT_RIGHT")
        dense.set_shape(self._compact.shape[:-2].concatenate([self._compact.shape.as_list()[-1]] * 2))
        return dense


class LinearOperatorLowRankUpdate(LinearOperator):
    """base + u diag(d) v^H."""

    def __init__(self, base_operator: Any, u: Any, diag_update: Any = None, v: Any = None, is_diag_update_positive: Any = None,
                 is_non_singular: Any = None, is_self_adjoint: Any = None, is_positive_definite: Any = None,
                 is_square: Any = None, name: str = "LinearOperatorLowRankUpdate") -> None:
        self.base_operator = base_operator
        self.u = ops.convert_to_tensor(u, dtype=base_operator.dtype)
        self.v = self.u if v is None else ops.convert_to_tensor(v, dtype=base_operator.dtype)
        self.diag_update = None if diag_update is None else ops.convert_to_tensor(diag_update, dtype=base_operator.dtype)
        positive = is_diag_update_positive if diag_update is not None else True
        if v is None and positive and base_operator.is_positive_definite:
            is_positive_definite = True if is_positive_definite is None else is_positive_definite
            is_non_singular = True if is_non_singular is None else is_non_singular
        if v is None and base_operator.is_self_adjoint and is_self_adjoint is None:
            is_self_adjoint = True
        super().__init__(base_operator.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite,
                         base_operator.is_square if is_square is None else is_square, name)

    def to_dense(self, name: str = "to_dense") -> Any:
        u = self.u if self.diag_update is None else self.u * self.diag_update[..., None, :]
        return self.base_operator.to_dense() + linalg_ops.matmul(u, self.v, adjoint_b=True)
