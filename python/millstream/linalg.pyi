# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.gen_ops import diag_part as tensor_diag_part
from millstream.gen_ops import matrix_band_part as band_part
from millstream.ops.array.array_ops import diag as tensor_diag
from millstream.ops.array.array_ops import eye as eye
from millstream.ops.array.array_ops import matrix_transpose as matrix_transpose
from millstream.ops.array.array_ops import matrix_transpose as transpose
from millstream.ops.linalg.linalg_ops import adjoint as adjoint
from millstream.ops.linalg.linalg_ops import cholesky_solve as cholesky_solve
from millstream.ops.linalg.linalg_ops import cross as cross
from millstream.ops.linalg.linalg_ops import einsum as einsum
from millstream.ops.linalg.linalg_ops import logdet as logdet
from millstream.ops.linalg.linalg_ops import matmul as matmul
from millstream.ops.linalg.linalg_ops import matrix_diag as diag
from millstream.ops.linalg.linalg_ops import matrix_diag_part as diag_part
from millstream.ops.linalg.linalg_ops import matrix_set_diag as set_diag
from millstream.ops.linalg.linalg_ops import matrix_solve_ls as lstsq
from millstream.ops.linalg.linalg_ops import matvec as matvec
from millstream.ops.linalg.linalg_ops import normalize as normalize
from millstream.ops.linalg.linalg_ops import self_adjoint_eig as eigh
from millstream.ops.linalg.linalg_ops import self_adjoint_eigvals as eigvalsh
from millstream.ops.linalg.linalg_ops import svd as svd
from millstream.ops.linalg.linalg_ops import tensordot as tensordot
from millstream.ops.linalg.linear_operators import LinearOperator as LinearOperator
from millstream.ops.linalg.linear_operators import LinearOperatorDiag as LinearOperatorDiag
from millstream.ops.linalg.linear_operators import LinearOperatorFullMatrix as LinearOperatorFullMatrix
from millstream.ops.linalg.linear_operators import LinearOperatorIdentity as LinearOperatorIdentity
from millstream.ops.linalg.linear_operators import LinearOperatorLowerTriangular as LinearOperatorLowerTriangular
from millstream.ops.linalg.linear_operators import LinearOperatorScaledIdentity as LinearOperatorScaledIdentity
from millstream.ops.linalg.linear_operators_more import LinearOperatorAdjoint as LinearOperatorAdjoint
from millstream.ops.linalg.linear_operators_more import LinearOperatorBlockDiag as LinearOperatorBlockDiag
from millstream.ops.linalg.linear_operators_more import LinearOperatorCirculant as LinearOperatorCirculant
from millstream.ops.linalg.linear_operators_more import LinearOperatorComposition as LinearOperatorComposition
from millstream.ops.linalg.linear_operators_more import LinearOperatorHouseholder as LinearOperatorHouseholder
from millstream.ops.linalg.linear_operators_more import LinearOperatorInversion as LinearOperatorInversion
from millstream.ops.linalg.linear_operators_more import LinearOperatorKronecker as LinearOperatorKronecker
from millstream.ops.linalg.linear_operators_more import LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate
from millstream.ops.linalg.linear_operators_more import LinearOperatorPermutation as LinearOperatorPermutation
from millstream.ops.linalg.linear_operators_more import LinearOperatorToeplitz as LinearOperatorToeplitz
from millstream.ops.linalg.linear_operators_more import LinearOperatorTridiag as LinearOperatorTridiag
from millstream.ops.linalg.linear_operators_more import LinearOperatorZeros as LinearOperatorZeros
from millstream.ops.linalg.matrix_functions import expm as expm
from millstream.ops.linalg.matrix_functions import logm as logm
from millstream.ops.linalg.matrix_functions import lu_matrix_inverse as lu_matrix_inverse
from millstream.ops.linalg.matrix_functions import lu_reconstruct as lu_reconstruct
from millstream.ops.linalg.matrix_functions import lu_solve as lu_solve
from millstream.ops.linalg.matrix_functions import matrix_rank as matrix_rank
from millstream.ops.linalg.matrix_functions import pinv as pinv
from millstream.ops.linalg.matrix_functions import sqrtm as sqrtm
from millstream.ops.linalg.matrix_functions import tridiagonal_matmul as tridiagonal_matmul
from millstream.ops.linalg.matrix_functions import tridiagonal_solve as tridiagonal_solve
from millstream.ops.math.clip_ops import global_norm as global_norm
from millstream.ops.math.reduce_ops import norm as norm
from millstream.ops.math.reduce_ops import trace as trace
from millstream.ops.nn.nn_ops import l2_normalize as l2_normalize
from millstream.ops.plain_ops import cholesky as cholesky
from millstream.ops.plain_ops import log_matrix_determinant as slogdet
from millstream.ops.plain_ops import lu as lu
from millstream.ops.plain_ops import matrix_determinant as det
from millstream.ops.plain_ops import matrix_inverse as inv
from millstream.ops.plain_ops import matrix_solve as solve
from millstream.ops.plain_ops import matrix_triangular_solve as triangular_solve
from millstream.ops.plain_ops import qr as qr

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorCirculant",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorPermutation",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorTridiag",
    "LinearOperatorZeros",
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "logm",
    "lstsq",
    "lu",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
]
