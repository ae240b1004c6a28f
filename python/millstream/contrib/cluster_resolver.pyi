# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.estimators.tpu import TPUClusterResolver as TPUClusterResolver
from millstream.training.cluster_resolvers import ClusterResolver as ClusterResolver
from millstream.training.cluster_resolvers import SimpleClusterResolver as SimpleClusterResolver
from millstream.training.cluster_resolvers import TFConfigClusterResolver as TFConfigClusterResolver

__all__ = [
    "ClusterResolver",
    "SimpleClusterResolver",
    "TFConfigClusterResolver",
    "TPUClusterResolver",
]
