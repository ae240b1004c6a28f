# SPDX-License-Identifier: Apache-2.0
"""tf.data.experimental.Optional: an element that may be missing, as the last one of an iterator is."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.datasets import iterator_ops, structure
from millstream.datasets.components import Spec, carried
from millstream.framework import ops

if TYPE_CHECKING:
    from typing import Any


class Optional:
    """A value or none. Made by get_next_as_optional(), from_value() and none_from_structure()."""

    def __init__(self, variant: Any, element: Any) -> None:
        self._variant = variant
        self._element = element  # a structure of Spec

    def has_value(self, name: Any = None) -> Any:
        return gen_ops.optional_has_value(self._variant, name=name)

    def get_value(self, name: Any = None) -> Any:
        """The value; a step that needs it fails with InvalidArgumentError if there is none."""
        leaves = structure.flatten(self._element)
        tensors = gen_ops.optional_get_value(self._variant, output_types=[s.flat_dtype for s in leaves],
                                             output_shapes=[s.flat_shape for s in leaves], name=name)
        tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        return structure.pack_like(self._element, [s.value(t) for s, t in zip(leaves, tensors)])

    @staticmethod
    def from_value(value: Any) -> Any:
        values = [v if hasattr(v, "dense_shape") else ops.convert_to_tensor(v) for v in structure.flatten(value)]
        specs = [Spec(v.dtype, v.get_shape(), hasattr(v, "dense_shape"), ()) for v in values]
        return Optional(gen_ops.optional_from_value([carried(v) for v in values]), structure.pack_like(value, specs))

    @staticmethod
    def empty(element_spec: Any) -> Any:
        return Optional(gen_ops.optional_none(), element_spec)


def get_next_as_optional(iterator: Any) -> Any:
    """The iterator's next element; without value where get_next() would end with OutOfRangeError."""
    specs = iterator_ops._specs(iterator._types, iterator._shapes, iterator._classes)
    variant = gen_ops.iterator_get_next_as_optional(
        iterator._iterator_resource, **iterator_ops._flat(iterator._types, iterator._shapes, iterator._classes))
    return Optional(variant, structure.pack_like(iterator._types, specs))
