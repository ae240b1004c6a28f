# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.training.queue_runner_impl import QueueRunner as QueueRunner
from millstream.training.queue_runner_impl import add_queue_runner as add_queue_runner
from millstream.training.queue_runner_impl import start_queue_runners as start_queue_runners

__all__ = [
    "QueueRunner",
    "add_queue_runner",
    "start_queue_runners",
]
