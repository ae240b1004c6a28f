# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.platform.version import COMPILER_VERSION as COMPILER_VERSION
from millstream.platform.version import GIT_VERSION as GIT_VERSION
from millstream.platform.version import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from millstream.platform.version import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from millstream.platform.version import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from millstream.platform.version import VERSION as VERSION

__all__ = [
    "COMPILER_VERSION",
    "GIT_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "VERSION",
]
