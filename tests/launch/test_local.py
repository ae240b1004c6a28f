# SPDX-License-Identifier: Apache-2.0
"""millstream launch on this machine."""
import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.request
import uuid

import pytest
from programs import SHOW, TRAIN, processes_with, wait_until


def _lines(done, task):
    return [line.split("] ", 1)[1] for line in done.stdout.splitlines() if line.startswith(f"[{task}] ")]


def _python(code, *args):
    return [sys.executable, "-c", code, *args]


def test_tasks_know_who_they_are(launch):
    done = launch("--ps", "1", "--workers", "2", "--", *SHOW, "--mine=1")
    assert done.returncode == 0, done.stderr
    for task in ("ps:0", "worker:0", "worker:1"):
        job, index = task.split(":")
        args, config, token = _lines(done, task)
        assert re.fullmatch(rf"args --mine=1 --ps_hosts=localhost:\d+ --worker_hosts=localhost:\d+,localhost:\d+ --job_name={job} --task_index={index}", args)
        assert config == f"config {job} {index} 2"
        assert token == "token 64"
    token_file = re.search(r"token in (\S+)", done.stderr).group(1)
    assert not os.path.exists(os.path.dirname(token_file))


def test_workers_alone_get_no_flags(launch):
    done = launch("--workers=2", "--", *SHOW, "--mine=1")
    assert done.returncode == 0, done.stderr
    assert sorted(line for line in done.stdout.splitlines() if "args" in line) == [f"[worker:{i}] args --mine=1" for i in range(2)]


def test_flags_and_token_can_be_left_out(launch):
    done = launch("--workers=1", "--no_flags", "--insecure", "--", *SHOW)
    assert _lines(done, "worker:0") == ["args ", "config worker 0 1", "token None"]


def test_a_tf1_program(launch, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    done = launch("--ps", "1", "--workers", "2", "--", sys.executable, str(script), timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert _lines(done, "worker:0") == ["reached 20"] and _lines(done, "worker:1") == ["reached 20"]


def test_ps_that_waits_for_ever_is_stopped(launch):
    done = launch("--ps", "2", "--workers", "1", "--no_flags", "--", *_python(
        "import json, os, time\nif json.loads(os.environ['TF_CONFIG'])['task']['type'] == 'ps': time.sleep(1000)"))
    assert done.returncode == 0, done.stderr


def test_the_first_failure_is_reported_first(launch):
    done = launch("--workers", "3", "--no_flags", "--", *_python("""
import json, os, sys, time
if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
    print("about to fail")
    raise ValueError("of my own making")
time.sleep(1000)
"""))
    assert done.returncode == 1
    report = done.stderr[done.stderr.index("worker:1 failed first: exit code 1; its last output:"):]
    assert "| about to fail" in report and "| ValueError: of my own making" in report
    assert "worker:0" not in report and "worker:2" not in report


@pytest.mark.parametrize("how,code", [("sys.exit(42)", 42), ("os.kill(os.getpid(), 9)", 137)])
def test_exit_code_is_that_of_the_task(launch, how, code):
    assert launch("--workers=2", "--no_flags", "--", *_python(f"import os, sys; {how}")).returncode == code


def test_restarts(launch, tmp_path):
    mark = tmp_path / "tries"
    code = "import sys; f = open(sys.argv[1], 'a+'); f.seek(0); n = len(f.read()); f.write('x'); sys.exit(5 if n < 2 else 0)"
    done = launch("--max_restarts=2", "--no_flags", "--", *_python(code, str(mark)))
    assert done.returncode == 0 and mark.read_text() == "xxx"
    assert "worker:0 ended: exit code 5; starting it again in 1 s (2 of 2)" in done.stderr
    mark.write_text("")
    assert launch("--max_restarts=1", "--no_flags", "--", *_python(code, str(mark))).returncode == 5


WAIT = "import sys, time\nprint('ready', flush=True)\ntime.sleep(1000)"


def _start(program, mark, code, *flags):
    env = dict(os.environ, MARK=mark)
    return subprocess.Popen([program, "launch", "--ps=1", "--workers=2", "--no_flags", *flags, "--", *_python(code)], env=env,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _await_ready(process, tasks=3):
    for _ in range(tasks):
        assert "ready" in process.stdout.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_passed_on(program, number):
    mark = uuid.uuid4().hex
    # ps tasks get SIGTERM in any case, when the workers have ended.
    process = _start(program, mark, "import signal, sys, time\ndef save(*_):\n  print('saved', flush=True)\n  sys.exit(0)\n"
                                    f"signal.signal({int(number)}, save)\nsignal.signal(15, save)\nprint('ready', flush=True)\ntime.sleep(1000)")
    _await_ready(process)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number, err
    assert out.count("saved") == 3
    assert not processes_with(mark)


def test_ctrl_c_on_a_terminal_keeps_lines_whole(program):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(program, [program, "launch", "--workers=2", "--no_flags", "--", *_python("import time; print('ready', flush=True); time.sleep(1000)")])
    shown, typed = b"", False
    while True:
        try:
            shown += os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if shown.count(b"] ready") == 2 and not typed:
            typed = True
            os.write(terminal, b"\x03")
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    lines = shown.decode().splitlines()
    assert "^C" in lines, lines
    assert all(line == "^C" or line.startswith(("millstream: ", "[worker:", "  | ", "then ")) for line in lines), lines


def test_a_second_signal_kills(program):
    mark = uuid.uuid4().hex
    process = _start(program, mark, "import signal, time\nsignal.signal(2, lambda *_: print('no', flush=True))\nprint('ready', flush=True)\n"
                                    "while True: time.sleep(1)", "--grace=100")
    _await_ready(process)
    process.send_signal(signal.SIGINT)
    assert "no" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert not processes_with(mark)


def test_nothing_is_left_when_the_launcher_is_killed(program):
    mark = uuid.uuid4().hex
    code = "import subprocess, sys\nsubprocess.Popen(['sleep', '1000'])\n" + WAIT
    process = _start(program, mark, code)
    _await_ready(process)
    assert len(processes_with(mark)) >= 7
    process.kill()
    _, err = process.communicate(timeout=30)
    wait_until(lambda: not processes_with(mark))
    folder = os.path.dirname(re.search(r"token in (\S+)", err).group(1))
    wait_until(lambda: not os.path.exists(folder))


def test_standard_output_that_nobody_reads_ends_the_job(program):
    mark = uuid.uuid4().hex
    process = _start(program, mark, "import time\nprint('ready', flush=True)\nwhile True: print('line', flush=True); time.sleep(0.01)")
    assert process.stdout.readline()
    process.stdout.close()
    process.wait(timeout=30)
    process.stderr.close()
    assert process.returncode == 128 + signal.SIGPIPE
    assert not processes_with(mark)


@pytest.mark.parametrize("flags,settings", [(["--status_port=0"], {}), ([], {"MILLSTREAM_STATUS_PORT": "0"})], ids=["flag", "environment"])
def test_one_task_shows_the_status_page(program, flags, settings):
    command = [program, "launch", "--ps=1", "--workers=2", *flags, "--", program, "server"]
    process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    shown = ""
    while not ("Status page" in shown and shown.count("Started server") == 3):
        line = process.stdout.readline()
        assert line, shown
        shown += line
    task, url = re.search(r"\[(.*)\] Status page: (\S+)", shown).groups()
    assert task == "worker:0"
    with urllib.request.urlopen(url + "status.json", timeout=60) as answer:
        assert len(json.load(answer)["tasks"]) == 3
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert (shown + rest).count("Status page") == 1


@pytest.mark.parametrize("args,says", [
    (["--ps", "1"], "which program?"),
    (["--status_port", "70000", "--", "true"], "--status_port"),
    (["--ps", "1", "python", "train.py"], "put -- before the program"),
    (["--workers", "0", "--", "true"], "at least one worker"),
    (["--workers", "-1", "--", "true"], "--workers"),
    (["--wrong", "--", "true"], "--wrong"),
])
def test_wrong_flags(launch, args, says):
    done = launch(*args)
    assert done.returncode == 2 and says in done.stderr


def test_a_program_that_is_not_there(launch):
    done = launch("--", "no-such-program")
    assert done.returncode == 127 and "cannot start" in done.stderr and "no-such-program" in done.stderr
