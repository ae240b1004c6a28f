# SPDX-License-Identifier: Apache-2.0
"""The base of optimizers that change how gradients travel, not what they do to variables."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.training import optimizer

if TYPE_CHECKING:
    from typing import Any


def check_worker(worker_index: int, num_workers: int) -> None:
    """ValueError if there is no such worker."""
    if num_workers <= 0:
        raise ValueError(f"num_workers must be positive: {num_workers}")
    if not 0 <= worker_index < num_workers:
        raise ValueError(f"worker_index must be between 0 and {num_workers - 1}: {worker_index}")


class WrappingOptimizer(optimizer.Optimizer):
    """Leaves gradients, updates and slots to the optimizer `opt`, unless a subclass says otherwise."""

    def __init__(self, opt: Any, name: str, use_locking: bool = False) -> None:
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[Any]:
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.apply_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> Any:
        return self._opt.variables()
