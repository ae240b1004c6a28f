# SPDX-License-Identifier: Apache-2.0
"""Named lists that travel with a graph."""
from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any



class Collections:
    def __init__(self):
        self._collections = {}

    @property
    def collections(self) -> Any:
        return list(self._collections)

    def get_all_collection_keys(self) -> list[str]:
        return [k for k in self._collections if isinstance(k, str)]

    def add_to_collection(self, name, value):
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        names = (names,) if isinstance(names, str) else dict.fromkeys(names)
        for name in names:
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: str) -> Any:
        return self._collections.setdefault(name, [])

    def get_collection(self, name: str, scope: Any = None) -> Any:
        """A copy of the list; with a scope, only items whose name begins with it (a regular expression)."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def clear_collection(self, name):
        self._check_not_finalized()
        self._collections.pop(name, None)

    @contextlib.contextmanager
    def _original_collections(self):
        old = {k: list(v) for k, v in self._collections.items()}
        try:
            yield
        finally:
            self._collections = old
