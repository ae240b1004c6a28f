# SPDX-License-Identifier: Apache-2.0
"""tf.linalg.LinearOperator*: matrices by what is known of them."""
from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops import array_ops, linalg_ops, plain_ops, reduce_ops


class LinearOperator:
    """A matrix, or a batch of them. Kinds define to_dense(), and what they can do better."""

    def __init__(self, dtype, graph_parents=None, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name=None, parameters=None):
        self.dtype, self.name = dtypes.as_dtype(dtype), name or type(self).__name__
        self.is_non_singular, self.is_self_adjoint = is_non_singular, is_self_adjoint
        self.is_positive_definite, self.is_square = is_positive_definite, is_square

    shape = property(lambda self: self.to_dense().shape)

    def shape_tensor(self, name="shape_tensor"):
        return array_ops.shape(self.to_dense())

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        return linalg_ops.matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def matvec(self, x, adjoint=False, name="matvec"):
        return array_ops.squeeze(self.matmul(array_ops.expand_dims(ops.convert_to_tensor(x, self.dtype), -1), adjoint=adjoint), [-1])

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        return plain_ops.matrix_solve(self.to_dense(), linalg_ops.adjoint(rhs) if adjoint_arg else rhs, adjoint=adjoint)

    def determinant(self, name="det"):
        return plain_ops.matrix_determinant(self.to_dense())

    def log_abs_determinant(self, name="log_abs_det"):
        return gen_ops.log(gen_ops.abs(self.determinant()))

    def trace(self, name="trace"):
        return reduce_ops.reduce_sum(self.diag_part(), axis=-1)

    def diag_part(self, name="diag_part"):
        return linalg_ops.matrix_diag_part(self.to_dense())


class LinearOperatorFullMatrix(LinearOperator):
    def __init__(self, matrix, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorFullMatrix"):
        self._matrix = ops.convert_to_tensor(matrix, name="matrix")
        super().__init__(self._matrix.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    def to_dense(self, name="to_dense"):
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangle of `tril`; what is above it does not count."""

    def __init__(self, tril, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorLowerTriangular"):
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        self._tril = gen_ops.matrix_band_part(ops.convert_to_tensor(tril, name="tril"), -1, 0)
        super().__init__(self._tril.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    def to_dense(self, name="to_dense"):
        return self._tril

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        return plain_ops.matrix_triangular_solve(self._tril, linalg_ops.adjoint(rhs) if adjoint_arg else rhs, lower=True, adjoint=adjoint)

    def determinant(self, name="det"):
        return reduce_ops.reduce_prod(self.diag_part(), axis=-1)

    def log_abs_determinant(self, name="log_abs_det"):
        return reduce_ops.reduce_sum(gen_ops.log(gen_ops.abs(self.diag_part())), axis=-1)


class LinearOperatorDiag(LinearOperator):
    def __init__(self, diag, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorDiag"):
        self._diag = ops.convert_to_tensor(diag, name="diag")
        super().__init__(self._diag.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    diag = property(lambda self: self._diag)

    def to_dense(self, name="to_dense"):
        return linalg_ops.matrix_diag(self._diag)

    def diag_part(self, name="diag_part"):
        return self._diag

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        return array_ops.expand_dims(self._diag, -1) * (linalg_ops.adjoint(x) if adjoint_arg else x)

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        return (linalg_ops.adjoint(rhs) if adjoint_arg else rhs) / array_ops.expand_dims(self._diag, -1)

    def determinant(self, name="det"):
        return reduce_ops.reduce_prod(self._diag, axis=-1)


class LinearOperatorIdentity(LinearOperatorDiag):
    def __init__(self, num_rows, batch_shape=None, dtype=None, is_non_singular=True, is_self_adjoint=True, is_positive_definite=True,
                 is_square=True, assert_proper_shapes=False, name="LinearOperatorIdentity"):
        shape = array_ops.concat([ops.convert_to_tensor(list(batch_shape or []), dtypes.int32), [num_rows]], 0)
        super().__init__(array_ops.ones(shape, dtypes.as_dtype(dtype or dtypes.float32)), is_non_singular, is_self_adjoint,
                         is_positive_definite, is_square, name)


class LinearOperatorScaledIdentity(LinearOperatorDiag):
    def __init__(self, num_rows, multiplier, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=True,
                 assert_proper_shapes=False, name="LinearOperatorScaledIdentity"):
        multiplier = ops.convert_to_tensor(multiplier, name="multiplier")
        self.multiplier = multiplier
        super().__init__(array_ops.expand_dims(multiplier, -1) * array_ops.ones([num_rows], multiplier.dtype),
                         is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)
