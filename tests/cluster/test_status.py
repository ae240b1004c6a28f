# SPDX-License-Identifier: Apache-2.0
"""The status page's data, from a real cluster: what a browser, Prometheus or a script reads."""
import json
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

import millstream as tf

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


def get(url, method="GET", **headers):
    request = urllib.request.Request(url, method=method, headers={k.replace("_", "-"): v for k, v in headers.items()})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def refused(url, method="GET", **headers):
    with pytest.raises(urllib.error.HTTPError) as error:
        get(url, method, **headers)
    return error.value.code


def status(cluster, job="worker", task=0):
    found = json.loads(get(cluster.status_url(job, task) + "status.json"))
    return found, {t["task"]: t for t in found["tasks"]}


def eventually(check, seconds=20):
    """The first true answer of `check`, which is asked again and again."""
    deadline = time.time() + seconds
    while True:
        answer = check()
        if answer or time.time() > deadline:
            return answer
        time.sleep(0.1)


class Training:
    """A model between a ps and a worker whose steps run until the test ends; fetches a loss, summarizes another number."""

    def __init__(self, cluster):
        with tf.device("/job:ps/task:0"):
            weights = tf.Variable(tf.ones([100, 100]), name="weights")
            step = tf.train.get_or_create_global_step()
        with tf.device("/job:worker/task:0"):
            loss = tf.reduce_mean(tf.square(weights), name="loss")
            summary = tf.summary.scalar("accuracy", 1 - loss)
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        self.session = tf.Session(cluster.target("worker"))
        self.session.run(tf.global_variables_initializer())
        self.fetches, self.going = [train, loss, summary], True
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while self.going:
            self.session.run(self.fetches)
            time.sleep(0.002)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.going = False
        self.thread.join()
        self.session.close()


def test_a_training_cluster(make_cluster):
    cluster = make_cluster(ps=1, worker=2, status_pages=True)
    with Training(cluster):

        def busy():
            found, tasks = status(cluster, "ps")
            worker, ps = tasks[WORKER], tasks[PS]
            curves = {s["name"]: s for s in worker["scalars"]}
            enough = {"loss:0", "accuracy"} <= set(curves) and all(len(curves[n]["points"]) >= 2 for n in ("loss:0", "accuracy"))
            return (found, tasks, curves) if enough and worker["steps"]["per_second"] > 0 and ps["global_steps_per_second"] > 0 else None

        found, tasks, curves = eventually(busy) or pytest.fail("nothing was measured")
        ps, worker, idle = tasks[PS], tasks[WORKER], tasks[WORKER[:-1] + "1"]
        assert [t["health"] for t in found["tasks"]] == ["up"] * 3
        assert found["task"] == PS and ps["global_step"] > 0 and ps["parts"]["ended"] > 0 and ps["steps"]["ended"] == 0
        assert worker["sessions"]["master"] == 1 and worker["steps"]["failed"] == 0 and 0 < worker["steps"]["mean_seconds"] < 10
        assert worker["staleness"] is not None and worker["staleness"] < 0.5  # nobody else trains
        assert idle["steps"]["ended"] == 0 and idle["staleness"] is None
        losses = [value for _, _, value in curves["loss:0"]["points"]]
        assert losses == sorted(losses, reverse=True) and losses[-1] < 1
        assert curves["accuracy"]["source"] == "summary" and curves["loss:0"]["source"] == "fetch"
        assert all(t["memory"]["resident_bytes"] > 1e6 for t in tasks.values())
        (link,) = [line for line in worker["links"] if line["peer"] == PS]
        assert link["open"] >= 1 and link["transport"] == "shm" and link["bytes_sent"] > 40000 and link["sent_per_second"] > 0
        assert worker["errors"] == [] and len(worker["history"]) >= 2

        # Only what is new, when that is asked for.
        later = json.loads(get(cluster.status_url("ps") + f"status.json?since={found['time'] + 3600}"))
        assert all(t["history"] == [] for t in later["tasks"])
        assert refused(cluster.status_url("ps") + "status.json?since=yesterday") == 400

        graph = json.loads(get(cluster.status_url("ps") + "graph.json?task=" + urllib.parse.quote(WORKER)))
        where = {name: graph["devices"][device] for name, _, device in graph["nodes"]}
        assert where["weights"].startswith(PS) and where["loss"].startswith(WORKER) and graph["total_nodes"] == len(where)
        assert any(graph["nodes"][to][0] == "loss" for _, to, _ in graph["edges"])
        assert refused(cluster.status_url("ps") + "graph.json?task=" + urllib.parse.quote(PS)) == 404
        assert json.loads(get(cluster.status_url("ps") + "graph.json"))["nodes"] == graph["nodes"]

        trace = cluster.status_url("ps") + "trace?task=" + urllib.parse.quote(WORKER)
        assert refused(trace) == 405
        assert refused(trace, "POST") == 403
        assert refused(trace, "POST", X_Millstream_Action="0" * 32) == 403
        assert refused(trace, "POST", X_Millstream_Action=found["action_token"], Origin="http://elsewhere.example") == 403
        events = json.loads(get(trace, "POST", X_Millstream_Action=found["action_token"]))["traceEvents"]
        assert {"loss"} <= {e["args"]["name"] for e in events if e["ph"] == "X"} and len({e["pid"] for e in events}) == 2


def curves(task):
    return {(s["name"], s["source"], s.get("run")): s for s in task["scalars"]}


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
def test_training_and_evaluation_are_different_curves(make_cluster, use_resource):
    """A loss of training steps, and the same loss of a step that only computes."""
    cluster = make_cluster(ps=1, worker=1, status_pages=True)
    x = tf.placeholder(tf.float32, [None], name="x")
    with tf.device("/job:ps/task:0"):
        weight = tf.get_variable("weight", initializer=1.0, use_resource=use_resource)
        step = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean(tf.square(weight * x), name="loss")
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)

    def both():
        found = curves(status(cluster)[1][WORKER])
        return found if {("loss:0", "read", None), ("loss:0", "fetch", None)} <= set(found) else None

    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run([train, loss], {x: [1.0, 1.0]})
        session.run(loss, {x: [30.0, 30.0]})
        found = eventually(both) or pytest.fail("no curves")
    assert found["loss:0", "fetch", None]["value"] <= 1 and found["loss:0", "read", None]["value"] > 100


def test_evaluations_written_to_event_files(monkeypatch, capfd, tmp_path):
    monkeypatch.setenv("MILLSTREAM_STATUS_PORT", "0")
    server = tf.train.Server.create_local_server()
    url = re.search(r"status page at (http://127\.0\.0\.1:\d+/)", capfd.readouterr().err)[1]
    tag = "accuracy <&> \"quoted\""
    with tf.summary.FileWriter(str(tmp_path / "eval_holdout")) as evaluation, tf.summary.FileWriter(str(tmp_path / "train")) as training:
        for number, value in ((100, 0.5), (200, 0.75), (300, float("nan"))):
            evaluation.add_summary(tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)]), number)
        training.add_summary(tf.Summary(value=[tf.Summary.Value(tag="not_an_evaluation", simple_value=1)]), 1)
        evaluation.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 1)  # has no summary
    (task,) = json.loads(get(url + "status.json"))["tasks"]
    ((key, curve),) = curves(task).items()
    assert key == (tag, "evaluation", "eval_holdout") and curve["count"] == 3 and curve["value"] is None
    assert [point[1:] for point in curve["points"]] == [[100, 0.5], [200, 0.75], [300, None]]
    assert 'source="evaluation",run="eval_holdout"' not in get(url + "metrics")  # NaN is no sample
    evaluation.reopen()
    evaluation.add_summary(tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=0.9)]), 400)
    evaluation.close()
    evaluation.add_summary(tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=0.1)]), 500)  # closed: dropped
    assert re.search(r'source="evaluation",run="eval_holdout"\} 0\.899', get(url + "metrics"))
    del server


def test_an_evaluator_tells_the_chief(make_cluster, monkeypatch, tmp_path):
    """The evaluator of train_and_evaluate is no task of the cluster."""
    def input_fn():
        return tf.data.Dataset.from_tensor_slices(({"x": [[1.0], [2.0], [3.0]]}, [[2.0], [4.0], [6.0]])).repeat().batch(3)

    def make():
        return tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], model_dir=str(tmp_path))

    make().train(input_fn, max_steps=5)
    cluster = make_cluster(start=False, ps=1, chief=1, status_pages=True)
    cluster.start("chief", 0)  # nobody asks the ps
    address = cluster.target("chief").removeprefix("grpc://")
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"chief": [address], "ps": ["localhost:1"]}, "task": {"type": "evaluator", "index": 0}}))
    result, _ = tf.estimator.train_and_evaluate(make(), tf.estimator.TrainSpec(input_fn, max_steps=5),
                                                tf.estimator.EvalSpec(input_fn, steps=2, name="test", start_delay_secs=0))
    found = curves(status(cluster, "chief")[1]["/job:chief/replica:0/task:0"])
    assert found["average_loss", "evaluation", "eval_test"]["points"][0][1:] == pytest.approx([5, result["average_loss"]])
    # Once the chief is gone the evaluator goes on without it.
    cluster.kill("chief", 0)
    assert tf.estimator.train_and_evaluate(make(), tf.estimator.TrainSpec(input_fn, max_steps=5),
                                           tf.estimator.EvalSpec(input_fn, steps=2, start_delay_secs=0))[0]["global_step"] == 5


def test_the_last_answer_of_a_server(make_cluster):
    """A request that is held gets the news that the job has ended, at once."""
    cluster = make_cluster(ps=1, worker=1, status_pages=True)
    begun = time.time()
    with socket.create_connection(("127.0.0.1", cluster.status_ports["worker", 0]), 30) as held:
        held.sendall(b"GET /status.json?since=0&wait=25 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        status(cluster)  # others are answered meanwhile
        cluster.signal("worker", 0, signal.SIGTERM)
        with held.makefile("rb") as answer:
            head, _, body = answer.read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ") and time.time() - begun < 25
    last = json.loads(body)
    assert last["ended"] is True
    (own,) = last["tasks"]
    assert own["task"] == WORKER and own["health"] == "done" and own["history"]


def _samples(text):
    """{name: {labels: value}}; checks the format on the way."""
    found, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            types[line.split()[2]] = line.split()[3]
        if line.startswith("#"):
            continue
        match = re.fullmatch(r"([a-z_]+)\{((?:[a-z]+=\"(?:[^\"\\\n]|\\.)*\",?)+)\} ([-+0-9.eE]+)", line)
        assert match, line
        assert match[1] in types and (types[match[1]] == "counter") == match[1].endswith(("_total", "_sum", "_count")), line
        found.setdefault(match[1], {})[match[2]] = float(match[3])
    return found


def test_metrics(make_cluster):
    cluster = make_cluster(ps=1, worker=1, status_pages=True)
    url = cluster.status_url("worker")
    with Training(cluster):
        assert eventually(lambda: "millstream_scalar" in get(url + "metrics"))
        own = f'task="{WORKER}"'
        before = _samples(get(url + "metrics"))
        assert before["millstream_steps_total"][own] > 0
        assert eventually(lambda: _samples(get(url + "metrics"))["millstream_steps_total"][own] > before["millstream_steps_total"][own])
        after = _samples(get(url + "metrics"))
    assert after["millstream_steps_failed_total"][own] == 0
    assert before["millstream_scalar"][own + ',name="loss:0",source="fetch"'] < 1
    assert any("direction=\"sent\"" in labels and value > 0 for labels, value in after["millstream_link_bytes_total"].items())
    assert after["millstream_memory_bytes"][own + ',kind="resident"'] > 1e6
    everybody = _samples(get(url + "metrics?cluster=1"))["millstream_up"]
    assert everybody == {f'task="{PS}"': 1, own: 1}
    cluster.kill("ps", 0)
    assert eventually(lambda: _samples(get(url + "metrics?cluster=1"))["millstream_up"] == {f'task="{PS}"': 0, own: 1})


def test_health_of_lost_and_restarted_tasks(make_cluster):
    cluster = make_cluster(start=False, ps=1, worker=1, status_pages=True)
    cluster.start("worker", 0)
    url = cluster.status_url("worker")
    assert get(url + "healthz") == "ok\n" and get(url + "readyz") == "ready\n"
    found = status(cluster)[1][PS]
    assert found["health"] == "missing" and found["error"]
    cluster.start("ps", 0)
    assert eventually(lambda: status(cluster)[1][PS]["health"] == "up")
    with tf.device("/job:ps/task:0"):
        bad = tf.reshape(tf.placeholder(tf.float32, name="x"), [7])
    with tf.Session(cluster.target("worker")) as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(bad, {"x:0": [1.0]})
        (error,) = status(cluster)[1][WORKER]["errors"]
        assert error["where"] == "step" and error["count"] == 3 and "7" in error["message"]
        cluster.kill("ps", 0)
        lost = eventually(lambda: [e for e in status(cluster)[1][WORKER]["errors"] if PS in e["where"]])
        assert lost[0]["code"] == "UNAVAILABLE"
    assert status(cluster)[1][PS]["health"] == "down"
    cluster.start("ps", 0)
    assert eventually(lambda: status(cluster)[1][PS]["health"] == "up")
    assert status(cluster)[1][PS]["restarts"] == 1


def test_queues_and_dropped_gradients(make_cluster):
    cluster = make_cluster(ps=1, worker=1, status_pages=True)
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(5, [tf.float32], [[]], shared_name="inputs")
        gradients = tf.ConditionalAccumulator(tf.float32, shape=[2], shared_name="sums")
    fill = queue.enqueue_many([[1.0, 2.0, 3.0]])
    old, new = gradients.apply_grad([1.0, 1.0], 2), gradients.apply_grad([1.0, 1.0], 7)
    taken = gradients.take_grad(1)
    with tf.Session(cluster.target("worker")) as session:
        session.run(fill)
        session.run(gradients.set_global_step(5))
        session.run(old)
        session.run(new)
        session.run(taken)
        ps = status(cluster)[1][PS]
    (inputs,) = ps["queues"]
    assert (inputs["name"], inputs["size"], inputs["capacity"], inputs["closed"]) == ("inputs", 3, 5, False)
    (sums,) = ps["accumulators"]
    assert (sums["applied"], sums["dropped"], sums["taken"], sums["pending"], sums["mean_steps_late"]) == (1, 1, 1, 0, 3)
    assert status(cluster)[1][WORKER]["queues"] == []


def test_staleness_of_workers(make_cluster):
    cluster = make_cluster(ps=1, worker=1, status_pages=True)
    with tf.device("/job:ps/task:0"):
        step = tf.train.create_global_step()
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        trains = [tf.train.StaleSynchronousOptimizer(tf.train.GradientDescentOptimizer(1.0), 3, 2, i).minimize(-v, step) for i in range(2)]
    with tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        for worker in (0, 0, 0, 1, 1, 0):
            session.run(trains[worker])
        ps = status(cluster)[1][PS]
        metrics = get(cluster.status_url("ps") + "metrics")
    (clock,) = ps["staleness_clocks"]
    assert (clock["bound"], clock["workers"], clock["waiting"], clock["slowest_step"]) == (3, 2, 0, 2)
    assert clock["staleness"] == [2, 1, 2, 1]  # worker 0 was 1, 2, 3 and at the end 2 steps ahead, worker 1 never
    assert re.search(r'millstream_ssp_staleness_bucket{.*le="1"} 3\n', metrics) and re.search(r"millstream_ssp_staleness_count{.*} 6\n", metrics)


def test_only_this_machine_and_only_by_its_name(make_cluster):
    cluster = make_cluster(ps=1, status_pages=True)
    url = cluster.status_url("ps")
    page = get(url)
    assert "<title>Millstream</title>" in page and "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https://" not in page
    with urllib.request.urlopen(url) as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "NONCE" not in policy + page
    for path in ("", "status.json", "metrics", "graph.json"):
        assert refused(url + path, Host="rebound.example") == 403
        assert refused(url + path, "POST") == 405 and refused(url + path, "DELETE") == 405
    assert refused(url + "etc/passwd") == 404 and refused(url + "../x") == 404
    with pytest.raises(OSError):
        socket.create_connection((socket.gethostbyname(socket.gethostname()), cluster.status_ports["ps", 0]), 1).close()
        if socket.gethostbyname(socket.gethostname()).startswith("127."):
            raise OSError("this host only has a loopback address")


def test_beyond_loopback_needs_the_token(program, tmp_path):
    from cluster_processes import free_ports

    port, status_port = free_ports(2)
    command = [program, "server", "--cluster", json.dumps({"ps": [f"127.0.0.1:{port}"]}), "--job_name", "ps",
               "--status_port", str(status_port), "--status_address", "0.0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "job token" in done.stderr and len(done.stderr.splitlines()) == 1
    token = tmp_path / "token"
    token.write_text("open-sesame\n")
    server = subprocess.Popen([*command, "--token_file", str(token), "--status"], stdout=subprocess.PIPE, text=True)
    try:
        lines = [server.stdout.readline() for _ in range(3)]
        assert f":{status_port}/" in lines[1] and json.loads(lines[2])["status_url"].endswith(f":{status_port}/")
        url = f"http://127.0.0.1:{status_port}/"
        assert "<title>Millstream</title>" in get(url)  # has no data in it
        assert get(url + "healthz") == "ok\n"
        # Its own user needs no token, but not by a name that somebody else may give to this address; others: test_trust.py.
        assert "open-sesame" not in get(url + "status.json")
        for path in ("status.json", "metrics", "graph.json"):
            assert refused(url + path, Host="rebound.example") == 401
            assert refused(url + path, Authorization="Bearer open-sesam") == 401
        observer = subprocess.run([program, "token", "--role", "observer", "--token_file", token], capture_output=True, text=True, check=True).stdout
        assert "millstream_up" in get(url + "metrics", Host="rebound.example", Authorization="Bearer " + observer.strip())
    finally:
        server.terminate()
        assert server.wait(20) == 0


def test_from_the_environment_and_any_port(monkeypatch, capfd):
    monkeypatch.setenv("MILLSTREAM_STATUS_PORT", "0")
    server = tf.train.Server.create_local_server()
    url = re.search(r"status page at (http://127\.0\.0\.1:\d+/)", capfd.readouterr().err)[1]
    with tf.Session(server.target) as session:
        session.run(tf.constant(1.0))
    (task,) = json.loads(get(url + "status.json"))["tasks"]
    assert task["health"] == "up" and task["steps"]["ended"] == 1
    monkeypatch.setenv("MILLSTREAM_STATUS_PORT", "http")
    with pytest.raises(tf.errors.InvalidArgumentError, match="MILLSTREAM_STATUS_PORT"):
        tf.train.Server.create_local_server()
