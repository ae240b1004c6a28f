# SPDX-License-Identifier: Apache-2.0
"""contrib.framework.arg_scope: default arguments of functions inside a `with` statement."""
from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

from millstream.framework import ops

if TYPE_CHECKING:
    from typing import Any

_KEY = "_arg_scope_stack"


def _stack():
    return ops.get_default_graph().__dict__.setdefault(_KEY, [{}])


def current_arg_scope() -> Any:
    return _stack()[-1]


def _key(function):
    return getattr(function, "_key_op", str(function))


def has_arg_scope(func: Any) -> Any:
    return hasattr(func, "_key_op")


def add_arg_scope(func):
    """A decorator: the function takes its defaults from arg_scope()."""
    @functools.wraps(func)
    def func_with_args(*args, **kwargs):
        defaults = current_arg_scope().get(func_with_args._key_op)
        if defaults:
            kwargs = {**defaults, **kwargs}
            names = func.__code__.co_varnames[:len(args)]
            for name in names:  # given by position
                if name in defaults and name in kwargs and kwargs[name] is defaults[name]:
                    kwargs.pop(name)
        return func(*args, **kwargs)

    func_with_args._key_op = f"{func.__module__}.{func.__name__}"
    func_with_args.__wrapped__ = func
    return func_with_args


def arg_scoped_arguments(func: Any) -> Any:
    return func.__wrapped__.__code__.co_varnames[:func.__wrapped__.__code__.co_argcount]


@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
    """Defaults for the functions of a list, or a scope that an earlier arg_scope() gave."""
    stack = _stack()
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        scope = dict(list_ops_or_scope)
    else:
        if not isinstance(list_ops_or_scope, (list, tuple)):
            raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
        scope = dict(current_arg_scope())
        for op in list_ops_or_scope:
            if not has_arg_scope(op):
                raise ValueError(f"{op} is not decorated with @add_arg_scope")
            scope[_key(op)] = {**scope.get(_key(op), {}), **kwargs}
    stack.append(scope)
    try:
        yield scope
    finally:
        stack.pop()
