# SPDX-License-Identifier: Apache-2.0
"""Functions that are one op each, where TF1's function has another name or other arguments than the op."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.sparse_tensor import SparseTensor
    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import TensorLike
    from millstream.gen_ops import Lu


def matrix_inverse(input: Any, adjoint: bool = False, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.matrix_inverse(input, adjoint=adjoint, name=name)


def matrix_determinant(input: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.matrix_determinant(input, name=name)


def log_matrix_determinant(input: Any, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.log_matrix_determinant(input, name=name)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: Optional[str] = None) -> Tensor:
    return gen_ops.matrix_solve(matrix, rhs, adjoint=adjoint, name=name)


def matrix_triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False,
                            name: Optional[str] = None) -> Tensor:
    return gen_ops.matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)


def cholesky(input: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.cholesky(input, name=name)


def qr(input: Any, full_matrices: bool = False, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.qr(input, full_matrices=full_matrices, name=name)


def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: Any = dtypes.int32, name: Optional[str] = None) -> Any:
    """(values of x that are not in y, their positions)."""
    return gen_ops.list_diff(x, y, out_idx=index_dtype, name=name)


def listdiff(x: TensorLike, y: TensorLike, out_idx: Any = None, name: Optional[str] = None) -> Any:
    return gen_ops.list_diff(x, y, out_idx=out_idx or dtypes.int32, name=name)


def tensor_scatter_update(tensor: TensorLike, indices: Any, updates: Any, name: Optional[str] = None) -> Tensor:
    return gen_ops.tensor_scatter_update(tensor, indices, updates, name=name)


def tensor_scatter_add(tensor: TensorLike, indices: Any, updates: Any, name: Optional[str] = None) -> Tensor:
    return gen_ops.tensor_scatter_add(tensor, indices, updates, name=name)


def tensor_scatter_sub(tensor: TensorLike, indices: Any, updates: Any, name: Optional[str] = None) -> Any:
    return gen_ops.tensor_scatter_sub(tensor, indices, updates, name=name)


def unravel_index(indices: Any, dims: Any, name: Optional[str] = None) -> Any:
    return gen_ops.unravel_index(indices, dims, name=name)


def igamma(a: TensorLike, x: TensorLike, name: Optional[str] = None) -> Any:
    return gen_ops.igamma(a, x, name=name)


def igammac(a: TensorLike, x: TensorLike, name: Optional[str] = None) -> Any:
    return gen_ops.igammac(a, x, name=name)


def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: Optional[str] = None) -> Any:
    return gen_ops.betainc(a, b, x, name=name)


def fft(input: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.fft(input, name=name)


def ifft(input: Any, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.ifft(input, name=name)


def fft2d(input: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.fft2d(input, name=name)


def ifft2d(input: Any, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.ifft2d(input, name=name)


def ctc_loss(labels: Any, inputs: Any = None, sequence_length: Any = None, preprocess_collapse_repeated: Any = False,
             ctc_merge_repeated: Any = True, ignore_longer_outputs_than_inputs: Any = False, time_major: Any = True,
             logits: Any = None) -> Tensor:
    """Connectionist temporal classification: the loss of each sequence."""
    from millstream.framework import ops
    from millstream.ops.array import array_ops
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


def ctc_greedy_decoder(inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: Any = None) -> tuple[list[SparseTensor], Tensor]:
    """The label sequences of the best class at each time, without repeats and blanks."""
    indices, values, shape, log_probabilities = gen_ops.ctc_greedy_decoder(
        inputs, sequence_length, merge_repeated=merge_repeated, blank_index=-1 if blank_index is None else blank_index)
    return _decoded(([indices], [values], [shape], log_probabilities))


def ctc_beam_search_decoder(inputs: Any, sequence_length: Any, beam_width: Any = 100, top_paths: Any = 1,
                            merge_repeated: bool = True) -> Any:
    """The likeliest label sequences of CTC logits, by beam search, and their log probabilities."""
    return _decoded(gen_ops.ctc_beam_search_decoder(inputs, sequence_length, beam_width=beam_width, top_paths=top_paths,
                                                    merge_repeated=merge_repeated))


def _padded(x, fft_length, rank, inverse):
    """With zeros after the end of axes that are shorter than the transform."""
    from millstream.framework import tensor_util
    from millstream.ops.array import array_ops
    needed = tensor_util.constant_value(fft_length)
    known = x.shape.as_list() if x.shape.rank is not None else None
    if needed is None or known is None or None in known[-rank:]:
        needed, sizes, outer = fft_length, array_ops.shape(x)[-rank:], gen_ops.rank(x) - rank
        if inverse:
            needed = array_ops.concat([needed[:-1], needed[-1:] // 2 + 1], 0)
        after = array_ops.concat([array_ops.zeros(array_ops.stack([outer]), dtypes.int32), gen_ops.maximum(0, needed - sizes)], 0)
        out = array_ops.pad(x, array_ops.stack([array_ops.zeros_like(after), after], axis=1))
        if known is not None:
            out.set_shape(known[:-rank] + [None] * rank)
        return out
    needed = [int(n) for n in needed]
    if inverse:
        needed[-1] = needed[-1] // 2 + 1
    after = [max(0, n - s) for n, s in zip(needed, known[-rank:])]
    return array_ops.pad(x, [[0, 0]] * (len(known) - rank) + [[0, a] for a in after]) if any(after) and 0 not in known else x


def _transform(gen_name, rank, inverse=False):
    """A Fourier transform of real numbers over the last axes, which are padded or cut to fft_length."""
    def apply(input_tensor, fft_length=None, name=None):
        from millstream.framework import ops
        from millstream.ops.array import array_ops
        input_tensor = ops.convert_to_tensor(input_tensor)
        if fft_length is None:
            sizes = array_ops.shape(input_tensor)[-rank:]
            if inverse:
                last = gen_ops.maximum(0, 2 * (sizes[-1:] - 1))
                sizes = array_ops.concat([sizes[:-1], last], 0)
            fft_length = sizes
        else:
            fft_length = ops.convert_to_tensor(fft_length, dtypes.int32)
            input_tensor = _padded(input_tensor, fft_length, rank, inverse)
        return getattr(gen_ops, gen_name)(input_tensor, fft_length, name=name)
    apply.__name__ = gen_name
    return apply


def fft3d(input: Any, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.fft3d(input, name=name)


def ifft3d(input: Any, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return gen_ops.ifft3d(input, name=name)


rfft, irfft = _transform("rfft", 1), _transform("irfft", 1, inverse=True)
rfft2d, irfft2d = _transform("rfft2d", 2), _transform("irfft2d", 2, inverse=True)
rfft3d, irfft3d = _transform("rfft3d", 3), _transform("irfft3d", 3, inverse=True)


def erfinv(x: TensorLike, name: Optional[str] = None) -> Tensor:
    return gen_ops.erfinv(x, name=name)


def ndtri(x: TensorLike, name: Optional[str] = None) -> Tensor:
    return gen_ops.ndtri(x, name=name)


def nextafter(x1: Any, x2: Any, name: Optional[str] = None) -> Tensor:
    return gen_ops.next_after(x1, x2, name=name)


def timestamp(name: Optional[str] = None) -> Any:
    return gen_ops.timestamp(name=name)


def lu(input: Any, output_idx_type: Any = dtypes.int32, name: Optional[str] = None) -> Lu:  # pylint: disable=redefined-builtin
    """Factorizes square matrices as P * L * U.

    The result has both factors in one matrix (L has an implied diagonal of ones) and the permutation.
    """
    return gen_ops.lu(input, output_idx_type=output_idx_type, name=name)


def unsorted_segment_join(inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "",
                          name: Optional[str] = None) -> Any:
    return gen_ops.unsorted_segment_join(inputs, segment_ids, num_segments, separator=separator, name=name)
