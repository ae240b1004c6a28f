# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.estimators.early_stopping import make_early_stopping_hook as make_early_stopping_hook
from millstream.estimators.early_stopping import stop_if_higher_hook as stop_if_higher_hook
from millstream.estimators.early_stopping import stop_if_lower_hook as stop_if_lower_hook
from millstream.estimators.early_stopping import stop_if_no_decrease_hook as stop_if_no_decrease_hook
from millstream.estimators.early_stopping import stop_if_no_increase_hook as stop_if_no_increase_hook

__all__ = [
    "make_early_stopping_hook",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]
