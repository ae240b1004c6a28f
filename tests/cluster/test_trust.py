# SPDX-License-Identifier: Apache-2.0
"""Attacks on the trust between the tasks of a job and its clients: who gets in, and what strangers learn (docs/security.md)."""
import json
import os
import subprocess
import threading

import pytest
import trust_client
from cluster_processes import free_ports
from strangers import (
    Listener, NOBODY, Relay, TOKEN, as_another_user, assert_learned_nothing, check_command, codes_for_another_user, has_http2_request, role_token,
    run_at, speak_http2)

import millstream as tf

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")


# Other users of the host.

@needs_root
def test_a_server_without_a_token_acts_only_for_its_own_user(make_cluster, program):
    cluster = make_cluster(ps=1, worker=1, status_pages=True)
    done = as_another_user(check_command(program, cluster))
    assert done.returncode == 1 and done.stdout.count("NOT reachable") == 2 and "acts only for the user who started it" in done.stdout
    assert codes_for_another_user(cluster.status_url("ps"), ["status.json", "metrics", "graph.json", "healthz"]) == [403, 403, 403, 200]
    assert run_at(cluster) == 3.0


@needs_root
def test_root_may_use_the_servers_of_others(program):
    port = free_ports(1)[0]
    cluster = {"ps": [f"127.0.0.1:{port}"]}
    server = subprocess.Popen([program, "server", "--cluster", json.dumps(cluster), "--job_name", "ps"], user=NOBODY, group=NOBODY, extra_groups=[],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd="/")
    try:
        assert "Started server" in server.stdout.readline()
        command = [program, "check", "--timeout", "20", "--cluster", json.dumps(cluster)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
        assert as_another_user(command).returncode == 0
    finally:
        server.kill()
        server.wait()


@needs_root
def test_with_a_token_other_users_must_prove_it(make_cluster, program, token_file):
    cluster = make_cluster(ps=1, worker=1, status_pages=True, flags=["--token_file", token_file])
    url = cluster.status_url("ps")
    paths = ["status.json", "metrics", "graph.json?task=x"]
    done = as_another_user(check_command(program, cluster))
    assert done.returncode == 1 and "token" in done.stdout, done.stdout
    assert codes_for_another_user(url, paths) == [401, 401, 401]
    done = as_another_user(check_command(program, cluster), token="wrong" + TOKEN)
    assert done.returncode == 1 and "does not know the job token" in done.stdout, done.stdout
    done = as_another_user(check_command(program, cluster), token=TOKEN)
    assert done.returncode == 0, done.stdout
    assert codes_for_another_user(url, paths, TOKEN)[:2] == [200, 200]
    # A process of the same user, like a client of TensorFlow itself, needs no token.
    assert run_at(cluster) == 3.0
    assert trust_client.ask(url + "status.json")[0] == 200


@needs_root
def test_tokens_of_roles_open_no_more_than_their_role(make_cluster, program, token_file):
    cluster = make_cluster(ps=1, status_pages=True, flags=["--token_file", token_file])
    url = cluster.status_url("ps")
    observer, client = (role_token(program, token_file, role) for role in ("observer", "client"))
    assert codes_for_another_user(url, ["status.json", "metrics"], observer) == [200, 200]
    done = as_another_user(check_command(program, cluster), token=observer)
    assert done.returncode == 1 and "needs the token of a client" in done.stdout, done.stdout
    assert as_another_user(check_command(program, cluster), token=client).returncode == 0
    stopped = as_another_user([program, "stop", "--cluster", json.dumps(cluster.spec)], token=observer)
    assert stopped.returncode != 0 and cluster.alive("ps", 0)


# Those who hold an address.

def test_a_squatter_at_a_missing_ps_learns_nothing_and_ends_nobody(make_cluster, with_token):
    cluster = make_cluster(ps=1, worker=1, start=False)
    squatter = Listener(cluster.spec["ps"][0], answer=speak_http2)
    cluster.start("worker", 0)
    result = []
    session = threading.Thread(target=lambda: result.append(run_at(cluster)))
    session.start()
    squatter.wait_for(has_http2_request)  # nothing more can come before an answer
    squatter.close()
    assert_learned_nothing(squatter.everything())
    assert not result and cluster.alive("worker", 0)
    cluster.start("ps", 0)
    session.join(60)
    assert result == [3.0], "the session goes on with the true ps"


def test_a_relay_to_another_task_is_not_taken_for_the_missing_one(make_cluster, with_token):
    cluster = make_cluster(ps=2, worker=1, start=False)
    for job, task in (("ps", 1), ("worker", 0)):
        cluster.start(job, task)
    relay = Relay(cluster.spec["ps"][0], to=cluster.spec["ps"][1])
    with pytest.raises((tf.errors.DeadlineExceededError, tf.errors.FailedPreconditionError)):
        run_at(cluster, timeout_ms=5000)
    relay.close()
    assert_learned_nothing(relay.everything())


def test_a_client_is_not_relayed_to_another_server(make_cluster, with_token):
    """Who dials an address means the server there, not whoever else knows the token."""
    cluster = make_cluster(local=1)
    address = f"127.0.0.1:{free_ports(1)[0]}"
    relay = Relay(address, to=cluster.spec["local"][0])
    with pytest.raises(tf.errors.OpError), tf.Session("grpc://" + address, config=tf.ConfigProto(operation_timeout_in_ms=5000)) as session:
        session.run(tf.constant(1.0))
    relay.close()
    assert_learned_nothing(relay.everything())


@needs_root
def test_a_recorded_stop_cannot_be_replayed(make_cluster, program, with_token):
    cluster = make_cluster(ps=1, flags=["--deadline_ms", "5000"])
    address = f"127.0.0.1:{free_ports(1)[0]}"
    relay = Relay(address, to=cluster.spec["ps"][0])
    stop = [program, "stop", "--cluster", json.dumps({"ps": [address]}), "--wait", "0"]
    done = subprocess.run(stop, capture_output=True, text=True, timeout=60, check=False)
    assert "stop requested" in done.stdout, done.stdout + done.stderr
    assert cluster.processes["ps", 0].wait(60) == 0
    recorded = max((bytes(heard) for heard in relay.heard), key=len)
    relay.close()
    assert_learned_nothing(recorded)
    cluster.start("ps", 0)
    host, port = cluster.spec["ps"][0].split(":")
    script = ("import socket,sys; s=socket.create_connection((sys.argv[1],int(sys.argv[2]))); s.sendall(bytes.fromhex(sys.stdin.read())); s.settimeout(5)\n"
              "try:\n  while s.recv(65536): pass\nexcept OSError: pass")
    subprocess.run(["/usr/bin/python3", "-c", script, host, port], input=recorded.hex(), text=True, user=NOBODY, group=NOBODY, extra_groups=[],
                   timeout=60, check=True, cwd="/")
    assert cluster.alive("ps", 0) and run_at_ps(cluster) == 1.0


def run_at_ps(cluster):
    with tf.Graph().as_default(), tf.Session(cluster.target("ps")) as session:
        return session.run(tf.constant(1.0))


def test_a_cluster_def_that_points_at_a_listener_tells_it_nothing(make_cluster, with_token):
    cluster = make_cluster(local=1)
    address = f"127.0.0.1:{free_ports(1)[0]}"
    listener = Listener(address, answer=speak_http2)
    spec = tf.train.ClusterSpec({"worker": [cluster.spec["local"][0], address]}).as_cluster_def()
    with pytest.raises(tf.errors.OpError):
        tf.Session(cluster.target("local"), config=tf.ConfigProto(cluster_def=spec, operation_timeout_in_ms=3000)).run(tf.constant(1.0))
    listener.close()
    assert_learned_nothing(listener.everything())


def test_the_status_page_tells_a_listener_nothing(make_cluster, with_token):
    cluster = make_cluster(ps=1, worker=1, start=False, status_pages=True)
    listener = Listener(cluster.spec["worker"][0], answer=speak_http2)
    cluster.start("ps", 0)
    code, text, _ = trust_client.ask(cluster.status_url("ps") + "status.json")
    assert code == 200 and json.loads(text)["tasks"][1]["health"] != "up"
    listener.close()
    assert_learned_nothing(listener.everything())
