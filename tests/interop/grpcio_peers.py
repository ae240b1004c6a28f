#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python's grpcio as a client of our servers, and as a server for our client.

    tests/interop/grpcio_peers.py build/dev/bin/millstream
"""
import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import unittest

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from cluster_processes import Cluster

CREATE, LIST, HELLO = ("/tensorflow.MasterService/CreateSession", "/tensorflow.MasterService/ListDevices", "/millstream.TaskService/Hello")
UNLIMITED = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, ps=1, worker=1)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.channel = grpc.insecure_channel(self.cluster.target("worker").removeprefix("grpc://"), options=UNLIMITED)
        self.addCleanup(self.channel.close)

    def call(self, path, request=b"", **options):
        return self.channel.unary_unary(path)(request, **options)

    def code(self, path, request=b"", **options):
        with self.assertRaises(grpc.RpcError) as caught:
            self.call(path, request, **options)
        return caught.exception.code(), caught.exception.details()

    def test_answers(self):
        for _ in range(50):
            self.assertIn(b"/job:worker", self.call(LIST, timeout=20))

    def test_many_at_once(self):
        calls = [self.channel.unary_unary(LIST).future(b"", timeout=60) for _ in range(300)]
        for each in calls:
            self.assertIn(b"/job:ps", each.result())

    def test_errors(self):
        self.assertEqual(self.code("/no.Such/Method")[0], grpc.StatusCode.UNIMPLEMENTED)
        self.assertEqual(self.code(LIST, b"\xff\xff")[0], grpc.StatusCode.INTERNAL)
        code, details = self.code("/tensorflow.MasterService/CloseSession", b"\x0a\x07nowhere")
        self.assertEqual(code, grpc.StatusCode.ABORTED)
        self.assertIn("nowhere", details)

    def test_compressed_requests_are_refused(self):
        self.assertEqual(self.code(LIST, b"", compression=grpc.Compression.Gzip)[0], grpc.StatusCode.UNIMPLEMENTED)
        self.assertIn(b"/job:worker", self.call(LIST, compression=grpc.Compression.NoCompression))

    def test_large_requests(self):
        # An unknown field of 200 MB is read and passed over.
        size = 200 << 20
        length = bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128, size >> 21 & 127])
        self.assertIn(b"/job:worker", self.call(LIST, b"\xfa\x07" + length + bytes(size), timeout=120))


class WaitingTest(unittest.TestCase):
    """Sessions that wait for a task that is missing."""

    def setUp(self):
        self.cluster = Cluster(PROGRAM, start=False, ps=1, worker=1)
        self.addCleanup(self.cluster.stop)
        self.cluster.start("worker", 0)
        self.channel = grpc.insecure_channel(self.cluster.target("worker").removeprefix("grpc://"))
        self.addCleanup(self.channel.close)

    def test_deadline_and_cancellation(self):
        create = self.channel.unary_unary(CREATE)
        with self.assertRaises(grpc.RpcError) as caught:
            create(b"", timeout=0.5)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        waiting = create.future(b"")
        waiting.cancel()
        self.assertTrue(waiting.cancelled())

    def test_clients_that_leave_do_not_stop_service(self):
        channels = [grpc.insecure_channel(self.cluster.target("worker").removeprefix("grpc://"), options=[("n", n)]) for n in range(70)]
        calls = [channel.unary_unary(CREATE).future(b"") for channel in channels]
        with self.assertRaises(grpc.RpcError) as caught:
            self.channel.unary_unary("/no.Such/Method")(b"", timeout=30)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        for call, channel in zip(calls, channels):
            self.assertFalse(call.done())
            channel.close()
        with self.assertRaises(grpc.RpcError) as caught:
            self.channel.unary_unary("/tensorflow.MasterService/CloseSession")(b"\x0a\x07nowhere", timeout=30)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.ABORTED)

    def test_signal_ends_the_server(self):
        waiting = self.channel.unary_unary(CREATE).future(b"")
        with self.assertRaises(grpc.FutureTimeoutError):
            waiting.result(timeout=1)
        self.cluster.signal("worker", 0, signal.SIGTERM)
        self.cluster.processes["worker", 0].wait(timeout=30)


class Answers(grpc.GenericRpcHandler):
    """A server of grpcio that refuses every call with an error whose message needs escapes."""

    def __init__(self):
        self.paths = []
        self.called = threading.Event()

    def service(self, details):
        self.paths.append(details.method)
        self.called.set()

        def refuse(_request, context):
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "50 % of \u00e4 is missing")

        return grpc.unary_unary_rpc_method_handler(refuse)


class ServerTest(unittest.TestCase):
    def test_our_client_reads_errors(self):
        answers = Answers()
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=[answers])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(server.stop, None)
        run = subprocess.run([PROGRAM, "trace", f"grpc://127.0.0.1:{port}"], capture_output=True, text=True, timeout=60, check=False)
        self.assertTrue(answers.called.is_set())
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("50 % of \u00e4 is missing", run.stdout + run.stderr)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)
