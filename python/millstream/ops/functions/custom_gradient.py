# SPDX-License-Identifier: Apache-2.0
"""tf.custom_gradient: a function that says what its gradient is."""
from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import gradients, ops
from millstream.ops import nest
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any, Callable

_counter = itertools.count()


def custom_gradient(f: Any = None) -> Callable[..., Any]:
    """A decorator for f(*inputs) -> (outputs, grad_fn); grad_fn(*output_grads) gives the gradients of the inputs.

    If f uses trainable variables, grad_fn takes an argument `variables` and returns (input_grads, variable_grads).
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        return _build(f, args, kwargs)
    return decorated


def grad_pass_through(f: Any) -> Any:
    """A decorator for f(x): its gradient is that of the identity."""
    @custom_gradient
    def passing(*args, **kwargs):
        def grad(*grads, variables=None):
            if variables is None:
                return grads[0] if len(grads) == 1 else list(grads)
            return (grads[0] if len(grads) == 1 else list(grads)), [None] * len(variables)
        return f(*args, **kwargs), grad
    return functools.wraps(f)(passing)


def recompute_grad(f: Any) -> Any:
    """A decorator for f(*inputs): what it computes is not kept for its gradient, but computed again."""
    @custom_gradient
    def recomputing(*args, **kwargs):
        result, scope = f(*args, **kwargs), vs.get_variable_scope()

        def grad(*grads, variables=None):
            with ops.control_dependencies(list(grads)):
                inputs = [gen_ops.identity(ops.convert_to_tensor(x)) for x in nest.flatten(args)]
            with vs.variable_scope(scope, reuse=True) if variables else contextlib.nullcontext():
                again = f(*nest.pack_sequence_as(args, inputs), **kwargs)
            targets = inputs + list(variables or ())
            found = gradients.gradients(nest.flatten(again), targets, grad_ys=list(grads))
            input_grads, variable_grads = found[:len(inputs)], found[len(inputs):]
            return (input_grads, variable_grads) if variables is not None else input_grads
        return result, grad
    return functools.wraps(f)(recomputing)


def _trainable():
    return ops.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES)


def _build(f, args, kwargs):
    flat_args = [gen_ops.identity(ops.convert_to_tensor(x)) for x in nest.flatten(args)]
    before = set(map(id, _trainable()))
    first = ops.get_default_graph()._core.id_limit()
    result, grad_fn = f(*nest.pack_sequence_as(args, flat_args), **kwargs)
    flat_result = [ops.convert_to_tensor(x) for x in nest.flatten(result)]
    variables = [v for v in _trainable() if id(v) not in before or _used_since(v, first)]
    takes = inspect.signature(grad_fn).parameters
    wants = "variables" in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values())
    if variables and not wants:
        raise TypeError("If using @custom_gradient with a function that uses variables, then grad_fn must accept a 'variables' "
                        "keyword argument.")
    extra = [ops.convert_to_tensor(v, name="variable") for v in variables] if wants else []
    count = len(flat_result)

    def gradient(op, *grads):
        del op
        given = grads[:count]
        if extra:
            input_grads, variable_grads = grad_fn(*given, variables=variables)
        else:
            input_grads, variable_grads = grad_fn(*given), []
        input_grads = nest.flatten(input_grads) if nest.is_nested(input_grads) else [input_grads]
        if len(input_grads) != len(flat_args):
            raise ValueError(f"custom_gradient function expected to return {len(flat_args)} gradients, but returned "
                             f"{len(input_grads)} instead.")
        return [None] * count + input_grads + list(variable_grads)

    name = f"CustomGradient-{next(_counter)}"
    gradients.register(name, gradient)
    with ops.get_default_graph().gradient_override_map({"IdentityN": name}):
        outputs = gen_ops.identity_n(flat_result + flat_args + extra)
    return nest.pack_sequence_as(result, outputs[:count])


def _used_since(variable, first):
    """Whether a node that was made since `first` reads the variable."""
    handle = getattr(variable, "handle", None)
    tensors = [handle if handle is not None else variable.op.outputs[0]] + ([] if handle is not None else [variable.value()])
    return any(op._id >= first for t in tensors for op in t.consumers())
