# SPDX-License-Identifier: Apache-2.0
"""The commands around a cluster, as a person types them: server, check, stop, trace."""
import json
import subprocess
import threading

import millstream as tf


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
    for flag, words in [("--deadline_ms=-3", "'-3' is not a number above 0"), ("--max_memory_bytes=much", "much unit not recognized")]:
        done = _run(program, "server", "--worker_hosts=localhost:2222", flag)
        assert done.returncode != 0 and words in done.stderr


def test_completion_and_reference(program):
    script = _run(program, "completion", "bash").stdout
    ask = script + '\nCOMP_WORDS=(millstream server --job) COMP_CWORD=2; _millstream; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60)
    assert set(done.stdout.split()) >= {"--job_name", "--job_id"}, done.stderr
    assert "complete -c millstream -n '__fish_seen_subcommand_from server' -l job_name" in _run(program, "completion", "fish").stdout
    assert _run(program, "completion", "cmd").returncode != 0
    page = _run(program, "reference", "markdown").stdout
    assert "## millstream inspect" in page and "| `--job_name TEXT` |" in page and "reference [" not in page
    assert ".SS millstream inspect" in _run(program, "reference", "man").stdout
