# SPDX-License-Identifier: Apache-2.0
"""tf.linalg: functions of matrices, pseudo-inverses, what an LU decomposition is for, tridiagonal matrices."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops import plain_ops
from millstream.ops.arguments import unsupported
from millstream.ops.array import array_ops, index_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import math_ops, reduce_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import TensorLike
    from millstream.framework.tensor import Tensor

# Numerators of Padé's approximants of exp, by degree, and the largest norm for which a degree is exact in float32 and float64.
_PADE = {
    3: (120.0, 60.0, 12.0, 1.0),
    5: (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0),
    7: (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
    13: (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0, 10559470521600.0,
         670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0),
}


def _pade(matrix, degree):
    """(U, V) with exp(A) = (V - U)^-1 (V + U), approximately."""
    b = _PADE[degree]
    size = array_ops.shape(matrix)
    identity = linalg_ops.matrix_diag(array_ops.ones(size[:-1], matrix.dtype))
    powers = [identity, linalg_ops.matmul(matrix, matrix)]  # A^0, A^2, A^4, ...
    for _ in range(2, degree // 2 + 1):
        powers.append(linalg_ops.matmul(powers[-1], powers[1]))
    odd = math_ops.add_n([math_ops.cast(b[2 * i + 1], matrix.dtype) * p for i, p in enumerate(powers)])
    even = math_ops.add_n([math_ops.cast(b[2 * i], matrix.dtype) * p for i, p in enumerate(powers)])
    return linalg_ops.matmul(matrix, odd), even


def expm(input: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    """The matrix exponential, by scaling and squaring."""
    with ops.name_scope(name, "matrix_exponential"):
        matrix = ops.convert_to_tensor(input, name="input")
        degree, largest = (7, 3.92572478313877) if matrix.dtype in (dtypes.float32, dtypes.complex64) else (13, 5.37192035114815)
        real = matrix.dtype.real_dtype
        norm = reduce_ops.reduce_max(reduce_ops.reduce_sum(gen_ops.abs(matrix) if not matrix.dtype.is_complex else
                                                           math_ops.abs(matrix), axis=-2), axis=-1)[..., None, None]
        squarings = gen_ops.maximum(gen_ops.ceil(gen_ops.log(norm / math_ops.cast(largest, real)) / np.log(2.0).astype(
            real.as_numpy_dtype)), math_ops.cast(0.0, real))
        squarings = index_ops.where(gen_ops.is_finite(squarings), squarings, array_ops.zeros_like(squarings))
        u, v = _pade(matrix / math_ops.cast(gen_ops.pow(math_ops.cast(2.0, real), squarings), matrix.dtype), degree)
        result = plain_ops.matrix_solve(v - u, v + u)
        most = reduce_ops.reduce_max(squarings)

        def square(i, at):
            squared = linalg_ops.matmul(at, at)
            wanted = gen_ops.broadcast_to(gen_ops.less(i, squarings), array_ops.shape(at))
            return i + 1, index_ops.where(wanted, squared, at)
        _, result = control_flow_ops.while_loop(lambda i, _: gen_ops.less(i, most), square, [math_ops.cast(0.0, real), result])
        result.set_shape(matrix.shape)
        return result


def logm(input: Any, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.matrix_logarithm(input, name=name)


def sqrtm(input: Any, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.matrix_square_root(input, name=name)


def matrix_rank(a: TensorLike, tol: Any = None, validate_args: bool = False, name: Optional[str] = None) -> Tensor:
    """How many singular values are above `tol`."""
    with ops.name_scope(name, "matrix_rank"):
        a = ops.convert_to_tensor(a, name="a")
        s = linalg_ops.svd(a, compute_uv=False)
        if tol is None:
            rows_cols = reduce_ops.reduce_max(array_ops.shape(a)[-2:])
            tol = np.finfo(a.dtype.real_dtype.as_numpy_dtype).eps * math_ops.cast(rows_cols, s.dtype) * reduce_ops.reduce_max(
                s, axis=-1, keepdims=True)
        return reduce_ops.reduce_sum(math_ops.cast(s > tol, dtypes.int32), axis=-1)


def pinv(a: TensorLike, rcond: Any = None, validate_args: bool = False, name: Optional[str] = None) -> Tensor:
    """Returns the Moore-Penrose pseudo-inverse of each matrix. Singular values below `rcond` times the largest count as zero."""
    with ops.name_scope(name, "pinv"):
        a = ops.convert_to_tensor(a, name="a")
        real = a.dtype.real_dtype
        if rcond is None:
            sizes = math_ops.cast(reduce_ops.reduce_max(array_ops.shape(a)[-2:]), real)
            rcond = 10.0 * sizes * np.finfo(real.as_numpy_dtype).eps
        s, u, v = linalg_ops.svd(a, full_matrices=False, compute_uv=True)
        cutoff = ops.convert_to_tensor(rcond, dtype=real)[..., None] * reduce_ops.reduce_max(s, axis=-1, keepdims=True)
        inverse = index_ops.where(gen_ops.broadcast_to(s > cutoff, array_ops.shape(s)), gen_ops.reciprocal(s), array_ops.zeros_like(s))
        return linalg_ops.matmul(v * math_ops.cast(inverse[..., None, :], a.dtype), u, adjoint_b=True)


# An LU decomposition is (lower_upper, perm): both triangles in one matrix, and the order of rows.


def lu_solve(lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "lu_solve"):
        lower_upper, rhs = ops.convert_to_tensor(lower_upper), ops.convert_to_tensor(rhs)
        perm = ops.convert_to_tensor(perm)
        if lower_upper.shape.rank == 2 and perm.shape.rank == 1:
            permuted = index_ops.gather(rhs, perm, axis=-2)
        else:
            permuted = index_ops.gather(rhs, perm, axis=-2, batch_dims=perm.shape.rank - 1)
        lower = linalg_ops.matrix_set_diag(gen_ops.matrix_band_part(lower_upper, -1, 0),
                                           array_ops.ones(array_ops.shape(lower_upper)[:-1], lower_upper.dtype))
        return plain_ops.matrix_triangular_solve(lower_upper, plain_ops.matrix_triangular_solve(lower, permuted), lower=False)


def lu_matrix_inverse(lower_upper: Any, perm: Any, validate_args: bool = False, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "lu_matrix_inverse"):
        lower_upper = ops.convert_to_tensor(lower_upper)
        identity = linalg_ops.matrix_diag(array_ops.ones(array_ops.shape(lower_upper)[:-1], lower_upper.dtype))
        return lu_solve(lower_upper, perm, identity)


def lu_reconstruct(lower_upper: Any, perm: Any, validate_args: bool = False, name: Optional[str] = None) -> Tensor:
    """The matrix whose decomposition it is."""
    with ops.name_scope(name, "lu_reconstruct"):
        lower_upper, perm = ops.convert_to_tensor(lower_upper), ops.convert_to_tensor(perm)
        lower = linalg_ops.matrix_set_diag(gen_ops.matrix_band_part(lower_upper, -1, 0),
                                           array_ops.ones(array_ops.shape(lower_upper)[:-1], lower_upper.dtype))
        product = linalg_ops.matmul(lower, gen_ops.matrix_band_part(lower_upper, 0, -1))
        if lower_upper.shape.rank == 2:
            return index_ops.gather(product, gen_ops.invert_permutation(perm))
        from millstream.ops.flow import functional_ops
        size = array_ops.shape(perm)[-1]
        inverse = functional_ops.map_fn(gen_ops.invert_permutation, array_ops.reshape(perm, [-1, size]))
        rows = index_ops.gather(array_ops.reshape(product, [-1, size, size]), inverse, batch_dims=1)
        return array_ops.reshape(rows, array_ops.shape(lower_upper))


# Tridiagonal matrices: "compact" [..., 3, n] (upper, main, lower diagonal), "sequence" (a tuple of them) or "matrix".


def _compact(diagonals, diagonals_format):
    if diagonals_format == "compact":
        return ops.convert_to_tensor(diagonals)
    if diagonals_format == "matrix":
        return gen_ops.matrix_diag_part_v3(diagonals, (-1, 1), 0, align="LEFT_RIGHT")
    if diagonals_format != "sequence":
        raise ValueError(f"Expected diagonals_format to be one of compact, sequence, matrix, not {diagonals_format!r}")
    upper, main, lower = (ops.convert_to_tensor(d) for d in diagonals)
    size = main.shape.as_list()[-1]

    def padded(tensor, at_end):
        if tensor.shape.as_list()[-1] == size:
            return tensor
        pads = [[0, 0]] * (tensor.shape.rank - 1) + [[0, 1] if at_end else [1, 0]]
        return array_ops.pad(tensor, pads)
    return array_ops.stack([padded(upper, True), main, padded(lower, False)], axis=-2)


def tridiagonal_solve(diagonals: Any, rhs: Any, diagonals_format: str = "compact", transpose_rhs: bool = False,
                      conjugate_rhs: bool = False, name: Optional[str] = None, partial_pivoting: bool = True,
                      perturb_singular: bool = False) -> Tensor:
    """Solves tridiagonal systems of equations.

    `diagonals` has them as one tensor, as three vectors, or as full matrices (`diagonals_format`).
    """
    unsupported("tf.linalg.tridiagonal_solve", perturb_singular=perturb_singular)
    with ops.name_scope(name, "tridiagonal_solve"):
        compact = _compact(diagonals, diagonals_format)
        rhs = ops.convert_to_tensor(rhs, dtype=compact.dtype)
        if rhs.shape.rank == compact.shape.rank - 1:
            rhs = math_ops.conj(rhs) if conjugate_rhs else rhs
            return array_ops.squeeze(gen_ops.tridiagonal_solve(compact, rhs[..., None], partial_pivoting=partial_pivoting), [-1])
        if transpose_rhs:
            rhs = linalg_ops.adjoint(rhs) if conjugate_rhs else array_ops.matrix_transpose(rhs)
        elif conjugate_rhs:
            rhs = math_ops.conj(rhs)
        out = gen_ops.tridiagonal_solve(compact, rhs, partial_pivoting=partial_pivoting)
        return array_ops.matrix_transpose(out) if transpose_rhs else out


def tridiagonal_matmul(diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "tridiagonal_matmul"):
        compact = _compact(diagonals, diagonals_format)
        return gen_ops.tridiagonal_mat_mul(compact[..., 0:1, :], compact[..., 1:2, :], compact[..., 2:3, :], rhs)
