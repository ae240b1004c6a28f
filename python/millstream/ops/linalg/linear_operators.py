# SPDX-License-Identifier: Apache-2.0
"""tf.linalg.LinearOperator*: matrices by what is known of them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops import plain_ops
from millstream.ops.array import array_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import math_ops, reduce_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, TensorLike


class LinearOperator:
    """A matrix, or a batch of them. Kinds define to_dense(), and what they can do better."""

    def __init__(self, dtype: DTypeLike, graph_parents: Any = None, is_non_singular: Any = None, is_self_adjoint: Any = None,
                 is_positive_definite: Any = None, is_square: Any = None, name: Optional[str] = None,
                 parameters: Any = None) -> None:
        self.dtype, self.name = dtypes.as_dtype(dtype), name or type(self).__name__
        if is_positive_definite and is_non_singular is None:
            is_non_singular = True
        self.is_non_singular, self.is_self_adjoint, self.is_positive_definite = is_non_singular, is_self_adjoint, is_positive_definite
        self._is_square = True if is_square is None and (is_non_singular or is_self_adjoint or is_positive_definite) else is_square

    shape = property(lambda self: self.to_dense().shape)

    @property
    def is_square(self) -> Any:
        if self._is_square is None and self.shape.rank is not None and None not in self.shape.as_list()[-2:]:
            return self.shape.as_list()[-1] == self.shape.as_list()[-2]
        return self._is_square

    batch_shape = property(lambda self: self.shape[:-2])
    range_dimension = property(lambda self: self.shape[-2])
    domain_dimension = property(lambda self: self.shape[-1])
    tensor_rank = property(lambda self: self.shape.rank)
    graph_parents = property(lambda self: [])
    H = property(lambda self: self.adjoint())

    def shape_tensor(self, name="shape_tensor"):
        return array_ops.shape(self.to_dense())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        return self.shape_tensor()[:-2]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Any:
        return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Any:
        return self.shape_tensor()[-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Any:
        return array_ops.size(self.shape_tensor())

    def adjoint(self, name: str = "adjoint") -> Any:
        from millstream.ops.linalg import linear_operators_more
        return linear_operators_more.LinearOperatorAdjoint(self)

    def inverse(self, name: str = "inverse") -> Any:
        from millstream.ops.linalg import linear_operators_more
        if self.is_square is False:
            raise ValueError("Cannot take the Inverse: This operator represents a non square matrix.")
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular matrix.")
        return linear_operators_more.LinearOperatorInversion(self)

    def cholesky(self, name="cholesky"):
        if not self.is_positive_definite or not self.is_self_adjoint:
            raise ValueError("Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix.")
        return LinearOperatorLowerTriangular(plain_ops.cholesky(self.to_dense()), is_non_singular=True, is_self_adjoint=False)

    def add_to_tensor(self, x, name="add_to_tensor"):
        return self.to_dense() + ops.convert_to_tensor(x, dtype=self.dtype)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        return array_ops.squeeze(self.solve(array_ops.expand_dims(ops.convert_to_tensor(rhs, self.dtype), -1), adjoint=adjoint), [-1])

    def eigvals(self, name="eigvals"):
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        return linalg_ops.self_adjoint_eigvals(self.to_dense())

    def cond(self, name="cond"):
        values = linalg_ops.svd(self.to_dense(), compute_uv=False)
        return reduce_ops.reduce_max(values, -1) / reduce_ops.reduce_min(values, -1)

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        from millstream.ops.debugging import check_ops
        return check_ops.assert_positive(gen_ops.abs(self.determinant()), message="Singular matrix encountered")

    def assert_positive_definite(self, name="assert_positive_definite"):
        from millstream.ops.debugging import check_ops
        return check_ops.assert_positive(linalg_ops.self_adjoint_eigvals(self.to_dense()), message="Matrix was not positive definite.")

    def assert_self_adjoint(self, name="assert_self_adjoint"):
        from millstream.ops.debugging import check_ops
        dense = self.to_dense()
        return check_ops.assert_equal(dense, linalg_ops.adjoint(dense), message="Matrix was not equal to its adjoint.")

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        if isinstance(x, LinearOperator):
            from millstream.ops.linalg import linear_operators_more
            left, right = (self.adjoint() if adjoint else self), (x.adjoint() if adjoint_arg else x)
            return linear_operators_more.LinearOperatorComposition([left, right])
        return linalg_ops.matmul(self.to_dense(), ops.convert_to_tensor(x, self.dtype), adjoint_a=adjoint, adjoint_b=adjoint_arg)

    __matmul__ = matmul

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Any:
        return array_ops.squeeze(self.matmul(array_ops.expand_dims(ops.convert_to_tensor(x, self.dtype), -1), adjoint=adjoint), [-1])

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        return plain_ops.matrix_solve(self.to_dense(), linalg_ops.adjoint(rhs) if adjoint_arg else rhs, adjoint=adjoint)

    def determinant(self, name="det"):
        return plain_ops.matrix_determinant(self.to_dense())

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        return gen_ops.log(gen_ops.abs(self.determinant()))

    def trace(self, name: str = "trace") -> Any:
        return reduce_ops.reduce_sum(self.diag_part(), axis=-1)

    def diag_part(self, name="diag_part"):
        return linalg_ops.matrix_diag_part(self.to_dense())


class LinearOperatorFullMatrix(LinearOperator):
    def __init__(self, matrix: Any, is_non_singular: Any = None, is_self_adjoint: Any = None, is_positive_definite: Any = None,
                 is_square: Any = None, name: str = "LinearOperatorFullMatrix") -> None:
        self._matrix = ops.convert_to_tensor(matrix, name="matrix")
        super().__init__(self._matrix.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    def to_dense(self, name: str = "to_dense") -> Any:
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangle of `tril`; what is above it does not count."""

    def __init__(self, tril: Any, is_non_singular: Any = None, is_self_adjoint: Any = None, is_positive_definite: Any = None,
                 is_square: Any = None, name: str = "LinearOperatorLowerTriangular") -> None:
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        self._tril = gen_ops.matrix_band_part(ops.convert_to_tensor(tril, name="tril"), -1, 0)
        super().__init__(self._tril.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    def to_dense(self, name: str = "to_dense") -> Any:
        return self._tril

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        return plain_ops.matrix_triangular_solve(self._tril, linalg_ops.adjoint(rhs) if adjoint_arg else rhs, lower=True, adjoint=adjoint)

    def determinant(self, name: str = "det") -> Any:
        return reduce_ops.reduce_prod(self.diag_part(), axis=-1)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        return reduce_ops.reduce_sum(gen_ops.log(gen_ops.abs(self.diag_part())), axis=-1)


class LinearOperatorDiag(LinearOperator):
    def __init__(self, diag: Any, is_non_singular: Any = None, is_self_adjoint: Any = None, is_positive_definite: Any = None,
                 is_square: Any = None, name: str = "LinearOperatorDiag") -> None:
        self._diag = ops.convert_to_tensor(diag, name="diag")
        if is_self_adjoint is None and not self._diag.dtype.is_complex:
            is_self_adjoint = True
        super().__init__(self._diag.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    diag = property(lambda self: self._diag)

    def to_dense(self, name: str = "to_dense") -> Any:
        return linalg_ops.matrix_diag(self._diag)

    def diag_part(self, name: str = "diag_part") -> Any:
        return self._diag

    def matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        return self._column(adjoint) * (linalg_ops.adjoint(x) if adjoint_arg else x)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        return (linalg_ops.adjoint(rhs) if adjoint_arg else rhs) / self._column(adjoint)

    def _column(self, adjoint):
        return array_ops.expand_dims(math_ops.conj(self._diag) if adjoint else self._diag, -1)

    def determinant(self, name: str = "det") -> Any:
        return reduce_ops.reduce_prod(self._diag, axis=-1)


class LinearOperatorIdentity(LinearOperatorDiag):
    def __init__(self, num_rows: Any, batch_shape: Any = None, dtype: Optional[DTypeLike] = None, is_non_singular: bool = True,
                 is_self_adjoint: bool = True, is_positive_definite: bool = True, is_square: bool = True,
                 assert_proper_shapes: bool = False, name: str = "LinearOperatorIdentity") -> None:
        shape = array_ops.concat([ops.convert_to_tensor(list(batch_shape or []), dtypes.int32), [num_rows]], 0)
        super().__init__(array_ops.ones(shape, dtypes.as_dtype(dtype or dtypes.float32)), is_non_singular, is_self_adjoint,
                         is_positive_definite, is_square, name)


class LinearOperatorScaledIdentity(LinearOperatorDiag):
    def __init__(self, num_rows: Any, multiplier: Any, is_non_singular: Any = None, is_self_adjoint: Any = None,
                 is_positive_definite: Any = None, is_square: bool = True, assert_proper_shapes: bool = False,
                 name: str = "LinearOperatorScaledIdentity") -> None:
        multiplier = ops.convert_to_tensor(multiplier, name="multiplier")
        self.multiplier = multiplier
        super().__init__(array_ops.expand_dims(multiplier, -1) * array_ops.ones([num_rows], multiplier.dtype),
                         is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)
