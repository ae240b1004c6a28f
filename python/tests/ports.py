# SPDX-License-Identifier: Apache-2.0
import random
import socket


def _outgoing():
    """From where the system takes ports for outgoing connections."""
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
            first, last = map(int, f.read().split())
    except OSError:
        first, last = 32768, 60999
    return range(first, last + 1)


def free_ports(count):
    """Numbers of TCP ports that are free now; no connection that somebody else opens can take them before they are used."""
    outgoing = _outgoing()
    candidates = [p for p in range(10000, 65536) if p not in outgoing]
    if len(candidates) < 4096:  # the system takes nearly all for itself: then any
        candidates = list(range(1024, 65536))
    random.SystemRandom().shuffle(candidates)
    found = []
    for port in candidates:
        if len(found) == count:
            return found
        with socket.socket() as s:
            try:
                s.bind(("", port))
                found.append(port)
            except OSError:
                pass
    raise RuntimeError(f"this host has no {count} free ports")
