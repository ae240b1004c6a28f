# SPDX-License-Identifier: Apache-2.0
"""tf.logging."""
from __future__ import annotations

import logging as _logging
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50
_LETTERS = {DEBUG: "DEBUG", INFO: "INFO", WARN: "WARNING", ERROR: "ERROR", FATAL: "CRITICAL"}

_logger = None


def get_logger() -> Any:
    """The logger "tensorflow", which writes to the standard error output unless the program has set up logging."""
    global _logger
    if _logger is None:
        _logger = _logging.getLogger("tensorflow")
        if not _logging.getLogger().handlers and not _logger.handlers:
            handler = _logging.StreamHandler(sys.stderr)
            handler.setFormatter(_logging.Formatter("%(levelname)s:tensorflow:%(message)s"))
            _logger.addHandler(handler)
        if _logger.level == _logging.NOTSET:
            _logger.setLevel(WARN)
    return _logger


def log(level: Any, msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().debug(msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().info(msg, *args, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().error(msg, *args, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().fatal(msg, *args, **kwargs)


def vlog(level: Any, msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().log(level, msg, *args, **kwargs)


def flush() -> None:
    for handler in get_logger().handlers:
        handler.flush()


def get_verbosity() -> Any:
    return get_logger().getEffectiveLevel()


def set_verbosity(v: Any) -> None:
    get_logger().setLevel(v)


_counts: dict = {}
_times: dict = {}


def log_first_n(level: Any, msg: Any, n: Any, *args: Any) -> None:
    count = _counts[msg] = _counts.get(msg, 0) + 1
    if count <= n:
        log(level, msg, *args)


def log_every_n(level: Any, msg: Any, n: Any, *args: Any) -> None:
    count = _counts[msg] = _counts.get(msg, -1) + 1
    if count % n == 0:
        log(level, msg, *args)


def log_if(level: Any, msg: Any, condition: Any, *args: Any) -> None:
    if condition:
        log(level, msg, *args)


def log_every_n_seconds(level: Any, msg: Any, n: Any, *args: Any) -> None:
    now = time.time()
    if now - _times.get(msg, 0) >= n:
        _times[msg] = now
        log(level, msg, *args)


def TaskLevelStatusMessage(msg: Any) -> None:
    error(msg)
