# SPDX-License-Identifier: Apache-2.0
"""tf.data.Iterator."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.datasets import components, structure
from millstream.framework import capture_by_value, dtypes, function, ops, sparse_tensor, tensor_shape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.operation import Operation


class Iterator:
    """Gives the elements of a dataset, one for each step that uses get_next()."""

    def __init__(self, iterator_resource: Any, initializer: Any, output_types: Any, output_shapes: Any,
                 output_classes: Any = None) -> None:
        self._iterator_resource, self._initializer = iterator_resource, initializer
        self._types, self._shapes = output_types, output_shapes
        self._classes = output_classes
        if output_classes is None:
            self._classes = structure.map_structure(lambda t: ops.Tensor, output_types)
        self._string_handle = None
        self._get_next_calls = 0

    output_types = property(lambda self: self._types)
    output_shapes = property(lambda self: self._shapes)

    output_classes = property(lambda self: self._classes)

    @property
    def element_spec(self) -> Any:
        return structure.pack_like(self._types, [s.public() for s in _specs(self._types, self._shapes, self._classes)])

    def get_next_as_optional(self) -> Any:
        from millstream.datasets import optional_ops
        return optional_ops.get_next_as_optional(self)

    @property
    def initializer(self) -> Operation:
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    @staticmethod
    def from_structure(output_types: Any, output_shapes: Any = None, shared_name: Any = None,
                       output_classes: Any = None) -> Iterator:
        """An iterator without a dataset yet: make_initializer(dataset) gives it one."""
        types = structure.map_structure(dtypes.as_dtype, output_types)
        shapes = _shapes_like(types, output_shapes)
        resource = gen_ops.iterator_v2(container="", shared_name=shared_name or "", **_flat(types, shapes, output_classes))
        return Iterator(resource, None, types, shapes, output_classes)

    @staticmethod
    def from_string_handle(string_handle: Any, output_types: Any, output_shapes: Any = None,
                           output_classes: Any = None) -> Iterator:
        """The iterator that a string_handle() names, fed or computed in each step."""
        types = structure.map_structure(dtypes.as_dtype, output_types)
        shapes = _shapes_like(types, output_shapes)
        resource = gen_ops.iterator_from_string_handle_v2(ops.convert_to_tensor(string_handle, dtype=dtypes.string),
                                                          **_flat(types, shapes, output_classes))
        return Iterator(resource, None, types, shapes, output_classes)

    def make_initializer(self, dataset: Any, name: Optional[str] = None) -> Operation:
        with ops.name_scope(name, "make_initializer") as name:
            mine, theirs = structure.flatten(self._types), structure.flatten(dataset.output_types)
            if mine != theirs:
                raise TypeError(f"Expected output types {self._types} but got dataset with output types {dataset.output_types}.")
            for a, b in zip(structure.flatten(self._shapes), structure.flatten(dataset.output_shapes)):
                if not a.is_compatible_with(b):
                    raise TypeError(f"Expected output shapes compatible with {self._shapes} but got dataset with output shapes "
                                    f"{dataset.output_shapes}.")
            with ops.colocate_with(self._iterator_resource.op):
                return gen_ops.make_iterator(dataset._as_variant_tensor(), self._iterator_resource, name=name)

    def get_next(self, name: Optional[str] = None) -> Any:
        self._get_next_calls += 1
        if self._get_next_calls > 32:
            import warnings
            warnings.warn("An unusually high number of `Iterator.get_next()` calls was detected: call it once, outside of the "
                          "loop.", stacklevel=2)
        flat = _flat(self._types, self._shapes, self._classes)
        tensors = gen_ops.iterator_get_next(self._iterator_resource, name=name, **flat)
        tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        for tensor, shape in zip(tensors, flat["output_shapes"]):
            tensor.set_shape(shape)
        specs = _specs(self._types, self._shapes, self._classes)
        return structure.pack_like(self._types, [spec.value(tensor) for spec, tensor in zip(specs, tensors)])

    def string_handle(self, name=None):
        if name is None:
            if self._string_handle is None:
                self._string_handle = gen_ops.iterator_to_string_handle(self._iterator_resource)
            return self._string_handle
        return gen_ops.iterator_to_string_handle(self._iterator_resource, name=name)


def _specs(types, shapes, classes):
    kinds = structure.flatten(classes) if classes is not None else [None] * len(structure.flatten(types))
    return [components.Spec(t, s, k is sparse_tensor.SparseTensor, None)
            for t, s, k in zip(structure.flatten(types), structure.flatten(shapes), kinds)]


def _flat(types, shapes, classes):
    """The attributes of ops that carry such elements."""
    specs = _specs(types, shapes, classes)
    return dict(output_types=[s.flat_dtype for s in specs], output_shapes=[s.flat_shape for s in specs])


def _shapes_like(types, shapes):
    if shapes is None:
        return structure.map_structure(lambda t: tensor_shape.TensorShape(None), types)

    def convert(at, given):
        if isinstance(at, dict):
            return {key: convert(at[key], given[key]) for key in at}
        if isinstance(at, tuple):
            return tuple(convert(a, g) for a, g in zip(at, given))
        return tensor_shape.TensorShape(given)
    return convert(types, shapes)


def make_initializable_iterator(dataset: Any, shared_name: Any = None) -> Iterator:
    """An iterator over `dataset` that is ready when its `initializer` has run."""
    types, shapes = dataset.output_types, dataset.output_shapes
    resource = gen_ops.iterator_v2(container="", shared_name=shared_name or "", **_flat(types, shapes, dataset.output_classes))
    with ops.colocate_with(resource.op):
        initializer = gen_ops.make_iterator(dataset._as_variant_tensor(), resource)
    return Iterator(resource, initializer, types, shapes, dataset.output_classes)


def make_one_shot_iterator(dataset: Any) -> Iterator:
    """An iterator that needs no initializer: the ops that its dataset depends on are copied. They may not be placeholders or stateful."""
    try:
        factory = function.build(dataset._as_variant_tensor, [], name="_make_dataset", graph_class=capture_by_value.CopyingFuncGraph)
    except ValueError as error:
        if not str(error).startswith("Cannot capture a"):
            raise
        raise ValueError("Failed to create a one-shot iterator for a dataset. `Dataset.make_initializable_iterator()` is more general "
                         f"and may work. Original error: {error}") from error
    factory.add_to_graph()
    types, shapes = dataset.output_types, dataset.output_shapes
    resource = gen_ops.one_shot_iterator(dataset_factory=factory, **_flat(types, shapes, dataset.output_classes))
    return Iterator(resource, None, types, shapes, dataset.output_classes)
