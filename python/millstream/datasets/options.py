# SPDX-License-Identifier: Apache-2.0
"""tf.data.Options, and what elements are, as functions."""
from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class AutoShardPolicy(enum.IntEnum):
    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Settings:
    """Named settings, None until they are set; others are an AttributeError."""

    _names: tuple = ()

    def __init__(self) -> None:
        for name in self._names:
            self.__dict__[name] = None

    def __setattr__(self, name, value):
        if name not in self.__dict__:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        self.__dict__[name] = value

    def __eq__(self, other):
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # can change


class OptimizationOptions(_Settings):
    _names = ("apply_default_optimizations", "autotune", "autotune_buffers", "autotune_cpu_budget", "autotune_ram_budget",
              "filter_fusion", "filter_parallelization", "inject_prefetch", "map_and_batch_fusion", "map_and_filter_fusion",
              "map_fusion", "map_parallelization", "map_vectorization", "noop_elimination", "parallel_batch",
              "shuffle_and_repeat_fusion", "hoist_random_uniform", "reorder_data_discarding_ops")


class ThreadingOptions(_Settings):
    """How many threads a dataset uses."""
    _names = ("max_intra_op_parallelism", "private_threadpool_size")


class DistributeOptions(_Settings):
    _names = ("auto_shard_policy", "num_devices", "auto_shard")

    def __init__(self) -> None:
        super().__init__()
        self.auto_shard_policy = AutoShardPolicy.AUTO


class AutotuneOptions(_Settings):
    _names = ("enabled", "cpu_budget", "ram_budget", "autotune_algorithm", "initial_parallelism", "min_parallelism")


class Options(_Settings):
    """Accepted for programs that set them; nothing depends on them: elements come in order, and steps are not rewritten."""

    _names = ("deterministic", "experimental_deterministic", "experimental_external_state_policy", "experimental_slack",
              "experimental_stats", "experimental_symbolic_checkpoint", "experimental_warm_start", "framework_type", "dataset_name",
              "autotune", "experimental_distribute", "experimental_optimization", "experimental_threading", "threading",
              "experimental_autotune")

    def __init__(self) -> None:
        super().__init__()
        self.autotune, self.experimental_distribute = AutotuneOptions(), DistributeOptions()
        self.experimental_optimization, self.threading = OptimizationOptions(), ThreadingOptions()
        self.experimental_threading = self.threading

    def merge(self, options: Any) -> Any:
        """These, with what is set in `options` in their place."""
        merged = Options()
        for source in (self, options):
            for name, value in source.__dict__.items():
                if isinstance(value, _Settings):
                    merged.__dict__[name].__dict__.update({k: v for k, v in value.__dict__.items() if v is not None})
                elif value is not None:
                    merged.__dict__[name] = value
        return merged


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The type of each component of a dataset's or an iterator's elements."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shape of each component of a dataset's or an iterator's elements."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """The Python class of each component: tf.Tensor, tf.SparseTensor or tf.RaggedTensor."""
    return dataset_or_iterator.output_classes
