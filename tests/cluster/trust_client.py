# SPDX-License-Identifier: Apache-2.0
"""The proof of the job token (docs/formats/trust.md) as another program would write it, over the status page's HTTP. Also a program: prints the codes
of requests as a JSON list. Usage: trust_client.py URL TOKEN PATH..."""
import hashlib
import hmac
import json
import os
import re
import struct
import sys
import urllib.error
import urllib.parse
import urllib.request

ROLES = {"observer": 1, "client": 2, "task": 3}


def sign(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def text(data):
    return struct.pack("<H", len(data)) + data


def credential(token, role="client"):
    match = re.fullmatch("(observer|client|task)-([0-9a-f]{64})", token)
    if match:
        return ROLES[match[1]], bytes.fromhex(match[2])
    return ROLES[role], sign(token.encode(), b"millstream role " + role.encode())


def ask(url, body=None, **headers):
    """The code, the text and the headers of an answer."""
    request = urllib.request.Request(url, data=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


class Login:
    """Each step by itself, so that tests can go wrong between them."""

    def __init__(self, url, token, role="client"):
        self.url, (self.role, self.key) = url, credential(token, role)
        host = urllib.parse.urlsplit(url).netloc.encode()
        self.hello = bytes([1, self.role]) + os.urandom(32) + text(b"a test") + text(host) + text(b"")

    def challenge(self):
        code, answer, _ = ask(self.url + "trust/challenge", self.hello.hex().encode())
        assert code == 200, answer
        answer = json.loads(answer)
        self.id, said = answer["id"], bytes.fromhex(answer["challenge"])
        self.begun, self.server_proof = said[:-32], said[-32:]

    def proof(self, label):
        return sign(self.key, b"".join(text(part) for part in (label, b"status", self.hello, self.begun)))

    def server_knows(self):
        return self.server_proof == self.proof(b"millstream server proof")

    def prove(self):
        return ask(self.url + "trust/prove?id=" + self.id, self.proof(b"millstream client proof").hex().encode())


def log_in(url, token, role="client"):
    """The cookie of a session."""
    login = Login(url, token, role)
    login.challenge()
    assert login.server_knows()
    code, answer, headers = login.prove()
    assert code == 200, answer
    return headers["Set-Cookie"].split(";")[0]


def main(url, token, paths):
    headers = {"Cookie": log_in(url, token)} if token else {}
    print(json.dumps([ask(url + path, **headers)[0] for path in paths]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
