# SPDX-License-Identifier: Apache-2.0
"""tf.Module: an object that knows the variables of its attributes."""
from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from millstream.framework import ops
from millstream.ops.variables import variables
from millstream.training.trackable import AutoTrackable

if TYPE_CHECKING:
    from typing import Any, Optional


def _snake(name):
    return re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))", r"_\1", name).lower()


def _leaves(value):
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _leaves(value[key])
    else:
        yield value


class Module(AutoTrackable):
    """Base of models: `variables`, `trainable_variables` and `submodules` are those of attributes, by name, and below them."""

    def __init__(self, name: Optional[str] = None) -> None:
        name = name or _snake(type(self).__name__)
        if not re.match(r"^[a-zA-Z_][a-zA-Z0-9_]*$", name):
            raise ValueError(f"{name!r} is not a valid module name. Module names must be valid Python identifiers.")
        self._name = name
        with ops.name_scope(name) as scope:
            self._scope_name = scope

    name = property(lambda self: self._name)

    @property
    def name_scope(self) -> Any:
        return ops.name_scope(self._scope_name)

    def _walk(self, seen):
        """Variables and modules below: own ones first, then those of submodules."""
        inner = []
        for name in sorted(vars(self)):
            for leaf in _leaves(vars(self)[name]):
                if id(leaf) in seen:
                    continue
                if isinstance(leaf, (variables.Variable, Module)):
                    seen.add(id(leaf))
                    yield leaf
                if isinstance(leaf, Module):
                    inner.append(leaf)
        for module in inner:
            yield from module._walk(seen)

    @property
    def variables(self) -> Any:
        return tuple(v for v in self._walk(set()) if isinstance(v, variables.Variable))

    @property
    def trainable_variables(self) -> Any:
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> Any:
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> Any:
        return tuple(m for m in self._walk({id(self)}) if isinstance(m, Module))

    @classmethod
    def with_name_scope(cls, method: Any) -> Any:
        @functools.wraps(method)
        def scoped(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)
        return scoped
