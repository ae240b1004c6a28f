# SPDX-License-Identifier: Apache-2.0
"""Values that pass from step to step: queues, accumulators, staging areas, session handles."""
