# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.opt.ScipyOptimizerInterface: a loss that another library makes smaller."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import gradients, log, ops
from millstream.ops.array import array_ops
from millstream.ops.variables import variable_collections

if TYPE_CHECKING:
    from typing import Any


class ExternalOptimizerInterface:
    """All variables as one vector; kinds define _minimize()."""

    def __init__(self, loss: Any, var_list: Any = None, equalities: Any = None, inequalities: Any = None,
                 var_to_bounds: Any = None, **optimizer_kwargs: Any) -> None:
        self._loss = loss
        self._equalities, self._inequalities = list(equalities or []), list(inequalities or [])
        self._vars = variable_collections.trainable_variables() if var_list is None else list(var_list)
        self.optimizer_kwargs = optimizer_kwargs
        sizes = [int(np.prod(v.shape.as_list())) for v in self._vars]
        ends = np.cumsum(sizes).tolist()
        self._slices = [slice(end - size, end) for size, end in zip(sizes, ends)]
        self._gradient = self._flat_gradient(loss)
        self._equality_gradients = [self._flat_gradient(e) for e in self._equalities]
        self._inequality_gradients = [self._flat_gradient(e) for e in self._inequalities]
        self._bounds = self._flat_bounds(var_to_bounds)

    def _flat_gradient(self, loss):
        found = gradients.gradients(loss, self._vars)
        parts = [array_ops.zeros([int(np.prod(v.shape.as_list()))], v.dtype.base_dtype) if g is None else
                 array_ops.reshape(ops.convert_to_tensor(g), [-1]) for g, v in zip(found, self._vars)]
        return array_ops.concat(parts, 0)

    def _flat_bounds(self, given):
        if given is None:
            return None
        out = []
        for v in self._vars:
            low, high = given.get(v, (-np.inf, np.inf))
            shape = v.shape.as_list()
            out += list(zip(np.broadcast_to(low, shape).ravel(), np.broadcast_to(high, shape).ravel()))
        return out

    def _load(self, session, x):
        for v, part in zip(self._vars, self._slices):
            v.load(np.asarray(x[part], v.dtype.base_dtype.as_numpy_dtype).reshape(v.shape.as_list()), session)

    def minimize(self, session: Any = None, feed_dict: Any = None, fetches: Any = None, step_callback: Any = None,
                 loss_callback: Any = None, **run_kwargs: Any) -> None:
        """Sets the variables to where the loss is small. `loss_callback` gets the fetches at each evaluation."""
        session = session or ops.get_default_session()
        feed_dict, fetches = feed_dict or {}, list(fetches or [])
        start = np.concatenate([np.ravel(v) for v in session.run(self._vars)])

        def evaluate(tensors, callback):
            def at(x):
                self._load(session, x)
                values = session.run(tensors + fetches, feed_dict, **run_kwargs)
                if callback is not None:
                    callback(*values[len(tensors):])
                return [np.asarray(v, np.float64) for v in values[:len(tensors)]]
            return at
        loss_and_gradient = evaluate([self._loss, self._gradient], loss_callback)
        constraints = [(evaluate([e], None), evaluate([g], None)) for e, g in zip(self._equalities + self._inequalities,
                                                                                 self._equality_gradients + self._inequality_gradients)]
        at = len(self._equalities)
        result = self._minimize(start.astype(np.float64), lambda x: tuple(loss_and_gradient(x)), constraints[:at], constraints[at:],
                                self._bounds, step_callback)
        self._load(session, result)

    def _minimize(self, initial_val, loss_grad_func, equality_funcs, inequality_funcs, packed_bounds, step_callback):
        raise NotImplementedError


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """scipy.optimize.minimize(method="L-BFGS-B" unless told otherwise); needs SciPy."""

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(self, initial_val, loss_grad_func, equality_funcs, inequality_funcs, packed_bounds, step_callback):
        import scipy.optimize
        options = dict(self.optimizer_kwargs)
        method = options.pop("method", self._DEFAULT_METHOD)
        constraints = [{"type": kind, "fun": lambda x, f=f: f(x)[0], "jac": lambda x, g=g: g(x)[0]}
                       for kind, funcs in (("eq", equality_funcs), ("ineq", inequality_funcs)) for f, g in funcs]
        given = {"jac": True, "method": method, "constraints": constraints, "bounds": packed_bounds, "callback": step_callback}
        if not constraints:
            del given["constraints"]
        given.update(options)
        result = scipy.optimize.minimize(loss_grad_func, initial_val, **given)
        log.info("Optimization terminated with:\n  Message: %s\n  Objective function value: %f\n  Number of iterations: %s\n  "
                 "Number of functions evaluations: %s", getattr(result, "message", ""), result.fun, getattr(result, "nit", "?"),
                 getattr(result, "nfev", "?"))
        return result.x
