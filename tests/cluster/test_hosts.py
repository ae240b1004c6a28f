# SPDX-License-Identifier: Apache-2.0
"""Tasks on separate hosts: network namespaces joined by a veth pair. Needs root and `ip`."""
import json
import os
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import millstream as tf
with tf.device("/job:ps/task:0"):
    v = tf.Variable(tf.ones([1000, 100]))
with tf.device("/job:worker/task:0"):
    total = tf.reduce_sum(v * 2.0)
with tf.Session(sys.argv[1]) as session:
    session.run(v.initializer)
    print(session.run(total), len(session.list_devices()))
"""


def _ip(*args):
    subprocess.run(["ip", *args], check=True, capture_output=True)


@pytest.fixture
def hosts():
    """Names of two namespaces; the first has 10.77.3.1, the second 10.77.3.2."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and ip")
    names = [f"ms{os.getpid()}a", f"ms{os.getpid()}b"]
    try:
        for name in names:
            _ip("netns", "add", name)
    except subprocess.CalledProcessError:
        pytest.skip("no network namespaces here")
    try:
        _ip("link", "add", "msv0", "netns", names[0], "type", "veth", "peer", "name", "msv0", "netns", names[1])
        for i, name in enumerate(names):
            _ip("-n", name, "addr", "add", f"10.77.3.{i + 1}/24", "dev", "msv0")
            _ip("-n", name, "link", "set", "msv0", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            _ip("netns", "del", name)


SPEC = {"ps": ["10.77.3.1:2222"], "worker": ["10.77.3.2:2222"]}


def _server(program, host, job, environment, flags=()):
    command = ["ip", "netns", "exec", host, program, "server", "--cluster", json.dumps(SPEC), "--job_name", job, "--task_index", "0"]
    return subprocess.Popen(command + list(flags), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_two_hosts_with_a_token(program, hosts, tmp_path):
    token = tmp_path / "token"
    token.write_text("open-sesame\n")
    token.chmod(0o600)
    plain = {k: v for k, v in os.environ.items() if not k.startswith("MILLSTREAM_")}
    trusted = dict(plain, MILLSTREAM_TOKEN_FILE=str(token))
    refused = _server(program, hosts[0], "ps", plain)
    text = refused.communicate(timeout=20)[0]
    assert refused.returncode != 0 and "--insecure" in text and "MILLSTREAM_TOKEN_FILE" in text
    servers = [_server(program, host, job, trusted) for host, job in zip(hosts, SPEC)]
    try:
        for server in servers:
            assert "Started server with target: grpc://10.77.3." in server.stdout.readline()
        client = ["ip", "netns", "exec", hosts[1], sys.executable, "-c", SCRIPT, "grpc://10.77.3.2:2222"]
        done = subprocess.run(client, env=trusted, capture_output=True, text=True, timeout=60)
        assert done.stdout.split() == ["200000.0", "2"], done.stderr
        # Of another host: processes of the same user on the server's own host need no token.
        elsewhere = [hosts[0] if word == hosts[1] else word for word in client]
        stranger = subprocess.run(elsewhere, env=plain, capture_output=True, text=True, timeout=60)
        assert stranger.returncode != 0 and "Unauthenticated" in stranger.stderr, stranger.stderr
    finally:
        for server in servers:
            server.kill()
            server.wait()


def test_a_host_that_does_not_know_localhost(program):
    """As in small containers: nobody says which address the name has."""
    alone = ["unshare", "--mount", "sh", "-c", 'mount --bind /dev/null /etc/hosts && mount --bind /dev/null /etc/resolv.conf && exec "$@"', "sh"]
    if os.geteuid() != 0 or shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs root and mount namespaces")
    done = subprocess.run([*alone, program, "train", "--model", "softmax", "--train_steps", "20", "--logdir", ""], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr
