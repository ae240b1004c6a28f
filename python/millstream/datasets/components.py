# SPDX-License-Identifier: Apache-2.0
"""Components of a dataset's elements: what they are to programs, and the tensors that carry them."""
from millstream import gen_ops
from millstream.framework import dtypes, ops, sparse_tensor, tensor_shape, type_specs


class Spec:
    """Type and static shape of a component. A sparse tensor travels as a variant of shape batch + [3]
    (batch None: of a shape that is not known)."""

    __slots__ = ("dtype", "shape", "sparse", "batch")

    def __init__(self, dtype, shape, sparse=False, batch=()):
        self.dtype, self.shape = dtypes.as_dtype(dtype).base_dtype, tensor_shape.TensorShape(shape)
        self.sparse, self.batch = sparse, batch

    @property
    def flat_dtype(self):
        return dtypes.variant if self.sparse else self.dtype

    @property
    def flat_shape(self):
        if not self.sparse:
            return self.shape
        return tensor_shape.TensorShape(None if self.batch is None else list(self.batch) + [3])

    @property
    def kind(self):
        return sparse_tensor.SparseTensor if self.sparse else ops.Tensor

    def public(self):
        """As tf.TensorSpec and tf.SparseTensorSpec say it."""
        return (type_specs.SparseTensorSpec if self.sparse else type_specs.TensorSpec)(self.shape, self.dtype)

    def batched(self, size):
        return Spec(self.dtype, tensor_shape.TensorShape([size]).concatenate(self.shape), self.sparse, (size,) + self.batch)

    def unbatched(self):
        return Spec(self.dtype, self.shape[1:], self.sparse, self.batch[1:])

    def value(self, tensor):
        """What a program sees of the tensor that carries a component."""
        if not self.sparse:
            return tensor
        indices, values, shape = gen_ops.deserialize_sparse(tensor, dtype=self.dtype)
        rank = self.shape.rank
        if rank is not None:
            indices.set_shape([None, rank])
            shape.set_shape([rank])
        return sparse_tensor.SparseTensor(indices, values, shape)


class NestedSpec:
    """A component that is itself a dataset, of elements that `element` describes."""

    __slots__ = ("element",)
    dtype = flat_dtype = dtypes.variant
    shape = flat_shape = tensor_shape.TensorShape([])
    sparse = False

    def __init__(self, element):
        self.element = element

    def public(self):
        from millstream.datasets import structure
        return structure.map_structure(lambda s: s.public(), self.element)

    @property
    def kind(self):
        from millstream.datasets import dataset_ops
        return dataset_ops.Dataset

    def value(self, tensor):
        return self.kind(self.element, lambda: tensor)


def spec_of(value):
    """The Spec of a value that a function has returned, or None for a dense one (its tensor tells)."""
    return Spec(value.dtype, value.get_shape(), sparse=True) if isinstance(value, sparse_tensor.SparseTensor) else None


def carried(value, many=False):
    """The tensor that carries a value; `many`: the rows of a sparse one, to be sliced."""
    if not isinstance(value, sparse_tensor.SparseTensor):
        return ops.convert_to_tensor(value)
    gen = gen_ops.serialize_many_sparse if many else gen_ops.serialize_sparse
    return gen(value.indices, value.values, value.dense_shape, out_type=dtypes.variant)
