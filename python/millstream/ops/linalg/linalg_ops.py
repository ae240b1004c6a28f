# SPDX-License-Identifier: Apache-2.0
"""Products and decompositions of matrices: tf.matmul, tf.tensordot, tf.einsum, tf.matrix_*, ..."""
from __future__ import annotations

import numbers
import re
from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import dtypes, ops, tensor_util
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.arguments import unsupported

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike, TensorLike


def matmul(a: TensorLike, b: TensorLike, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
           adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False,
           output_type: Optional[DTypeLike] = None, name: Optional[str] = None) -> Tensor:
    """The product of two matrices, or of batches of them."""
    unsupported("tf.matmul", output_type=output_type)
    with ops.name_scope(name, "MatMul", [a, b]) as name:
        if transpose_a and adjoint_a:
            raise ValueError("Only one of `transpose_a` and `adjoint_a` can be True.")
        if transpose_b and adjoint_b:
            raise ValueError("Only one of `transpose_b` and `adjoint_b` can be True.")
        a = ops.convert_to_tensor(a, name="a")
        b = ops.convert_to_tensor(b, dtype=a.dtype.base_dtype if not ops.is_dense_tensor_like(b) else None, name="b")
        a_rank, b_rank = a.shape.rank, b.shape.rank
        if not a_is_sparse and not b_is_sparse and (a_rank is None or a_rank > 2 or b_rank is None or b_rank > 2):
            if transpose_a:  # a batch product has adjoints only
                a, adjoint_a = math_ops.conj(a), True
            if transpose_b:
                b, adjoint_b = math_ops.conj(b), True
            return gen_ops.batch_mat_mul_v2(a, b, adj_x=adjoint_a, adj_y=adjoint_b, name=name)
        if adjoint_a:
            a, transpose_a = math_ops.conj(a), True
        if adjoint_b:
            b, transpose_b = math_ops.conj(b), True
        return gen_ops.mat_mul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=name)


def batch_matmul(x: TensorLike, y: TensorLike, adj_x: bool = False, adj_y: bool = False, name: Optional[str] = None) -> Any:
    return gen_ops.batch_mat_mul_v2(x, y, adj_x=adj_x, adj_y=adj_y, name=name or "MatMul")


sparse_matmul = matmul


def matvec(a: TensorLike, b: TensorLike, transpose_a: bool = False, adjoint_a: bool = False, a_is_sparse: bool = False,
           b_is_sparse: bool = False, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "MatVec", [a, b]):
        product = matmul(a, array_ops.expand_dims(b, axis=-1), transpose_a=transpose_a, adjoint_a=adjoint_a)
        return array_ops.squeeze(product, axis=-1)


def tensordot(a: TensorLike, b: TensorLike, axes: Any, name: Optional[str] = None) -> Tensor:
    """Sum over pairs of axes: an int n (the last n of a, the first n of b) or two lists."""
    with ops.name_scope(name, "Tensordot", [a, b, axes]) as name:
        a, b = ops.convert_to_tensor(a, name="a"), ops.convert_to_tensor(b, name="b")
        a_axes, b_axes = _tensordot_axes(a, axes)
        a, a_free, a_static = _tensordot_matrix(a, a_axes, False)
        b, b_free, b_static = _tensordot_matrix(b, b_axes, True)
        product = matmul(a, b)
        if isinstance(a_free, list) and isinstance(b_free, list):
            if product.shape.is_fully_defined() and product.shape.as_list() == a_free + b_free:
                return product
            return array_ops.reshape(product, a_free + b_free, name=name)
        shape = array_ops.concat([ops.convert_to_tensor(a_free, dtypes.int32), ops.convert_to_tensor(b_free, dtypes.int32)],
                                 0)
        product = array_ops.reshape(product, shape, name=name)
        if a_static is not None and b_static is not None:
            product.set_shape(a_static + b_static)
        return product


def _tensordot_axes(a, axes):
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
        rank = a.shape.rank
        if rank is None:
            raise ValueError("The rank of `a` must be known if `axes` is a number")
        if axes > rank:
            raise ValueError(f"`axes` must not be larger than the number of dimensions of tensor {a}.  Received {axes}.")
        return list(range(rank - axes, rank)), list(range(axes))
    if isinstance(axes, ops.Tensor):
        axes = tensor_util.constant_value(axes).tolist()
    if len(axes) != 2:
        raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
    one, two = ([int(x)] if np.ndim(x) == 0 else [int(v) for v in x] for x in axes)
    if len(one) != len(two):
        raise ValueError(f"Different number of contraction axes `a` and `b`, {len(one)} != {len(two)}.")
    return one, two


def _tensordot_matrix(a, axes, flipped):
    """`a` with the given axes in front (flipped) or at the end, as a matrix; the sizes of the others."""
    rank = a.shape.rank
    if rank is None:
        raise ValueError("Tensordot needs tensors of known rank")
    axes = [i % rank for i in axes]
    free = [i for i in range(rank) if i not in axes]
    sizes = a.shape.as_list()
    perm = axes + free if flipped else free + axes
    moved = a if perm == list(range(rank)) else array_ops.transpose(a, perm)
    static_free = [sizes[i] for i in free]
    if None not in sizes:
        product_free = int(np.prod([sizes[i] for i in free], dtype=np.int64))
        product_axes = int(np.prod([sizes[i] for i in axes], dtype=np.int64))
        shape = [product_axes, product_free] if flipped else [product_free, product_axes]
        if moved.shape.as_list() != shape:
            moved = array_ops.reshape(moved, shape)
        return moved, static_free, static_free
    dynamic = array_ops.shape(a)
    free_sizes = array_ops.gather_sizes(dynamic, free)
    axes_sizes = array_ops.gather_sizes(dynamic, axes)
    products = [reduce_ops.reduce_prod(axes_sizes), reduce_ops.reduce_prod(free_sizes)]
    moved = array_ops.reshape(moved, array_ops.stack(products if flipped else products[::-1]))
    return moved, free_sizes, static_free


def einsum(equation, *inputs, **kwargs) -> Tensor:
    """Sums of products by labels of axes: "ij,jk->ik". With "..." for axes that are broadcast."""
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(f"Invalid keyword arguments for this function: {', '.join(sorted(kwargs))}. Expected: name, "
                        f"optimize.")
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        inputs = tuple(inputs[0])
    with ops.name_scope(name, "einsum", list(inputs)):
        tensors = [ops.convert_to_tensor(t) for t in inputs]
        terms, output = _einsum_terms(equation, tensors)
        value, labels = tensors[0], terms[0]
        value, labels = _einsum_diagonal(value, labels)
        value, labels = _einsum_drop(value, labels, set(output) | set("".join(terms[1:])))
        for i, (other, other_labels) in enumerate(zip(tensors[1:], terms[1:]), 2):
            other, other_labels = _einsum_diagonal(other, other_labels)
            keep = set(output) | set("".join(terms[i:]))
            other, other_labels = _einsum_drop(other, other_labels, keep | set(labels))
            value, labels = _einsum_drop(value, labels, keep | set(other_labels))
            value, labels = _einsum_pair(value, labels, other, other_labels, keep)
        if labels != output:
            value = array_ops.transpose(value, [labels.index(c) for c in output])
        return value


def _einsum_terms(equation, tensors):
    equation = equation.replace(" ", "")
    match = re.match(r"^([a-zA-Z.,]+)(->[a-zA-Z.]*)?$", equation)
    if not match:
        raise ValueError(f"Indices have incorrect format. Received: {equation}.")
    terms = match.group(1).split(",")
    if len(terms) != len(tensors):
        raise ValueError(f"Got {len(tensors)} inputs for equation \"{equation}\", expecting {len(terms)}.")
    extra = 0
    for term, tensor in zip(terms, tensors):
        if tensor.shape.rank is None:
            raise ValueError("einsum needs inputs of known rank")
        if "..." in term:
            extra = max(extra, tensor.shape.rank - len(term) + 3)
        elif len(term) != tensor.shape.rank:
            raise ValueError(f"Unexpected number of dimensions: {tensor.shape.rank} for \"{term}\"")
    unused = [c for c in "0123456789"][:extra]
    spelled = [t.replace("...", "".join(unused[extra - (x.shape.rank - len(t) + 3):])) if "..." in t else t
               for t, x in zip(terms, tensors)]
    if match.group(2) is not None:
        output = match.group(2)[2:].replace("...", "".join(unused))
    else:
        counts = "".join(spelled)
        output = "".join(unused) + "".join(sorted(c for c in set(counts) if counts.count(c) == 1 and not c.isdigit()))
    for c in output:
        if c not in "".join(spelled):
            raise ValueError(f"Unknown output axis label: {c}")
    return spelled, output


def _einsum_diagonal(value, labels):
    """Takes the diagonal of axes that have the same label."""
    for c in sorted(set(labels)):
        while labels.count(c) > 1:
            i = labels.index(c)
            j = labels.index(c, i + 1)
            order = [k for k in range(len(labels)) if k not in (i, j)] + [i, j]
            value = gen_ops.matrix_diag_part(array_ops.transpose(value, order))
            labels = "".join(labels[k] for k in order[:-1])
    return value, labels


def _einsum_drop(value, labels, keep):
    axes = [i for i, c in enumerate(labels) if c not in keep]
    if not axes:
        return value, labels
    return reduce_ops.reduce_sum(value, axes), "".join(c for c in labels if c in keep)


def _einsum_pair(a, a_labels, b, b_labels, keep):
    """One product: labels that both have and that stay are batches; that go away are summed."""
    both = [c for c in a_labels if c in b_labels]
    batch = [c for c in both if c in keep]
    summed = [c for c in both if c not in keep]
    a_free = [c for c in a_labels if c not in b_labels]
    b_free = [c for c in b_labels if c not in a_labels]
    a_shape, b_shape = array_ops.shape(a), array_ops.shape(b)

    def sizes(shape, tensor, labels, wanted):
        static = [tensor.shape.as_list()[labels.index(c)] for c in wanted]
        return [s if s is not None else shape[labels.index(c)] for s, c in zip(static, wanted)]

    batch_sizes = []
    for one, two in zip(sizes(a_shape, a, a_labels, batch), sizes(b_shape, b, b_labels, batch)):
        batch_sizes.append(two if isinstance(one, int) and one == 1 else one)
    a_sizes, b_sizes = sizes(a_shape, a, a_labels, a_free), sizes(b_shape, b, b_labels, b_free)
    left = array_ops.transpose(a, [a_labels.index(c) for c in batch + a_free + summed])
    right = array_ops.transpose(b, [b_labels.index(c) for c in batch + summed + b_free])
    left = array_ops.reshape(left, _shape(sizes(a_shape, a, a_labels, batch), a_sizes, sizes(a_shape, a, a_labels, summed)))
    right = array_ops.reshape(right, _shape(sizes(b_shape, b, b_labels, batch), sizes(b_shape, b, b_labels, summed),
                                            b_sizes))
    product = matmul(left, right)
    return (array_ops.reshape(product, array_ops.stack(batch_sizes + a_sizes + b_sizes)
                              if any(isinstance(s, ops.Tensor) for s in batch_sizes + a_sizes + b_sizes)
                              else batch_sizes + a_sizes + b_sizes), "".join(batch + a_free + b_free))


def _shape(batch, rows, columns):
    def product(values):
        out = 1
        for v in values:
            out = v * out if isinstance(v, ops.Tensor) else out * v
        return out
    parts = list(batch) + [product(rows), product(columns)]
    return array_ops.stack(parts) if any(isinstance(p, ops.Tensor) for p in parts) else parts


def cross(a: TensorLike, b: TensorLike, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "Cross", [a, b]):
        if hasattr(gen_ops, "cross"):
            return gen_ops.cross(a, b)
        a, b = array_ops.unstack(ops.convert_to_tensor(a), axis=-1), array_ops.unstack(ops.convert_to_tensor(b), axis=-1)
        return array_ops.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], axis=-1)


def matrix_diag(diagonal: Any, name: str = "diag", k: Any = 0, num_rows: Any = -1, num_cols: Any = -1,
                padding_value: Any = 0) -> Tensor:
    if _is_default(k, 0) and _is_default(num_rows, -1) and _is_default(num_cols, -1) and _is_default(padding_value, 0):
        return gen_ops.matrix_diag(diagonal, name=name)
    diagonal = ops.convert_to_tensor(diagonal)
    return gen_ops.matrix_diag_v2(diagonal, k, num_rows, num_cols, ops.convert_to_tensor(padding_value, dtype=diagonal.dtype.base_dtype),
                                  name=name)


def _is_default(value, default):
    return not isinstance(value, ops.Tensor) and np.ndim(value) == 0 and value == default


def matrix_diag_part(input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0) -> Tensor:  # pylint: disable=redefined-builtin
    if _is_default(k, 0) and _is_default(padding_value, 0):
        return gen_ops.matrix_diag_part(input, name=name)
    input = ops.convert_to_tensor(input)
    return gen_ops.matrix_diag_part_v2(input, k, ops.convert_to_tensor(padding_value, dtype=input.dtype.base_dtype), name=name)


def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0) -> Tensor:  # pylint: disable=redefined-builtin
    if _is_default(k, 0):
        return gen_ops.matrix_set_diag(input, diagonal, name=name)
    return gen_ops.matrix_set_diag_v2(input, diagonal, k, name=name)


def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """Singular values and, unless `compute_uv` is False, singular vectors."""
    s, u, v = gen_ops.svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (math_ops.real(s), u, v) if compute_uv else math_ops.real(s)


def self_adjoint_eig(tensor: TensorLike, name: Optional[str] = None) -> Any:
    e, v = gen_ops.self_adjoint_eig_v2(tensor, compute_v=True, name=name)
    return e, v


def self_adjoint_eigvals(tensor: TensorLike, name: Optional[str] = None) -> Tensor:
    return gen_ops.self_adjoint_eig_v2(tensor, compute_v=False, name=name)[0]


def cholesky_solve(chol: Any, rhs: Any, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "cholesky_solve", [chol, rhs]):
        y = gen_ops.matrix_triangular_solve(chol, rhs, adjoint=False, lower=True)
        return gen_ops.matrix_triangular_solve(chol, y, adjoint=True, lower=True)


def matrix_solve_ls(matrix: Any, rhs: Any, l2_regularizer: Any = 0.0, fast: bool = True, name: Optional[str] = None) -> Tensor:
    """The x of least squares |matrix x - rhs|^2 + l2_regularizer |x|^2; of the least length if there are many."""
    with ops.name_scope(name, "matrix_solve_ls", [matrix, rhs, l2_regularizer]) as name:
        matrix = ops.convert_to_tensor(matrix, name="matrix")
        rows, columns = (matrix.shape[-2:].as_list() if matrix.shape.rank is not None else (None, None))
        if not fast or rows is None or columns is None:
            return gen_ops.matrix_solve_ls(matrix, rhs, ops.convert_to_tensor(l2_regularizer, dtypes.float64), fast=fast, name=name)
        wide = rows < columns
        gram = matmul(matrix, matrix, adjoint_a=not wide, adjoint_b=wide)
        if not isinstance(l2_regularizer, numbers.Real) or l2_regularizer:
            eye = array_ops.eye(min(rows, columns), dtype=matrix.dtype.base_dtype)
            gram = gram + gen_ops.cast(ops.convert_to_tensor(l2_regularizer), DstT=matrix.dtype.base_dtype) * eye
        chol = gen_ops.cholesky(gram)
        if wide:
            return matmul(matrix, cholesky_solve(chol, rhs), adjoint_a=True)
        return cholesky_solve(chol, matmul(matrix, rhs, adjoint_a=True))


def logdet(matrix: Any, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "logdet", [matrix]):
        chol = gen_ops.cholesky(matrix)
        return 2.0 * reduce_ops.reduce_sum(gen_ops.log(math_ops.real(gen_ops.matrix_diag_part(chol))), axis=[-1])


def adjoint(matrix: Any, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "adjoint", [matrix]):
        return array_ops.matrix_transpose(ops.convert_to_tensor(matrix, name="matrix"), conjugate=True)


def normalize(tensor: TensorLike, ord: str = "euclidean", axis: Any = None,
              name: Optional[str] = None) -> tuple[Tensor, Tensor]:  # pylint: disable=redefined-builtin
    """(tensor / its norm, the norm)."""
    with ops.name_scope(name, "normalize", [tensor]):
        tensor = ops.convert_to_tensor(tensor)
        size = reduce_ops.norm(tensor, ord, axis, keepdims=True)
        return tensor / size, size
