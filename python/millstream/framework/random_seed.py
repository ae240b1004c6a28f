# SPDX-License-Identifier: Apache-2.0
"""Seeds of random ops, from the seed of the graph and that of the op."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import scopes

if TYPE_CHECKING:
    from typing import Any

DEFAULT_GRAPH_SEED = 87654321
_MAX_INT32 = 2**31 - 1


def get_seed(op_seed: Any) -> Any:
    """The two seeds that a random op gets; (None, None) if it is to differ in each run."""
    graph = scopes.get_default_graph()
    if graph.seed is not None:
        if op_seed is None:
            op_seed = graph.__dict__.get("_ops_without_seed", 0)  # the n-th such op of the graph, as TensorFlow 2.x counts
            graph._ops_without_seed = op_seed + 1
        seeds = graph.seed % _MAX_INT32, op_seed % _MAX_INT32
    elif op_seed is not None:
        seeds = DEFAULT_GRAPH_SEED, op_seed % _MAX_INT32
    else:
        return None, None
    return (0, _MAX_INT32) if seeds == (0, 0) else seeds  # (0, 0) means "random" to the kernels


def set_random_seed(seed: int) -> None:
    """Sets the seed of the default graph.

    Random ops that are made afterwards derive their seeds from it, so runs can be repeated.
    """
    scopes.get_default_graph().seed = seed
