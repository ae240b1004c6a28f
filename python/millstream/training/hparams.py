# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.training.HParams: named values of a model, read from text, JSON or a dict."""
from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_ITEM = re.compile(r"\s*(?P<name>[a-zA-Z][\w.]*)(?:\[(?P<index>\d+)\])?\s*=\s*"
                   r"(?:\[(?P<list>[^\]]*)\]|(?P<value>[^,\[]*))\s*(?:,|$)")


def _cast(name, type_, value):
    """A value as the type that a parameter has."""
    if type_ is bool:
        if isinstance(value, str):
            if value.lower() in ("true", "1"):
                return True
            if value.lower() in ("false", "0"):
                return False
        elif isinstance(value, bool) or value in (0, 1):
            return bool(value)
        raise ValueError(f"Could not parse hparam '{name}' of type 'bool' with value '{value}'")
    if type_ is int and isinstance(value, float) and value != int(value):
        raise ValueError(f"Could not parse hparam '{name}' of type 'int' with value '{value}'")
    if type_ in (int, float) and isinstance(value, bool):
        raise ValueError(f"Could not parse hparam '{name}' of type '{type_.__name__}' with value '{value}'")
    if type_ is type(None):
        return value
    try:
        return type_(value)
    except (TypeError, ValueError):
        raise ValueError(f"Could not parse hparam '{name}' of type '{type_.__name__}' with value '{value}'") from None


def parse_values(values, type_map, ignore_unknown=False):
    """'a=1,b=[2,3],c[1]=5' as a dict; types by name."""
    out, at = {}, 0
    while at < len(values):
        m = _ITEM.match(values, at)
        if not m:
            raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
        at = m.end()
        name = m.group("name")
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        if m.group("list") is not None:
            out[name] = [_cast(name, type_map[name], v.strip()) for v in m.group("list").split(",") if v.strip()]
        elif m.group("index") is not None:
            out.setdefault(name, {})[int(m.group("index"))] = _cast(name, type_map[name], m.group("value").strip())
        else:
            if name in out:
                raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
            out[name] = _cast(name, type_map[name], m.group("value").strip())
    return out


class HParams:
    """hparams = HParams(learning_rate=0.1, layers=[64, 32]); hparams.parse("learning_rate=0.3")."""

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise NotImplementedError("HParams(hparam_def=...) is not supported: give the values as arguments")
        object.__setattr__(self, "_hparam_types", {})
        object.__setattr__(self, "_model_structure", model_structure)
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name, value):
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        object.__setattr__(self, name, value)

    def set_hparam(self, name, value):
        type_, is_list = self._hparam_types[name]
        if isinstance(value, (list, tuple)) != is_list and type_ is not type(None):
            raise ValueError(f"Must {'' if is_list else 'not '}pass a list for {'multi' if is_list else 'single'}-valued parameter: "
                             f"{name}")
        object.__setattr__(self, name, [_cast(name, type_, v) for v in value] if is_list else _cast(name, type_, value))

    def __setattr__(self, name, value):
        if name in self._hparam_types:
            object.__setattr__(self, name, value)
        else:
            raise AttributeError(f"HParams has no '{name}'; use add_hparam()")

    def del_hparam(self, name):
        if name in self._hparam_types:
            object.__delattr__(self, name)
            del self._hparam_types[name]

    def parse(self, values):
        for name, value in parse_values(values, {n: t for n, (t, _) in self._hparam_types.items()}).items():
            if isinstance(value, dict):
                whole = list(getattr(self, name))
                for index, item in value.items():
                    whole[index] = item
                value = whole
            self.set_hparam(name, value)
        return self

    def override_from_dict(self, values_dict: Any) -> Any:
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: Any) -> Any:
        return self.override_from_dict(json.loads(values_json))

    def values(self):
        return {n: getattr(self, n) for n in self._hparam_types}

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> Any:
        return json.dumps({n: v for n, v in self.values().items() if not callable(v)}, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    def get(self, key, default=None):
        return getattr(self, key) if key in self._hparam_types else default

    def set_model_structure(self, model_structure: Any) -> None:
        object.__setattr__(self, "_model_structure", model_structure)

    def get_model_structure(self):
        return self._model_structure

    def __contains__(self, key):
        return key in self._hparam_types

    def __str__(self):
        return str(sorted(self.values().items()))

    __repr__ = __str__
