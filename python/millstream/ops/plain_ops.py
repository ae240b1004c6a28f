# SPDX-License-Identifier: Apache-2.0
"""Functions that are one op each, where TF1's function has another name or other arguments than the op."""
from millstream import gen_ops
from millstream.framework import dtypes


def matrix_inverse(input, adjoint=False, name=None):  # pylint: disable=redefined-builtin
    return gen_ops.matrix_inverse(input, adjoint=adjoint, name=name)


def matrix_determinant(input, name=None):  # pylint: disable=redefined-builtin
    return gen_ops.matrix_determinant(input, name=name)


def log_matrix_determinant(input, name=None):  # pylint: disable=redefined-builtin
    return gen_ops.log_matrix_determinant(input, name=name)


def matrix_solve(matrix, rhs, adjoint=False, name=None):
    return gen_ops.matrix_solve(matrix, rhs, adjoint=adjoint, name=name)


def matrix_triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None):
    return gen_ops.matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)


def cholesky(input, name=None):  # pylint: disable=redefined-builtin
    return gen_ops.cholesky(input, name=name)


def qr(input, full_matrices=False, name=None):  # pylint: disable=redefined-builtin
    return gen_ops.qr(input, full_matrices=full_matrices, name=name)


def setdiff1d(x, y, index_dtype=dtypes.int32, name=None):
    """(values of x that are not in y, their positions)."""
    return gen_ops.list_diff(x, y, out_idx=index_dtype, name=name)


def listdiff(x, y, out_idx=None, name=None):
    return gen_ops.list_diff(x, y, out_idx=out_idx or dtypes.int32, name=name)


def tensor_scatter_update(tensor, indices, updates, name=None):
    return gen_ops.tensor_scatter_update(tensor, indices, updates, name=name)


def tensor_scatter_add(tensor, indices, updates, name=None):
    return gen_ops.tensor_scatter_add(tensor, indices, updates, name=name)


def tensor_scatter_sub(tensor, indices, updates, name=None):
    return gen_ops.tensor_scatter_sub(tensor, indices, updates, name=name)


def unravel_index(indices, dims, name=None):
    return gen_ops.unravel_index(indices, dims, name=name)


def igamma(a, x, name=None):
    return gen_ops.igamma(a, x, name=name)


def igammac(a, x, name=None):
    return gen_ops.igammac(a, x, name=name)


def betainc(a, b, x, name=None):
    return gen_ops.betainc(a, b, x, name=name)


def fft(input, name=None):  # pylint: disable=redefined-builtin
    return gen_ops.fft(input, name=name)


def ifft(input, name=None):  # pylint: disable=redefined-builtin
    return gen_ops.ifft(input, name=name)


def fft2d(input, name=None):  # pylint: disable=redefined-builtin
    return gen_ops.fft2d(input, name=name)


def ifft2d(input, name=None):  # pylint: disable=redefined-builtin
    return gen_ops.ifft2d(input, name=name)


def ctc_loss(labels, inputs=None, sequence_length=None, preprocess_collapse_repeated=False, ctc_merge_repeated=True,
             ignore_longer_outputs_than_inputs=False, time_major=True, logits=None):
    """Connectionist temporal classification: the loss of each sequence."""
    from millstream.framework import ops
    from millstream.ops import array_ops
    logits = ops.convert_to_tensor(inputs if logits is None else logits, name="logits")
    if not time_major:
        logits = array_ops.transpose(logits, [1, 0, 2])
    return gen_ops.ctc_loss(logits, labels.indices, labels.values, sequence_length,
                            preprocess_collapse_repeated=preprocess_collapse_repeated, ctc_merge_repeated=ctc_merge_repeated,
                            ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs)[0]


def _decoded(result):
    from millstream.framework.sparse_tensor import SparseTensor
    indices, values, shapes, log_probabilities = result
    return [SparseTensor(*parts) for parts in zip(indices, values, shapes)], log_probabilities


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    indices, values, shape, log_probabilities = gen_ops.ctc_greedy_decoder(inputs, sequence_length,
                                                                           merge_repeated=merge_repeated)
    return _decoded(([indices], [values], [shape], log_probabilities))


def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True):
    return _decoded(gen_ops.ctc_beam_search_decoder(inputs, sequence_length, beam_width=beam_width, top_paths=top_paths,
                                                    merge_repeated=merge_repeated))
