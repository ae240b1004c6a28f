# SPDX-License-Identifier: Apache-2.0
"""Functions of a graph, made from Python callables: bodies of dataset maps, If and While, and tf's Defun."""
from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from millstream.framework import conversion, dtypes, scopes, tensor_shape
from millstream.framework.graph import Graph
from millstream.framework.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any

_counter = itertools.count()


class FuncGraph(Graph):
    """The body of a function while it is built. Tensors of the graph around it become further arguments when used."""

    def __init__(self, name, outer_graph=None):
        super().__init__()
        self.name = name
        self.outer_graph = outer_graph or scopes.get_default_graph()
        self.seed = self.outer_graph.seed
        self.inputs = []
        self.captured = []      # tensors of the outer graph
        self._captures = {}     # id of such a tensor -> argument inside
        self._collections = self.outer_graph._collections

    @property
    def building_function(self):
        return True

    def _argument(self, dtype, shape, name):
        attrs = {"dtype": int(dtypes.as_dtype(dtype).base_dtype), "shape": tensor_shape.TensorShape(shape)._to_core()}
        with self.control_dependencies(None):
            tensor = super()._create_op_internal("Placeholder", [], name, attrs, False).outputs[0]
        return tensor

    def add_input(self, dtype, shape=None, name="arg"):
        tensor = self._argument(dtype, shape, name)
        self.inputs.append(tensor)
        return tensor

    def capture(self, tensor, name=None):
        """`tensor` as seen inside."""
        if tensor.graph is self:
            return tensor
        if id(tensor) not in self._captures:
            outer = tensor
            if tensor.graph is not self.outer_graph and isinstance(self.outer_graph, FuncGraph):
                outer = self.outer_graph.capture(tensor)
            value = outer.graph._core.constant_value(outer.op._id, outer.value_index) if outer.op.type == "Const" else None
            if value is not None and value.size <= 4096:  # a copy is cheaper than an argument
                with self.control_dependencies(None):
                    attrs = {"dtype": int(outer.dtype.base_dtype), "value": value}
                    inside = super()._create_op_internal("Const", [], "captured", attrs, False).outputs[0]
            else:
                inside = self._argument(outer.dtype, outer.shape, "captured")
                handle = outer.graph._core.handle_data(outer.op._id, outer.value_index)
                if handle is not None:
                    inside._handle_data = handle
                self.captured.append(outer)
                self.inputs.append(inside)
            self._captures[id(tensor)] = inside
            self.__dict__.setdefault("_kept", []).append(tensor)
        return self._captures[id(tensor)]

    def _create_op_internal(self, op_type, inputs, name, attrs, compute_device=True):
        return super()._create_op_internal(op_type, [self.capture(t) for t in inputs], name, attrs, compute_device)


class Function:
    """A function of a graph: `name` in its library, arguments `arg_types` and then `captured` (tensors of the graph that it
    was made in), results of `output_types` and `output_shapes`."""

    def __init__(self, graph, outputs, num_arguments, gradient=None):
        self.name = graph.name
        self.graph = graph
        self.captured = list(graph.captured)
        self.arg_types = [t.dtype for t in graph.inputs[:num_arguments]]
        self.output_types = [t.dtype.base_dtype for t in outputs]
        self.output_shapes = [t.shape for t in outputs]
        self._gradient = gradient
        graph._sync()
        self.definition = graph._core.to_function_def(self.name, [t._id_pair() for t in graph.inputs],
                                                      [t._id_pair() for t in outputs])
        self.stateful = any(is_stateful(op) for op in graph.get_operations())

    captured_inputs = property(lambda self: self.captured)

    def add_to_graph(self, graph=None):
        """Puts the function, and those that it calls, into the library of a graph."""
        graph = graph or scopes.get_default_graph()
        if graph._core.has_function(self.name):
            return
        if self._gradient is not None:
            self._gradient.add_to_graph(graph)
        graph._core.add_library(self.graph._core)
        graph._core.add_function(self.definition, self._gradient.name if self._gradient is not None else "")

    def __call__(self, *args, name=None):
        """A node that calls it; a tensor, a tuple of tensors, or the operation if there are no results."""
        from millstream import gen_ops
        self.add_to_graph()
        arguments = [conversion.internal_convert_to_tensor(a, t.base_dtype) for a, t in zip(args, self.arg_types)]
        call = gen_ops.stateful_partitioned_call if self.stateful else gen_ops.partitioned_call
        results = call(arguments + self.captured, Tout=self.output_types, f=self, name=name or self.name)
        if not isinstance(results, list):
            return results
        for tensor, shape in zip(results, self.output_shapes):
            tensor.set_shape(shape)
        return results[0] if len(results) == 1 else tuple(results)


def is_stateful(op):
    from millstream.framework import op_wrappers
    return op_wrappers.op_info(op.type).stateful


def build(callable_, arg_types, arg_shapes=None, name=None, gradient=None, flatten=None, graph_class=FuncGraph):
    """The Function of a callable that takes tensors and returns tensors. `flatten` turns what it returns into a list."""
    graph = graph_class(f"{name or getattr(callable_, '__name__', 'function').strip('<>')}_{next(_counter)}")
    arg_shapes = arg_shapes or [None] * len(arg_types)
    with graph.as_default():
        inputs = [graph.add_input(t, s, f"arg{i}") for i, (t, s) in enumerate(zip(arg_types, arg_shapes))]
        results = callable_(*inputs)
        if flatten is not None:
            results = flatten(results)
        elif results is None:
            results = []
        elif not isinstance(results, (list, tuple)):
            results = [results]
        outputs = [graph.capture(conversion.internal_convert_to_tensor(r)) for r in results
                   if not hasattr(r, "control_inputs")]
    # Arguments first, captured tensors after them, as calls pass them.
    return Function(graph, outputs, len(inputs), gradient)


class Defun:
    """@Defun(tf.float32, tf.float32): the function as one node wherever it is called."""

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._types = [dtypes.as_dtype(t) for t in input_types]
        self._name = kwargs.pop("func_name", None)
        self._grad = kwargs.pop("grad_func", None)
        self._python_grad = kwargs.pop("python_grad_func", None)
        self._kwargs = kwargs

    def __call__(self, function):
        return _Defined(function, self._types, self._name, self._grad, self._python_grad)


class _Defined:
    def __init__(self, function, types, name, gradient, python_gradient):
        self._python_gradient = python_gradient
        self._function = function
        self._types = types
        self._func_name = name or function.__name__
        self._gradient = gradient
        self._built = {}
        self._registered = set()

    def _build(self, types):
        key = tuple(types)
        if key not in self._built:
            gradient = self._gradient
            if isinstance(gradient, _Defined):
                gradient = gradient._build(gradient._types)
            self._built[key] = build(self._function, types, name=self._func_name, gradient=gradient)
        return self._built[key]

    def _gradient_name(self, function):
        """The registered gradient of calls of `function`; None if it follows from the body."""
        given = self._python_gradient
        if given is None and function._gradient is None:
            return None
        from millstream.framework import gradients
        name = f"{function.name}_gradient"
        if name not in self._registered:
            gradients.register(name, given or (lambda op, *grads: function._gradient(*op.inputs, *grads)))
            self._registered.add(name)
        return name

    @property
    def name(self):
        return self._build(self._types).name

    @property
    def captured_inputs(self):
        return self._build(self._types).captured

    @property
    def definition(self):
        from millstream.proto import function_pb2
        return function_pb2.FunctionDef.FromString(self._build(self._types).definition)

    def add_to_graph(self, graph=None):
        self._build(self._types).add_to_graph(graph)

    def __call__(self, *args, **kwargs):
        name = kwargs.pop("name", None)
        if self._types and len(args) != len(self._types):
            raise ValueError(f"Expected {len(self._types)} arguments, got {len(args)}")
        types = self._types
        if not types:
            args = [conversion.internal_convert_to_tensor(a) for a in args]
            types = [a.dtype.base_dtype for a in args]
        function = self._build(types)
        gradient = self._gradient_name(function)
        if gradient is None:
            return function(*args, name=name)
        calls = dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), gradient)
        with scopes.get_default_graph().gradient_override_map(calls):
            return function(*args, name=name)


def is_function_tensor(value):
    return isinstance(value, Tensor) and isinstance(value.graph, FuncGraph)
