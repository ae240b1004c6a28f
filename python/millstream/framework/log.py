# SPDX-License-Identifier: Apache-2.0
"""tf.logging."""
import logging as _logging
import sys
import time

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50
_LETTERS = {DEBUG: "DEBUG", INFO: "INFO", WARN: "WARNING", ERROR: "ERROR", FATAL: "CRITICAL"}

_logger = None


def get_logger():
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


def log(level, msg, *args, **kwargs):
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg, *args, **kwargs):
    get_logger().debug(msg, *args, **kwargs)


def info(msg, *args, **kwargs):
    get_logger().info(msg, *args, **kwargs)


def warning(msg, *args, **kwargs):
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg, *args, **kwargs):
    get_logger().error(msg, *args, **kwargs)


def fatal(msg, *args, **kwargs):
    get_logger().fatal(msg, *args, **kwargs)


def vlog(level, msg, *args, **kwargs):
    get_logger().log(level, msg, *args, **kwargs)


def flush():
    for handler in get_logger().handlers:
        handler.flush()


def get_verbosity():
    return get_logger().getEffectiveLevel()


def set_verbosity(v):
    get_logger().setLevel(v)


_counts: dict = {}
_times: dict = {}


def log_first_n(level, msg, n, *args):
    count = _counts[msg] = _counts.get(msg, 0) + 1
    if count <= n:
        log(level, msg, *args)


def log_every_n(level, msg, n, *args):
    count = _counts[msg] = _counts.get(msg, -1) + 1
    if count % n == 0:
        log(level, msg, *args)


def log_if(level, msg, condition, *args):
    if condition:
        log(level, msg, *args)


def log_every_n_seconds(level, msg, n, *args):
    now = time.time()
    if now - _times.get(msg, 0) >= n:
        _times[msg] = now
        log(level, msg, *args)


def TaskLevelStatusMessage(msg):
    error(msg)
