# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.framework.log import DEBUG as DEBUG
from millstream.framework.log import ERROR as ERROR
from millstream.framework.log import FATAL as FATAL
from millstream.framework.log import INFO as INFO
from millstream.framework.log import TaskLevelStatusMessage as TaskLevelStatusMessage
from millstream.framework.log import WARN as WARN
from millstream.framework.log import debug as debug
from millstream.framework.log import error as error
from millstream.framework.log import fatal as fatal
from millstream.framework.log import flush as flush
from millstream.framework.log import get_logger as get_logger
from millstream.framework.log import get_verbosity as get_verbosity
from millstream.framework.log import info as info
from millstream.framework.log import log as log
from millstream.framework.log import log_every_n as log_every_n
from millstream.framework.log import log_every_n_seconds as log_every_n_seconds
from millstream.framework.log import log_first_n as log_first_n
from millstream.framework.log import log_if as log_if
from millstream.framework.log import set_verbosity as set_verbosity
from millstream.framework.log import vlog as vlog
from millstream.framework.log import warn as warn
from millstream.framework.log import warning as warning

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "TaskLevelStatusMessage",
    "WARN",
    "debug",
    "error",
    "fatal",
    "flush",
    "get_logger",
    "get_verbosity",
    "info",
    "log",
    "log_every_n",
    "log_every_n_seconds",
    "log_first_n",
    "log_if",
    "set_verbosity",
    "vlog",
    "warn",
    "warning",
]
