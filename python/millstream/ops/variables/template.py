# SPDX-License-Identifier: Apache-2.0
"""make_template(): a function whose variables are made in its first call and shared by the later ones."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from millstream.ops.variables import variable_scope

if TYPE_CHECKING:
    from typing import Any, Callable


class Template:
    def __init__(self, name, function, create_scope_now, unique_name, custom_getter):
        self._function, self._name, self._unique_name, self._custom_getter = function, name, unique_name, custom_getter
        self._called = False
        self._scope = None
        if create_scope_now:
            self._make_scope()

    def _make_scope(self):
        with variable_scope._pure_variable_scope(self._unique_name or variable_scope._unique_variable_scope(self._name),
                                                 custom_getter=self._custom_getter) as scope:
            self._scope = scope

    def __call__(self, *args, **kwargs):
        if self._scope is None:
            with variable_scope.variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter) as scope:
                self._scope = scope
                return self._first(args, kwargs)
        with variable_scope.variable_scope(self._scope, reuse=True if self._called else None):
            return self._first(args, kwargs)

    def _first(self, args, kwargs):
        result = self._function(*args, **kwargs)
        self._called = True
        return result

    @property
    def name(self):
        return self._name

    @property
    def variable_scope(self):
        return self._scope

    var_scope = variable_scope

    @property
    def variables(self):
        return self._scope.global_variables() + self._scope.local_variables()

    @property
    def trainable_variables(self):
        return self._scope.trainable_variables()

    @property
    def global_variables(self):
        return self._scope.global_variables()


def make_template(name_: Any, func_: Any, create_scope_now_: bool = False, unique_name_: Any = None, custom_getter_: Any = None,
                  **kwargs: Any) -> Callable[..., Any]:
    """Returns a function that calls `func_` and shares its variables: the first call creates them, later calls use them again."""
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)
