# SPDX-License-Identifier: Apache-2.0
"""tf.nn.ctc_loss_v2: CTC with dense labels and a blank of any number; unique labels."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops, sparse_tensor
from millstream.ops import plain_ops
from millstream.ops.array import array_ops, index_ops
from millstream.ops.math import math_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import TensorLike
    from millstream.framework.tensor import Tensor


def _sparse(labels, lengths):
    """Rows of given lengths as a SparseTensor."""
    mask = index_ops.sequence_mask(lengths, array_ops.shape(labels)[1])
    return sparse_tensor.SparseTensor(index_ops.where(mask), index_ops.boolean_mask(labels, mask),
                                      array_ops.shape(labels, out_type=dtypes.int64))


def ctc_loss_v2(labels: TensorLike, logits: TensorLike, label_length: Any, logit_length: Any, logits_time_major: bool = True,
                unique: Any = None, blank_index: Any = None, name: Optional[str] = None) -> Tensor:
    """The loss of each sequence; `labels` are sparse, or dense with lengths. The blank is class 0, or for sparse labels the last,
    unless blank_index says otherwise."""
    with ops.name_scope(name, "ctc_loss"):
        logits = ops.convert_to_tensor(logits, name="logits")
        if not logits_time_major:
            logits = array_ops.transpose(logits, [1, 0, 2])
        if isinstance(labels, sparse_tensor.SparseTensor):
            if blank_index is None:
                raise ValueError("Argument `blank_index` must be provided when labels is a SparseTensor.")
        else:
            labels = _sparse(math_ops.cast(ops.convert_to_tensor(labels), dtypes.int32), label_length)
        blank, classes = blank_index or 0, logits.shape.as_list()[2]
        if classes is None:
            raise ValueError("The number of classes of `logits` must be known.")
        blank = blank + classes if blank < 0 else blank
        if blank != classes - 1:  # the op takes the last class for the blank
            logits = array_ops.concat([logits[:, :, :blank], logits[:, :, blank + 1:], logits[:, :, blank:blank + 1]], 2)
            values = labels.values
            values = index_ops.where(values > blank, values - 1, values)
            labels = sparse_tensor.SparseTensor(labels.indices, values, labels.dense_shape)
        labels = sparse_tensor.SparseTensor(labels.indices, math_ops.cast(labels.values, dtypes.int32), labels.dense_shape)
        return plain_ops.ctc_loss(labels, logits, logit_length)


def ctc_beam_search_decoder_v2(inputs: Any, sequence_length: Any, beam_width: Any = 100, top_paths: Any = 1) -> Any:
    """The likeliest label sequences of CTC logits, by beam search, and their log probabilities."""
    return plain_ops.ctc_beam_search_decoder(inputs, sequence_length, beam_width=beam_width, top_paths=top_paths, merge_repeated=False)


def ctc_unique_labels(labels: TensorLike, name: Optional[str] = None) -> Any:
    """(each row's labels without repetitions, padded with zeros; where each label is among them)."""
    from millstream.ops.flow import functional_ops
    with ops.name_scope(name, "ctc_unique_labels"):
        labels = ops.convert_to_tensor(labels, name="labels")

        def one(row):
            unique = gen_ops.unique(row)
            return array_ops.pad(unique.y, [[0, array_ops.shape(row)[0] - array_ops.shape(unique.y)[0]]]), math_ops.cast(
                unique.idx, dtypes.int64)
        return functional_ops.map_fn(one, labels, dtype=(labels.dtype, dtypes.int64))


def conv_transpose(input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None, name=None):  # pylint: disable=redefined-builtin
    """The transposed convolution of sequences, images or volumes, by the rank of the filter."""
    from millstream.ops.nn import nn_conv
    rank = ops.convert_to_tensor(filters).shape.rank
    if rank not in (3, 4, 5):
        raise ValueError(f"`filters` must have rank 3, 4 or 5, not {rank}")
    function = {3: nn_conv.conv1d_transpose, 4: nn_conv.conv2d_transpose, 5: nn_conv.conv3d_transpose}[rank]
    default = {3: "NWC", 4: "NHWC", 5: "NDHWC"}[rank]
    if rank > 3 and isinstance(strides, int):
        strides = [1] + [strides] * (rank - 2) + [1]
    return function(input, filters, output_shape, strides, padding=padding, data_format=data_format or default,
                    dilations=dilations, name=name)


def scale_regularization_loss(regularization_loss: Any) -> Any:
    """For one replica: the sum of it."""
    from millstream.ops.math import reduce_ops
    return reduce_ops.reduce_sum(regularization_loss)


def compute_average_loss(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Any:
    """The sum of the losses by the size of the batch."""
    from millstream.ops.math import reduce_ops
    loss = ops.convert_to_tensor(per_example_loss)
    if sample_weight is not None:
        loss = loss * math_ops.cast(ops.convert_to_tensor(sample_weight), loss.dtype)
    size = array_ops.shape(loss)[0] if global_batch_size is None else global_batch_size
    return reduce_ops.reduce_sum(loss) / math_ops.cast(size, loss.dtype)
