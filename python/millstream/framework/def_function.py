# SPDX-License-Identifier: Apache-2.0
"""tf.function in graphs: a call puts the function's nodes where it is."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from millstream.framework import ops

if TYPE_CHECKING:
    from typing import Any, Callable


class Function:
    """A Python function whose results wait for the changes of state that it makes. Python's `if` and `while` see no values of
    tensors: use tf.cond() and tf.while_loop()."""

    def __init__(self, python_function, input_signature=None):
        self.python_function, self.input_signature = python_function, input_signature
        functools.update_wrapper(self, python_function)

    def __get__(self, instance, owner):
        return self if instance is None else functools.partial(self, instance)

    def _converted(self, args):
        if self.input_signature is None:
            return args
        given = len(args) - len(self.input_signature)  # `self` of a method comes before
        if given not in (0, 1):
            raise TypeError(f"The function takes {len(self.input_signature)} arguments by its input_signature, not {len(args)}")
        out = list(args[:given])
        for value, spec in zip(args[given:], self.input_signature):
            tensor = ops.convert_to_tensor(value, dtype=None if isinstance(value, ops.Tensor) else spec.dtype)
            if not spec.is_compatible_with(tensor):
                raise TypeError(f"Python inputs incompatible with input_signature: {tensor} is not {spec}")
            out.append(tensor)
        return out

    def __call__(self, *args, **kwargs):
        from millstream.ops import nest
        graph = ops.get_default_graph()
        first = graph._core.id_limit()
        with ops.name_scope(getattr(self.python_function, "__name__", "function").strip("<>_") or "function"):
            result = self.python_function(*self._converted(args), **kwargs)
            changes = [op for op in graph.get_operations() if op._id >= first and _changes_state(op)]
            if not changes:
                return result
            with ops.control_dependencies(changes):
                return nest.map_structure(_after, result) if result is not None else _no_op()


_STATELESS_READS = ("VarHandleOp", "VariableV2", "Variable", "ReadVariableOp", "IsVariableInitialized", "VarIsInitializedOp",
                    "Placeholder", "IteratorGetNext")


def _changes_state(op):
    from millstream.framework import op_wrappers
    return op.type not in _STATELESS_READS and (op_wrappers.op_info(op.type).stateful or op.type.startswith(("Assign", "Scatter")))


def _after(value):
    from millstream import gen_ops
    return gen_ops.identity(value) if isinstance(value, ops.Tensor) else value


def _no_op():
    from millstream import gen_ops
    return gen_ops.no_op()


def function(func: Any = None, input_signature: Any = None, autograph: bool = True, jit_compile: Any = None,
             reduce_retracing: bool = False, experimental_implements: Any = None, experimental_autograph_options: Any = None,
             experimental_attributes: Any = None, experimental_relax_shapes: Any = None, experimental_compile: Any = None,
             experimental_follow_type_hints: Any = None) -> Callable[..., Any]:
    """A decorator, with or without arguments."""
    if func is None:
        return lambda f: Function(f, input_signature)
    return Function(func, input_signature)
