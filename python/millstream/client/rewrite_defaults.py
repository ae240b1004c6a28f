# SPDX-License-Identifier: Apache-2.0
"""Rewrites that a program has asked for outside of the ConfigProto of its sessions."""

_mixed_precision = False
_session_without = False  # a session was made while mixed precision was off


def enable_mixed_precision():
    global _mixed_precision
    if _session_without and not _mixed_precision:
        from millstream.framework import log
        log.warning("Mixed precision is for sessions that are made from now on; there is one that was made before.")
    _mixed_precision = True


def disable_mixed_precision():
    global _mixed_precision
    _mixed_precision = False


def applied(config):
    """The ConfigProto (or None) for a new session: one that forbids the rewrite stays as it is."""
    global _session_without
    if not _mixed_precision:
        _session_without = True
        return config
    from millstream.proto import config_pb2, rewriter_config_pb2
    toggle = rewriter_config_pb2.RewriterConfig
    changed = config_pb2.ConfigProto()
    if config is not None:
        changed.ParseFromString(config.SerializeToString())
    rewrites = changed.graph_options.rewrite_options
    if rewrites.auto_mixed_precision != toggle.OFF:
        rewrites.auto_mixed_precision = toggle.ON
    return changed
