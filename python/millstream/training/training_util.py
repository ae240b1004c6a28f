# SPDX-License-Identifier: Apache-2.0
"""The variable that counts steps."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.variables import init_ops, variable_scope

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.graph import Graph
    from millstream.ops.variables.variables import Variable

_READ = "global_step_read_op_cache"


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Its value in a session, as an int."""
    return int(sess.run(global_step_tensor))


def get_global_step(graph: Optional[Graph] = None) -> Optional[Variable]:
    """The graph's step variable (or tensor): the one of the collection, or the node `global_step`; None if there is none."""
    graph = graph or ops.get_default_graph()
    found = graph.get_collection(ops.GraphKeys.GLOBAL_STEP)
    if len(found) == 1:
        step = found[0]
    elif not found:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
        step = _variable_of(graph, step)
    else:
        from millstream.framework import log
        log.error("Multiple tensors in global_step collection.")
        return None
    assert_global_step(step)
    return step


def _variable_of(graph, tensor):
    for variable in graph.get_collection(ops.GraphKeys.GLOBAL_VARIABLES):
        if variable.op is tensor.op:
            return variable
    return tensor


def create_global_step(graph: Optional[Graph] = None) -> Variable:
    """Makes the graph's global step. Raises ValueError if there is one."""
    graph = graph or ops.get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return variable_scope.get_variable(
            ops.GraphKeys.GLOBAL_STEP, shape=[], dtype=dtypes.int64, initializer=init_ops.Zeros(), trainable=False,
            collections=[ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.GLOBAL_STEP])


def get_or_create_global_step(graph: Optional[Graph] = None) -> Variable:
    """The graph's global step, made if there is none."""
    graph = graph or ops.get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor: Any) -> None:
    """A scalar of a number type. (TF1 scripts also count in float32, so that is not refused.)"""
    dtype = global_step_tensor.dtype.base_dtype
    if not (dtype.is_integer or dtype.is_floating):
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    shape = global_step_tensor.get_shape()
    if shape.rank not in (None, 0) and shape.num_elements() != 1:
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


def _get_or_create_global_step_read(graph=None):
    """A tensor of the step before anything else in the graph changes it."""
    graph = graph or ops.get_default_graph()
    found = graph.get_collection(_READ)
    if found:
        return found[0]
    step = get_global_step(graph)
    if step is None:
        return None
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        value = step.initialized_value() if hasattr(step, "initialized_value") else step
        read = gen_ops.add_v2(value, ops.convert_to_tensor(0, value.dtype.base_dtype))
        graph.add_to_collection(_READ, read)
    return read


def _increment_global_step(increment, graph=None):
    graph = graph or ops.get_default_graph()
    step = get_global_step(graph)
    if step is None:
        raise ValueError("Global step tensor should be created by tf.train.get_or_create_global_step before calling increment.")
    read = _get_or_create_global_step_read(graph)
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        with ops.control_dependencies([read]):
            return step.assign_add(increment)
