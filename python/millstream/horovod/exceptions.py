# SPDX-License-Identifier: Apache-2.0
"""What hvd.elastic.run() catches."""


class HorovodInternalError(RuntimeError):
    """A collective failed because a rank was lost."""


class HostsUpdatedInterrupt(RuntimeError):
    """Ranks have come or will go."""

    def __init__(self, skip_sync=False):
        super().__init__("hosts were updated")
        self.skip_sync = skip_sync


