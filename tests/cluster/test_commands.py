# SPDX-License-Identifier: Apache-2.0
"""The commands around a cluster, as a person types them: server, check, stop, trace."""
import json
import os
import re
import pathlib
import subprocess
import sys
import threading

import pytest

import millstream as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
import check_registrations  # noqa: E402


def _run(program, *args):
    return subprocess.run([program, *args], capture_output=True, text=True, timeout=60)


def test_check_and_stop(program, make_cluster):
    cluster = make_cluster(ps=1, worker=1)
    spec = json.dumps(cluster.spec)
    done = _run(program, "check", "--cluster", spec, "--json")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [f["task"] for f in found] == ["/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"]
    assert all(f["reachable"] and f["devices"] == ["device:CPU:0"] and f["round_trip_us"] > 0 for f in found)
    cluster.kill("ps", 0)
    done = _run(program, "check", "--cluster", spec, "--timeout", "2")
    assert done.returncode != 0 and "NOT reachable" in done.stdout
    assert _run(program, "stop", "--cluster", spec).returncode == 0
    assert cluster.processes["worker", 0].wait(10) == 0


def test_trace_of_the_next_step(program, make_cluster, tmp_path):
    cluster = make_cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        a = tf.random_normal([10, 10])
    with tf.device("/job:worker/task:0"):
        b = tf.matmul(a, a, name="product")
    going = True
    with tf.Session(cluster.target("worker")) as session:

        def steps():
            while going:
                session.run(b)

        thread = threading.Thread(target=steps)
        thread.start()
        out = tmp_path / "trace.json"
        done = _run(program, "trace", cluster.target("worker"), "-o", str(out))
        going = False
        thread.join()
        assert done.returncode == 0, done.stderr
        metadata = tf.RunMetadata()
        session.run(b, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    events = json.loads(out.read_text())["traceEvents"]
    devices = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    where = {e["args"]["name"]: devices[e["pid"]] for e in events if e["ph"] == "X"}
    assert where["product"] == "/job:worker/replica:0/task:0/device:CPU:0"
    sent = [e["id"] for e in events if e["ph"] == "s"]
    received = [e["id"] for e in events if e["ph"] == "f"]
    assert sent and sorted(sent) == sorted(received)
    saved = tmp_path / "metadata.pb"
    saved.write_bytes(metadata.SerializeToString())
    assert _run(program, "trace", str(saved), "-o", str(out)).returncode == 0
    assert "product" in out.read_text()
    (tmp_path / "junk").write_text("junk")
    done = _run(program, "trace", str(tmp_path / "junk"))
    assert done.returncode != 0 and "no traced step" in done.stderr


def test_wrong_flags_say_what_is_wrong(program, make_cluster):
    cluster = make_cluster(ps=1)
    spec = json.dumps(cluster.spec)
    for args, words in {
        ("--cluster", spec, "--job_name", "worker", "--task_index", "0"): "worker",
        ("--cluster", spec, "--job_name", "ps", "--task_index", "3"): "3",
        ("--cluster", '{"ps": ["nonsense"]}', "--job_name", "ps", "--task_index", "0"): "nonsense",
        ("--cluster", "{", "--job_name", "ps", "--task_index", "0"): "millstream:",
        ("--cluster", spec, "--job_name", "ps", "--task_index", "0"): cluster.spec["ps"][0].rsplit(":", 1)[1],  # taken
    }.items():
        done = _run(program, "server", *args)
        assert done.returncode != 0
        assert words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    for flag, words in [("--deadline-ms=-3", "'-3' is not a number above 0"), ("--max_memory_bytes=much", "much unit not recognized")]:
        done = _run(program, "server", "--worker-hosts=localhost:2222", flag)
        assert done.returncode == 2 and words in done.stderr


def _registered_commands():
    """All commands, also those that the help does not list, as their sources register them."""
    files = {path: path.read_text(encoding="utf-8") for path in (ROOT / "cli").rglob("*.cc") if not path.stem.endswith("_test")}
    return sorted(name for kind, name, _ in check_registrations.registrations(files) if kind == "Command")


def test_the_sources_register_the_commands_that_the_program_lists(program):
    listed = _run(program, "no-such-command").stderr.partition("there are: ")[2].strip().split(", ")
    assert set(_registered_commands()) - set(listed) == {"agent", "reference"}  # used by other parts of the project, not by people
    assert set(listed) <= set(_registered_commands())


@pytest.mark.parametrize("command", _registered_commands())
def test_help_names_types_and_ranges_once(program, command):
    shown = _run(program, command, "--help").stdout
    assert not re.search(r"(INT|FLOAT):(INT|FLOAT|NUMBER) |\.\.\. \.\.\.", shown), shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("command", _registered_commands())
def test_wrong_usage_has_exit_code_2(program, command):
    done = _run(program, command, "--no-such-flag")
    assert done.returncode == 2, done.stderr
    assert f"millstream {command}: " in done.stderr and "no_such_flag" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "args, words",
    [
        ([], "which command?"),
        (["foo"], 'unknown command "foo"; there are: '),
        (["trian"], "unknown command \"trian\", did you mean 'train'?"),
        (["train", "--workrs", "2"], "unknown flag '--workrs', did you mean '--workers'?"),
        (["train", "--workers", "0"], "--workers"),
        (["check", "--timeout", "1"], "which job?"),
        (["stop", "--cluster", "{"], "millstream: "),
        (["server", "--ps_hosts=localhost:1"], "which task?"),
        (["launch", "--ps", "1"], "which program?"),
        (["launch", "python"], "put -- before the program"),
        (["manifest", "--", "python"], "which image?"),
        (["bench", "nothing"], "nothing"),
        (["inspect"], "path is required"),
        (["trace", "--timeout", "soon", "x"], "soon"),
    ],
)
def test_wrong_usage_says_what_is_wrong(program, args, words):
    done = _run(program, *args)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_failures_that_are_not_wrong_usage_have_exit_code_1(program):
    for args in [["inspect", "/no/such/file"], ["trace", "/no/such/file"], ["check", "--ps-hosts=localhost:1", "--timeout=0.2"]]:
        done = _run(program, *args)
        assert done.returncode == 1, done.stderr


def test_python_launchers_have_exit_code_2_for_wrong_usage(tmp_path):
    for args in [[], ["no_such_script.py"], ["-m"], ["-c"], ["--no-such-flag"]]:
        done = subprocess.run([sys.executable, "-m", "millstream", *args], capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.returncode == 2, (args, done.stderr)
        assert done.stderr and not done.stdout and "Traceback" not in done.stderr, done.stderr
        assert not args or args[0] in done.stderr


def _run_python(folder, *args, **kwargs):
    return subprocess.run([sys.executable, "-m", "millstream", *args], capture_output=True, text=True, timeout=60, cwd=folder, **kwargs)


@pytest.mark.parametrize("args", [["-m", "no_such_module"], ["-m", "package.no_such_module"], ["package"]])
def test_programs_that_are_not_there_are_named_in_one_line(tmp_path, args):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    done = _run_python(tmp_path, *args)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and args[-1] in done.stderr, done.stderr


@pytest.mark.parametrize("args, first", [
    (["fails.py"], 'File "fails.py", line 2'),
    (["-m", "fails"], "fails.py\", line 2"),
    (["folder"], "__main__.py\", line 2"),
    (["-m", "imports.nothing"], "__init__.py\", line 1"),
    (["-c", "import tensorflow\nraise ValueError(7)"], 'File "<string>", line 2'),
    (["-"], 'File "<stdin>", line 2'),
])
def test_tracebacks_begin_in_the_program(tmp_path, args, first):
    program = "import tensorflow\nraise ValueError(7)\n"
    for folder in ("folder", "imports"):
        (tmp_path / folder).mkdir()
    (tmp_path / "fails.py").write_text(program)
    (tmp_path / "folder" / "__main__.py").write_text(program)
    (tmp_path / "imports" / "__init__.py").write_text("import no_such_module\n")
    done = _run_python(tmp_path, *args, input=program)
    head, frame = done.stderr.splitlines()[:2]
    assert done.returncode == 1 and head == "Traceback (most recent call last):" and first in frame, done.stderr


def test_programs_on_standard_input_and_in_folders(tmp_path):
    program = "import sys, tensorflow as tf\nprint(__name__, sys.argv, tf.__name__)\n"
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text(program)
    assert _run_python(tmp_path, "-", "a", input=program).stdout == "__main__ ['-', 'a'] millstream\n"
    assert _run_python(tmp_path, "folder", "--flag").stdout == "__main__ ['folder', '--flag'] millstream\n"


def test_each_thing_is_registered_in_one_file(program):
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    done = subprocess.run([sys.executable, f"{root}/tools/check_registrations.py"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    page = subprocess.run([sys.executable, f"{root}/tools/docs/train_page.py", program], capture_output=True, text=True, timeout=60, check=True).stdout
    with open(f"{root}/docs/train.md", encoding="utf-8") as f:
        assert f.read() == page, "run `make generate`"


def test_completion_and_reference(program, tmp_path):
    script = _run(program, "completion", "bash").stdout
    ask = script + '\nCOMP_WORDS=(millstream server --job) COMP_CWORD=2; _millstream; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60)
    assert set(done.stdout.split()) >= {"--job_name", "--job_id"}, done.stderr
    assert "complete -c millstream -n '__fish_seen_subcommand_from server' -l job_name" in _run(program, "completion", "fish").stdout
    assert _run(program, "completion", "cmd").returncode == 2
    for words, values in {("train", "--mode", "s"): {"ssp", "sync"}, ("completion", "f"): {"fish"},
                          ("train", "--mode", "=", ""): {"allreduce", "async", "dc-asgd", "hierarchical", "local-sgd", "ssp", "sync"}}.items():
        ask = script + f'\nCOMP_WORDS=(millstream {" ".join(w or chr(39) * 2 for w in words)}) COMP_CWORD={len(words)}; _millstream; echo "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert set(done.stdout.split()) == values, done.stderr
    page = _run(program, "reference", "markdown").stdout
    assert "## millstream inspect" in page and "| `--job_name TEXT` |" in page and "reference [" not in page
    assert ".SS millstream inspect" in _run(program, "reference", "man").stdout
