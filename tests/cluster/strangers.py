# SPDX-License-Identifier: Apache-2.0
"""What attacks on a job are made of: another user of the host, and those who hold an address or pass on what they hear."""
import json
import os
import socket
import subprocess
import threading
import time

import trust_client

import millstream as tf

TOKEN = "open-sesame-0123456789"
NOBODY = 65534
HERE = os.path.dirname(os.path.abspath(__file__))


def as_another_user(command, token=None, timeout=60):
    """Runs a command as nobody, who has only the token that is given."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLSTREAM_")}
    path = None
    if token is not None:
        path = f"/tmp/millstream-test-{os.getpid()}-{time.monotonic_ns()}"
        with open(path, "w", encoding="utf-8") as f:
            f.write(token)
        os.chmod(path, 0o600)
        os.chown(path, NOBODY, NOBODY)
        environment["MILLSTREAM_TOKEN_FILE"] = path
    try:
        return subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], env=environment, capture_output=True, text=True,
                              timeout=timeout, check=False, cwd="/")
    finally:
        if path is not None:
            os.unlink(path)


def codes_for_another_user(url, paths, token=""):
    done = as_another_user(["/usr/bin/python3", os.path.join(HERE, "trust_client.py"), url, token, *paths])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def role_token(program, token_file, role):
    done = subprocess.run([program, "token", "--role", role, "--token_file", token_file], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def check_command(program, cluster):
    return [program, "check", "--timeout", "20", "--cluster", json.dumps(cluster.spec)]


class Listener:
    """Holds an address and keeps what is sent there; `answer(connection)` may serve each connection."""

    def __init__(self, address, answer=None):
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_server((host, int(port)))
        self.heard, self._answer, self._open = [], answer, []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._keep, args=(connection,), daemon=True).start()

    def _keep(self, connection):
        heard = bytearray()
        self.heard.append(heard)
        if self._answer:
            self._answer(connection)
        try:
            while piece := connection.recv(65536):
                heard += piece
        except OSError:
            pass

    def wait(self, size=24):
        """Until somebody has said so much."""
        self.wait_for(lambda heard: len(heard) >= size)

    def wait_for(self, enough):
        """Until what one caller has said is enough."""
        deadline = time.monotonic() + 60
        while not any(enough(bytes(heard)) for heard in self.heard):
            assert time.monotonic() < deadline, "nobody came"
            time.sleep(0.02)

    def everything(self):
        return b"".join(bytes(heard) for heard in self.heard)

    def close(self):
        self._socket.close()
        for connection in self._open:
            connection.close()


class Relay(Listener):
    """Passes everything on to another address, both ways, and keeps what the callers say."""

    def __init__(self, address, to):
        self._to = to
        super().__init__(address)

    def _keep(self, connection):
        heard = bytearray()
        self.heard.append(heard)
        host, port = self._to.rsplit(":", 1)
        onward = socket.create_connection((host, int(port)))
        self._open.append(onward)

        def back():
            try:
                while piece := onward.recv(65536):
                    connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        threading.Thread(target=back, daemon=True).start()
        try:
            while piece := connection.recv(65536):
                heard += piece
                onward.sendall(piece)
        except OSError:
            pass
        onward.close()


def speak_http2(connection):
    """Enough of a server for a client to begin: its settings, and the acknowledgement of the client's."""
    connection.sendall(b"\0\0\0\4\0\0\0\0\0" + b"\0\0\0\4\1\0\0\0\0")


def has_http2_request(heard):
    """Whether a client has sent a whole request: its preface, then frames up to one that ends a stream."""
    at = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    while at + 9 <= len(heard):
        size, kind, frame_flags = int.from_bytes(heard[at:at + 3], "big"), heard[at + 3], heard[at + 4]
        at += 9 + size
        if at <= len(heard) and kind in (0, 1) and frame_flags & 1:  # DATA or HEADERS with END_STREAM
            return True
    return False


def _read(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data


class NotFound:
    """An HTTP server that has nothing, for Listener: 404 for every request. Version 1 does not even understand the question."""

    def __init__(self, version):
        self._serve, self.requests = {1: self._version1, 2: self._version2}[version], 0

    def __call__(self, connection):
        try:
            _read(connection, 24)  # the client's preface
            self._serve(connection)
        except OSError:
            pass

    def _version1(self, connection):
        self.requests += 1
        connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)

    def _version2(self, connection):
        connection.sendall(b"\0\0\0\4\0\0\0\0\0")
        while True:
            head = _read(connection, 9)
            _read(connection, int.from_bytes(head[:3], "big"))
            if head[3] == 4 and not head[4] & 1:  # settings: acknowledged
                connection.sendall(b"\0\0\0\4\1\0\0\0\0")
            if head[3] == 1:  # headers of a request: ":status: 404" is entry 13 of HPACK's table
                self.requests += 1
                connection.sendall(b"\0\0\1\1\5" + head[5:] + b"\x8d")


def secrets():
    """What nobody may read on the wire."""
    keys = [trust_client.credential(TOKEN, role)[1] for role in trust_client.ROLES]
    return [TOKEN.encode(), *keys, *(key.hex().encode() for key in keys)]


def assert_learned_nothing(heard):
    assert heard, "nobody came"
    for secret in secrets():
        assert secret not in heard


def run_at(cluster, job="worker", timeout_ms=60_000):
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(3.0)
        with tf.Session(cluster.target(job), config=tf.ConfigProto(operation_timeout_in_ms=timeout_ms)) as session:
            session.run(v.initializer)
            return session.run(v)
