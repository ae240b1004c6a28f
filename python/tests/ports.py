# SPDX-License-Identifier: Apache-2.0
import socket


def free_ports(count):
    """Numbers of TCP ports of localhost that are free now."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("localhost", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
