# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.queues.staging import StagingArea as StagingArea

__all__ = [
    "StagingArea",
]
