# SPDX-License-Identifier: Apache-2.0
"""The framework's names in one place, as TF1's framework/ops has them. Loading it makes tensors ready for operators."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import operators as _operators
from millstream.framework.conversion import (  # noqa: F401
    convert_n_to_tensor, convert_n_to_tensor_or_indexed_slices, convert_to_tensor, convert_to_tensor_or_indexed_slices,
    internal_convert_n_to_tensor, internal_convert_to_tensor, internal_convert_to_tensor_or_indexed_slices,
    is_dense_tensor_like, register_tensor_conversion_function)
from millstream.framework.graph import Graph  # noqa: F401
from millstream.framework.graph_keys import GraphKeys  # noqa: F401
from millstream.framework.indexed_slices import IndexedSlices, IndexedSlicesValue  # noqa: F401
from millstream.framework.operation import Operation  # noqa: F401
from millstream.framework.scopes import (  # noqa: F401
    NoGradient, NotDifferentiable, RegisterGradient, add_to_collection, add_to_collections, colocate_with, container,
    control_dependencies, device, get_all_collection_keys, get_collection, get_collection_ref, get_default_graph,
    get_default_session, graph_of, has_default_graph, init_scope, name_from_scope_name, name_scope, op_scope,
    prepend_name_scope, reset_default_graph, strip_name_scope)
from millstream.framework.tensor import OperatorNotAllowedInGraphError, Tensor  # noqa: F401

if TYPE_CHECKING:
    from typing import Any

_operators.set_operators()
_get_graph_from_inputs = graph_of
name_scope_v1 = name_scope


def executing_eagerly() -> Any:
    return False
