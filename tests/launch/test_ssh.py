# SPDX-License-Identifier: Apache-2.0
"""millstream launch --hosts, over a real sshd on loopback."""
import os
import re
import shutil
import signal
import subprocess
import sys
import uuid

import pytest
from programs import SHOW, TRAIN, processes_with, wait_until
from ssh_server import SshServers

HOSTS = "--hosts=one=127.0.0.1,two=127.0.0.2"
PATIENT = "--connect_timeout=60"  # a login on a busy machine


@pytest.fixture(scope="module")
def ssh(tmp_path_factory):
    servers = SshServers(tmp_path_factory.mktemp("ssh"), {"one": ("127.0.0.1", []), "two": ("127.0.0.1", [])})
    yield f"--ssh=ssh -F {servers.config}"
    servers.stop()


def test_tasks_on_two_hosts(launch, ssh, tmp_path):
    done = launch(ssh, PATIENT, HOSTS, "--ps=1", "--workers=2", f"--remote_folder={tmp_path}", "--", *SHOW, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\[worker:1\] args --ps_hosts=127.0.0.1:\d+ --worker_hosts=127.0.0.1:\d+,127.0.0.2:\d+ --job_name=worker --task_index=1", done.stdout)
    assert done.stdout.count("token 64") == 3


def test_a_tf1_program(launch, ssh, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import sys\nsys.path[:0] = %r\n" % [p for p in sys.path if p] + TRAIN)
    done = launch(ssh, PATIENT, HOSTS, "--ps=1", "--workers=2", "--", sys.executable, str(script), timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("reached 20") == 2


def test_the_token_is_on_no_command_line(program, ssh):
    mark = uuid.uuid4().hex
    process = subprocess.Popen([program, "launch", ssh, PATIENT, HOSTS, "--workers=2", "--no_flags", "--", sys.executable, "-c",
                                "import os, time\nprint('ready', open(os.environ['MILLSTREAM_TOKEN_FILE']).read(), flush=True)\ntime.sleep(1000)", mark],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    token = re.search(r"ready (\w+)", process.stdout.readline()).group(1)
    lines = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert mark in lines and token not in lines
    # Ctrl-C reaches the other side, and nothing is left there.
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    wait_until(lambda: not processes_with(mark))


def test_nothing_is_left_when_the_launcher_is_killed(program, ssh):
    mark = uuid.uuid4().hex
    process = subprocess.Popen([program, "launch", ssh, PATIENT, HOSTS, "--ps=1", "--workers=2", "--no_flags", "--", sys.executable, "-c",
                                "import os, time\nprint('ready', os.environ['MILLSTREAM_TOKEN_FILE'], flush=True)\ntime.sleep(1000)", mark],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    files = [re.search(r"ready (\S+)", process.stdout.readline()).group(1) for _ in range(3)]
    assert all(os.path.exists(f) for f in files)
    process.kill()
    process.communicate(timeout=30)
    wait_until(lambda: not processes_with(mark))
    wait_until(lambda: not any(os.path.exists(os.path.dirname(f)) for f in files))


def test_exit_code_and_report(launch, ssh):
    done = launch(ssh, PATIENT, HOSTS, "--workers=2", "--no_flags", "--", sys.executable, "-c", "import sys, time\nprint('broken')\nsys.exit(9)", timeout=120)
    assert done.returncode == 9 and "failed first: exit code 9" in done.stderr and "| broken" in done.stderr


def test_restarts(launch, ssh, tmp_path):
    mark = tmp_path / "tries"
    code = "import sys; f = open(sys.argv[1], 'a+'); f.seek(0); n = len(f.read()); f.write('x'); sys.exit(5 if n < 1 else 0)"
    done = launch(ssh, PATIENT, "--hosts=one=127.0.0.1", "--max_restarts=1", "--no_flags", "--", sys.executable, "-c", code, str(mark), timeout=120)
    assert done.returncode == 0 and mark.read_text() == "xx", done.stderr


def test_hosts_that_cannot_be_reached_are_named(launch, ssh):
    done = launch(ssh, "--hosts=one,lost,closed", "--workers=3", "--connect_timeout=12", "--", "true", timeout=120)
    assert done.returncode == 1
    assert "2 of 3 hosts cannot be used" in done.stderr
    assert re.search(r"closed: .*refused", done.stderr) and "lost: " in done.stderr and "one: " not in done.stderr


@pytest.mark.parametrize("flags,says", [
    (["--remote_program=/no/such/millstream", "--", "true"], "--remote_program"),
    (["--remote_folder=/no/such/folder", "--", "true"], "/no/such/folder"),
    (["--", "no-such-program"], "no-such-program"),
    (["--hosts=-oProxyCommand=x", "--", "true"], "is no host"),
])
def test_what_is_missing_on_a_host(launch, ssh, flags, says):
    hosts = [] if flags[0].startswith("--hosts") else ["--hosts=one=127.0.0.1"]
    done = launch(ssh, PATIENT, *hosts, *flags, timeout=120)
    assert done.returncode != 0 and says in done.stderr, done.stderr


def _ip(*args):
    subprocess.run(["ip", *args], check=True, capture_output=True)


@pytest.fixture
def two_hosts(tmp_path):
    """Two network namespaces with an sshd each: hosts n1 and n2, and how to run something in the first."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and ip")
    names = [f"msl{os.getpid()}a", f"msl{os.getpid()}b"]
    servers = None
    try:
        for name in names:
            _ip("netns", "add", name)
        _ip("link", "add", "mslv", "netns", names[0], "type", "veth", "peer", "name", "mslv", "netns", names[1])
        for i, name in enumerate(names):
            _ip("-n", name, "addr", "add", f"10.77.4.{i + 1}/24", "dev", "mslv")
            _ip("-n", name, "link", "set", "mslv", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        prefixes = [["ip", "netns", "exec", name] for name in names]
        servers = SshServers(tmp_path, {f"n{i + 1}": (f"10.77.4.{i + 1}", prefix) for i, prefix in enumerate(prefixes)})
        yield prefixes[0], f"--ssh=ssh -F {servers.config}"
    finally:
        if servers is not None:
            servers.stop()
        for name in names:
            _ip("netns", "del", name)


def test_hosts_with_addresses_of_their_own(program, two_hosts, tmp_path):
    prefix, ssh = two_hosts
    script = tmp_path / "train.py"
    script.write_text("import sys\nsys.path[:0] = %r\n" % [p for p in sys.path if p] + TRAIN)
    done = subprocess.run([*prefix, program, "launch", ssh, PATIENT, "--hosts=n1=10.77.4.1,n2=10.77.4.2", "--ps=2", "--workers=2", "--", sys.executable, str(script)],
                          capture_output=True, text=True, timeout=120, check=False)
    # Beyond loopback servers start with a token only: all have got it.
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("reached 20") == 2 and '"10.77.4.2:' in done.stderr
