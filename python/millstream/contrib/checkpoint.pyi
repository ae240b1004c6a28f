# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.training.object_checkpoint import CheckpointManager as CheckpointManager
from millstream.training.trackable import AutoTrackable as Checkpointable
from millstream.training.trackable import AutoTrackable as Trackable

__all__ = [
    "CheckpointManager",
    "Checkpointable",
    "Trackable",
]
