# SPDX-License-Identifier: Apache-2.0
"""Attacks on the status page, its login and the log; tokens of roles (docs/security.md)."""
import json
import os
import re
import socket
import subprocess

import pytest
import trust_client
from cluster_processes import free_ports
from strangers import TOKEN, codes_for_another_user, role_token, secrets

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")


@needs_root
def test_other_users_see_the_page_only_with_a_token_of_the_job(make_cluster, program, token_file):
    paths = ["status.json", "metrics", "graph.json", "healthz"]
    assert codes_for_another_user(make_cluster(ps=1, status_pages=True).status_url("ps"), paths) == [403, 403, 403, 200]
    url = make_cluster(ps=1, status_pages=True, flags=["--token_file", token_file]).status_url("ps")
    assert codes_for_another_user(url, paths) == [401, 401, 401, 200]
    for token in (TOKEN, role_token(program, token_file, "client"), role_token(program, token_file, "observer")):
        assert codes_for_another_user(url, paths, token)[:2] == [200, 200]
    assert trust_client.ask(url + "status.json")[0] == 200, "the same user needs none"


def test_a_server_refuses_to_start_with_a_role_token(program, tmp_path, token_file):
    path = tmp_path / "observer"
    path.write_text(role_token(program, token_file, "observer"))
    done = subprocess.run([program, "server", "--cluster", '{"ps":["127.0.0.1:0"]}', "--job_name", "ps", "--token_file", str(path)],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "a server needs the job token" in done.stderr


def test_a_new_token_is_long_and_random(program):
    made = {subprocess.run([program, "token"], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(made) == 2 and all(re.fullmatch(r"[0-9a-f]{64}\n", token) for token in made)


@pytest.fixture
def page(make_cluster, with_token):
    return make_cluster(ps=1, status_pages=True).status_url("ps")


def test_a_login_proves_both_sides_and_gives_a_bounded_cookie(page):
    login = trust_client.Login(page, TOKEN)
    login.challenge()
    assert login.server_knows()
    code, answer, headers = login.prove()
    assert code == 200 and json.loads(answer) == {"role": "client"}
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]
    for secret in secrets():
        assert secret.decode("latin1") not in answer + headers["Set-Cookie"]
    again, _, _ = login.prove()
    assert again == 404, "a proof serves once"


def test_a_wrong_token_logs_nobody_in(page):
    login = trust_client.Login(page, "wrong" + TOKEN)
    login.challenge()
    assert not login.server_knows()
    assert login.prove()[0] == 401


def test_a_login_needs_well_formed_messages(page):
    for body in (b"", b"zz", b"0", b"00", b"01" * 40, b"01" * 1500):
        assert trust_client.ask(page + "trust/challenge", body)[0] in (400, 403), body
    assert trust_client.ask(page + "trust/prove?id=none", b"00" * 32)[0] == 404
    assert trust_client.ask(page + "trust/challenge", b"0" * 5000)[0] == 413


def test_only_the_observers_token_may_be_sent(page, program, token_file):
    observer = role_token(program, token_file, "observer")
    code, answer, _ = trust_client.ask(page + "status.json", Authorization="Bearer " + TOKEN)
    assert code == 401 and "never sent" in answer
    code, answer, _ = trust_client.ask(page + "status.json", Authorization="Bearer " + observer)
    assert code == 200 and "action_token" not in json.loads(answer)
    assert trust_client.ask(page + "trace", b"", Authorization="Bearer " + observer)[0] == 403
    assert trust_client.ask(page + "metrics", Authorization="Bearer " + role_token(program, token_file, "client"))[0] == 401


def test_a_rebound_name_is_refused(page):
    for path in ("", "status.json", "trust/challenge"):
        assert trust_client.ask(page + path, b"00" if "trust" in path else None, Host="rebound.example")[0] == 403


def test_what_strangers_send_is_escaped_and_counted_in_the_log(program, tmp_path):
    log = tmp_path / "log"
    port = free_ports(1)[0]
    with open(log, "w", encoding="utf-8") as f:
        server = subprocess.Popen([program, "server", "--cluster", json.dumps({"ps": [f"127.0.0.1:{port}"]}), "--job_name", "ps", "--links", "tcp"],
                                  stdout=subprocess.PIPE, stderr=f, text=True)
    try:
        assert "Started server" in server.stdout.readline()
        with open("/proc/net/tcp", encoding="utf-8") as f:
            inodes = {os.readlink(f"/proc/{server.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{server.pid}/fd")}
            ports = {int(words[1].split(":")[1], 16) for words in map(str.split, f)
                     if words[3] == "0A" and f"socket:[{words[9]}]" in inodes} - {port}
        (link_port,) = ports
        name = b"x\n2026-01-01 00:00:00.000000 E forged line\x1b[31m"
        hello = bytes([1, 3]) + bytes(32) + trust_client.text(name) + trust_client.text(b"another task") + trust_client.text(b"")
        message = b"MSLINK\r\n" + (3).to_bytes(4, "little") + len(hello).to_bytes(4, "little") + bytes(16) + hello
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", link_port)) as s:
                s.sendall(message)
                while s.recv(4096):
                    pass
    finally:
        server.kill()
        server.wait()
    lines = log.read_text(encoding="utf-8").splitlines()
    refusals = [line for line in lines if "refused a link" in line]
    assert 1 <= len(refusals) <= 5, lines
    assert "x\\n2026-01-01" in refusals[0] and "\\x1b[31m" in refusals[0], refusals
    assert not any(line.startswith("2026-01-01 00:00:00.000000 E forged") for line in lines) and "\x1b" not in "".join(lines)
