# SPDX-License-Identifier: Apache-2.0
"""A chief that is started again does not reset live variables, whatever has become of its checkpoints."""
import os

import numpy as np
import pytest
from cluster_processes import Cluster

import millstream as tf

CLIENTS = ["monitored", "supervisor", "manager"]
FOLDERS = ["none", "missing", "without checkpoints", "with an empty state file", "with a damaged state file"]
KINDS = ["ref", "resource", "partitioned"]
VARIABLES = 4  # more than ps tasks: each has some


@pytest.fixture(scope="module", params=[1, 2, 3], ids=lambda n: f"{n}ps")
def cluster(request, program_path):
    with Cluster(program_path, ps=request.param, worker=1) as cluster:
        cluster.num_ps = request.param
        yield cluster


@pytest.fixture(scope="module")
def program_path():
    import conftest
    return conftest.PROGRAM


class Model:
    """Variables "SCOPE/w<i>" on all ps tasks that begin at 0; each step adds 1. A local variable at the worker."""

    def __init__(self, scope, kind, num_ps, init_fn=None):
        self.graph, self.init_fn = tf.Graph(), init_fn
        with self.graph.as_default():
            with tf.device(tf.train.replica_device_setter(ps_tasks=num_ps)), tf.variable_scope(scope):
                step = tf.get_variable("global_step", [], tf.int64, tf.zeros_initializer(), trainable=False,
                                       collections=[tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.GLOBAL_STEP])
                split = tf.fixed_size_partitioner(num_ps) if kind == "partitioned" else None
                weights = [tf.get_variable(f"w{i}", [6], initializer=tf.zeros_initializer(), partitioner=split,
                                           use_resource=kind == "resource") for i in range(VARIABLES)]
                tf.get_local_variable("local", [], initializer=tf.zeros_initializer())
            parts = [p for w in weights for p in (w if kind == "partitioned" else [w])]
            self.train = tf.group(*[p.assign_add(tf.ones_like(p)) for p in parts], step.assign_add(1))
            self.values = [step] + [tf.convert_to_tensor(w) for w in weights]

    def start(self, client, target, folder):
        """A chief's session, and what ends it. It saves nothing by itself."""
        with self.graph.as_default():
            if client == "monitored":
                scaffold = tf.train.Scaffold(init_fn=self.init_fn and (lambda scaffold, sess: self.init_fn(sess)))
                session = tf.train.MonitoredTrainingSession(
                    target, checkpoint_dir=folder, scaffold=scaffold, save_checkpoint_secs=None, save_checkpoint_steps=None,
                    save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None)
                return session, session.close
            if client == "supervisor":
                supervisor = tf.train.Supervisor(logdir=folder, saver=tf.train.Saver(sharded=True), save_model_secs=0,
                                                 save_summaries_secs=0, init_fn=self.init_fn)
                session = supervisor.prepare_or_wait_for_session(target)
                return session, session.close
            manager = tf.train.SessionManager(local_init_op=tf.local_variables_initializer(),
                                              ready_op=tf.report_uninitialized_variables())
            session = manager.prepare_session(target, init_op=tf.global_variables_initializer(), init_fn=self.init_fn,
                                              saver=tf.train.Saver(sharded=True), checkpoint_dir=folder)
            return session, session.close

    def run(self, client, target, folder, steps):
        """The values before the first step, each as a number (NaN if its elements differ), and the step."""
        session, end = self.start(client, target, folder)
        values = [np.ravel(v) for v in session.run(self.values)]
        for _ in range(steps):
            session.run(self.train)
        end()
        return [float(v[0]) if np.all(v == v[0]) else float("nan") for v in values]


def _make_folder(kind, tmp_path):
    if kind == "none":
        return None
    folder = tmp_path / "train"
    if kind != "missing":
        folder.mkdir()
    if "state file" in kind:
        (folder / "checkpoint").write_text("" if "empty" in kind else 'model_checkpoint_path: "mod')
    return str(folder)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("client", CLIENTS)
def test_without_a_checkpoint(cluster, tmp_path, client, folder, kind):
    scope, path = f"{client}_{folder}_{kind}".replace(" ", "_"), _make_folder(folder, tmp_path)
    calls = []
    target = cluster.target("worker")
    first = Model(scope, kind, cluster.num_ps, init_fn=calls.append).run(client, target, path, 3)
    assert (first, len(calls)) == ([0] * (1 + VARIABLES), 1)  # a fresh model is initialized
    again = Model(scope, kind, cluster.num_ps, init_fn=calls.append).run(client, target, path, 1)
    assert (again, len(calls)) == ([3] * (1 + VARIABLES), 1)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_checkpoint_that_is_older(cluster, tmp_path, client):
    model = Model(f"older_{client}", "ref", cluster.num_ps)
    with model.graph.as_default(), tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver(sharded=True).save(session, str(tmp_path / "model.ckpt"), global_step=0)
        for _ in range(3):
            session.run(model.train)
    for contents in ((tmp_path / "checkpoint").read_text(), "", "damaged"):
        (tmp_path / "checkpoint").write_text(contents)
        again = Model(f"older_{client}", "ref", cluster.num_ps).run(client, cluster.target("worker"), str(tmp_path), 0)
        assert again == [3] * (1 + VARIABLES), contents


def test_a_recovered_session_is_ready_when_its_variables_are_live(cluster):
    for ready in (False, True):
        model = Model("recovered", "ref", cluster.num_ps)
        with model.graph.as_default():
            manager = tf.train.SessionManager(local_init_op=tf.local_variables_initializer(),
                                              ready_op=tf.report_uninitialized_variables())
            session, is_ready = manager.recover_session(cluster.target("worker"))
            assert is_ready == ready
            session.run(tf.global_variables_initializer())
            session.close()


def test_a_ready_op_of_the_program_is_not_asked_for_live_variables(cluster):
    """One that always says the same."""
    for begins_at in (0, 2):
        model = Model("own_ready_op", "resource", cluster.num_ps)
        with model.graph.as_default():
            scaffold = tf.train.Scaffold(ready_op=tf.constant([], tf.string), ready_for_local_init_op=tf.constant([], tf.string))
            with tf.train.MonitoredTrainingSession(cluster.target("worker"), scaffold=scaffold) as session:
                assert session.run(model.values)[0] == begins_at
                session.run(model.train)
                session.run(model.train)


def test_a_checkpoint_named_by_its_path_is_restored(cluster, tmp_path):
    """As programs that evaluate one checkpoint after the other at a standing cluster want it."""
    model = Model("by_path", "ref", cluster.num_ps)
    with model.graph.as_default(), tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        session.run(model.train)
        path = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
        session.run(model.train)
    model = Model("by_path", "ref", cluster.num_ps)
    with model.graph.as_default():
        creator = tf.train.ChiefSessionCreator(master=cluster.target("worker"), checkpoint_filename_with_path=path)
        with tf.train.MonitoredSession(creator) as session:
            assert session.run(model.values)[0] == 1


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_ps", [2, 3])
def test_a_lost_ps_without_a_checkpoint(make_cluster, tmp_path, client, kind, num_ps):
    """Its variables are initialized, those of the others stay."""
    cluster = make_cluster(ps=num_ps, worker=1)
    calls = []
    Model("lost", kind, num_ps, calls.append).run(client, cluster.target("worker"), str(tmp_path), 3)
    cluster.kill("ps", 1)
    cluster.start("ps", 1)
    model = Model("lost", kind, num_ps, calls.append)
    devices = {v.op.name: v.device for v in model.graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)}
    session, end = model.start(client, cluster.target("worker"), str(tmp_path))
    with model.graph.as_default():
        for v in tf.global_variables():
            want = 0 if devices[v.op.name].endswith("/task:1") else 3
            value = session.run(model.graph.get_tensor_by_name(v.op.name + "/Read/ReadVariableOp:0")
                                if kind == "resource" and "global_step" not in v.name else v.op.outputs[0])
            assert np.all(value == want), v.name
    end()
    assert len(set(devices.values())) == num_ps and len(calls) == 1


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("state_file", ["good", "missing", "empty", "damaged"])
def test_a_lost_ps_with_a_checkpoint(make_cluster, tmp_path, client, state_file):
    """All variables go back to it together, also where the file `checkpoint` does not name it."""
    cluster = make_cluster(ps=2, worker=1)
    model = Model("back", "partitioned", 2)
    with model.graph.as_default(), tf.Session(cluster.target("worker")) as session:
        session.run(tf.global_variables_initializer())
        for step in range(2):
            session.run(model.train)
            tf.train.Saver(sharded=True).save(session, str(tmp_path / "model.ckpt"), global_step=step + 1)
        session.run(model.train)
    if state_file == "missing":
        os.remove(tmp_path / "checkpoint")
    elif state_file != "good":
        (tmp_path / "checkpoint").write_text("" if state_file == "empty" else "nothing")
    cluster.kill("ps", 0)
    cluster.start("ps", 0)
    assert Model("back", "partitioned", 2).run(client, cluster.target("worker"), str(tmp_path), 0) == [2] * (1 + VARIABLES)
