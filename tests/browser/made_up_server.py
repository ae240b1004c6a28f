# SPDX-License-Identifier: Apache-2.0
"""Serves the real page with made-up data, so that a browser sees what no cluster does at will."""
import http.server
import json
import threading


class MadeUpServer:
    """`status` may be changed at any time; a request that asks to wait gets what it is after that time, or at end()."""

    def __init__(self, page, status, graph=None):
        self.status, self.graph, self.silent = status, graph, False
        self._ended = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if outer.silent:
                    return
                if self.path.startswith("/status.json"):
                    if "wait=0" not in self.path:
                        outer._ended.wait(2)
                    if outer.silent:
                        return
                    self.answer("application/json", json.dumps(outer.status))
                elif self.path.startswith("/graph.json") and outer.graph:
                    self.answer("application/json", json.dumps(outer.graph))
                elif self.path == "/":
                    self.answer("text/html; charset=utf-8", page)
                else:
                    self.send_error(404)

            def answer(self, kind, text):
                body = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/"
        self._thread = threading.Thread(target=self._http.serve_forever)
        self._thread.start()

    def end(self, status):
        """As a server that stops: its last answer, and then none."""
        self.status = status
        self._ended.set()

    def stop(self):
        """As a server that was killed."""
        self.silent = True
        self._ended.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
