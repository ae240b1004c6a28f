# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.cluster_resolver: where a program learns of its cluster."""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from millstream.training import server_lib

if TYPE_CHECKING:
    from typing import Any


class ClusterResolver:
    def cluster_spec(self) -> Any:
        raise NotImplementedError

    def master(self, task_type: Any = None, task_id: Any = None, rpc_layer: Any = None) -> Any:
        """grpc://host:port of a task, or ""."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None or not self.cluster_spec().as_dict():
            return ""
        return f"{rpc_layer or 'grpc'}://{self.cluster_spec().task_address(task_type, task_id)}"

    task_type = task_id = None


class SimpleClusterResolver(ClusterResolver):
    def __init__(self, cluster_spec: Any, master: str = "", task_type: Any = None, task_id: Any = None, environment: str = "",
                 num_accelerators: Any = 0, rpc_layer: Any = None) -> None:
        if not isinstance(cluster_spec, server_lib.ClusterSpec):
            raise TypeError("cluster_spec must be a ClusterSpec.")
        self._spec, self._master, self.task_type, self.task_id = cluster_spec, master, task_type, task_id
        self.environment, self.rpc_layer = environment, rpc_layer

    def cluster_spec(self) -> Any:
        return self._spec

    def master(self, task_type: Any = None, task_id: Any = None, rpc_layer: Any = None) -> Any:
        return super().master(task_type, task_id, rpc_layer) if task_type is not None else self._master


class TFConfigClusterResolver(ClusterResolver):
    """The variable TF_CONFIG."""

    def __init__(self, task_type=None, task_id=None, rpc_layer=None, environment=None):
        config = json.loads(os.environ.get("TF_CONFIG") or "{}")
        task = config.get("task", {})
        self._spec = server_lib.ClusterSpec(config.get("cluster", {}))
        self.task_type = task_type or task.get("type")
        self.task_id = task_id if task_id is not None else None if task.get("index") is None else int(task["index"])
        self.rpc_layer, self.environment = rpc_layer or config.get("rpc_layer"), environment or config.get("environment", "")

    def cluster_spec(self) -> Any:
        return self._spec
