# SPDX-License-Identifier: Apache-2.0
"""tf.test.compute_gradient(): symbolic gradients against differences of values."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import gradients, indexed_slices, scopes

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import TensorLike


def _as_vector(value):
    return np.asarray(value).ravel()


def _theoretical(x, x_shape, y, y_shape, dy, dx, value, feed):
    from millstream.framework import conversion
    session = scopes.get_default_session()
    x_size, y_size = int(np.prod(x_shape)), int(np.prod(y_shape))
    jacobian = np.zeros([x_size, y_size], value.dtype)
    dx = conversion.internal_convert_to_tensor(dx) if isinstance(dx, indexed_slices.IndexedSlices) else dx
    for column in range(y_size):
        dy_value = np.zeros(y_size, y.dtype.as_numpy_dtype)
        dy_value[column] = 1
        jacobian[:, column] = _as_vector(session.run(dx, {**feed, x: value, dy: dy_value.reshape(y_shape)}))
    return jacobian


def _numeric(x, x_shape, y, y_shape, value, delta, feed):
    session = scopes.get_default_session()
    x_size, y_size = int(np.prod(x_shape)), int(np.prod(y_shape))
    jacobian = np.zeros([x_size, y_size], value.dtype)
    for row in range(x_size):
        results = []
        for sign in (1, -1):
            moved = value.copy()
            moved.ravel()[row] += sign * delta
            results.append(_as_vector(session.run(y, {**feed, x: moved})).astype(np.float64))
        jacobian[row, :] = (results[0] - results[1]) / (2 * delta)
    return jacobian


def _one(x, x_shape, y, y_shape, value, delta, feed):
    from millstream.framework import constant_op
    if value is None:
        value = np.random.uniform(size=x_shape)
    value = np.asarray(value, x.dtype.as_numpy_dtype).reshape(x_shape).copy()
    dy = constant_op.constant(1.0, dtype=y.dtype.base_dtype, shape=y_shape)
    dx = gradients.gradients(y, x, grad_ys=dy)[0]
    return _theoretical(x, x_shape, y, y_shape, dy, dx, value, feed), _numeric(x, x_shape, y, y_shape, value, delta, feed)


def compute_gradient(x, x_shape, y, y_shape, x_init_value=None, delta=1e-3, init_targets=None, extra_feed_dict=None):
    """(symbolic, numeric) Jacobian of y by x, or a list of them for a list of xs. Needs a default session."""
    if init_targets is not None:
        for target in init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]:
            scopes.get_default_session().run(target)
    feed = extra_feed_dict or {}
    if isinstance(x, list):
        values = x_init_value if x_init_value is not None else [None] * len(x)
        return [_one(xi, si, y, y_shape, vi, delta, {**feed, **{o: v for o, v in zip(x, values) if v is not None and o is not xi}})
                for xi, si, vi in zip(x, x_shape, values)]
    return _one(x, x_shape, y, y_shape, x_init_value, delta, feed)


def compute_gradient_error(x: TensorLike, x_shape: Any, y: TensorLike, y_shape: Any, x_init_value: Any = None,
                           delta: Any = 1e-3, init_targets: Any = None, extra_feed_dict: Any = None) -> Any:
    """The largest difference between the two."""
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = found if isinstance(found, list) else [found]
    return max((float(np.fabs(a - b).max()) if a.size else 0.0) for a, b in pairs)
