# SPDX-License-Identifier: Apache-2.0
"""A network between tasks of one machine that can fail: connections to a task go through a relay.

The task is known to others by the address 127.0.0.2 and listens at 127.0.0.1 (`--bind_address`); the relay listens at 127.0.0.2 on
the same ports. What is dropped in one direction of a connection is kept, as TCP would send it again, and goes on after heal().
"""
import os
import selectors
import socket
import threading
import time

TO_TASK, FROM_TASK = "to", "from"


def _sockets(pid):
    """Of the TCP sockets of a process: (local port, is listening)."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            name = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        if name.startswith("socket:["):
            inodes.add(name[8:-1])
    rows = []
    for version in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{version}") as table:
            rows += [line.split() for line in list(table)[1:]]
    return [(int(row[1].rpartition(":")[2], 16), row[3] == "0A") for row in rows if row[9] in inodes]


def listening_ports(pid):
    return {port for port, listens in _sockets(pid) if listens}


class _Connection:
    def __init__(self, relay, client, port):
        self.relay, self.client_port = relay, client.getpeername()[1]
        self.client, self.server = client, socket.create_connection(("127.0.0.1", port))
        self.ended_by = None  # TO_TASK: the client's side ended first
        self.lock = threading.Lock()
        self.dropped = set()
        for direction, source, sink in ((TO_TASK, self.client, self.server), (FROM_TASK, self.server, self.client)):
            threading.Thread(target=self._pump, args=(direction, source, sink), daemon=True).start()

    def _pump(self, direction, source, sink):
        selector = selectors.DefaultSelector()
        selector.register(source, selectors.EVENT_READ)
        while True:
            try:
                while direction in self.dropped and self.ended_by is None:
                    time.sleep(0.01)
                if not selector.select(0.05):
                    if self.ended_by not in (None, direction):
                        return
                    continue
                if direction in self.dropped:
                    continue
                data = source.recv(65536)
                if data:
                    sink.sendall(data)
                    continue
            except OSError:
                data = b""
            break
        with self.lock:
            self.ended_by = self.ended_by or direction
        for end in (self.client, self.server):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.ended_by = self.ended_by or "relay"
        self.client.close()
        self.server.close()


class Relay:
    """In front of one task: all ports on which the process `pid` listens."""

    def __init__(self, pid):
        self.connections = []
        self._listeners = [socket.create_server(("127.0.0.2", port)) for port in listening_ports(pid)]
        for listener in self._listeners:
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
                self.connections.append(_Connection(self, client, listener.getsockname()[1]))
            except OSError:
                if listener.fileno() < 0:
                    return

    def of(self, pid):
        """Open connections that the process `pid` has made."""
        ports = {port for port, _ in _sockets(pid)}
        return [c for c in self.connections if c.client_port in ports and c.ended_by is None]

    def drop(self, *directions, connections=None):
        for connection in self.connections if connections is None else connections:
            connection.dropped.update(directions)

    def heal(self):
        for connection in self.connections:
            connection.dropped.clear()

    def close(self):
        for listener in self._listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for connection in self.connections:
            connection.close()
