# SPDX-License-Identifier: Apache-2.0
"""Networks that lose packets for a while: every step ends, and training goes on when the network is well again."""
import threading
import time

import pytest

import millstream as tf
from relay import FROM_TASK, TO_TASK, Relay, listening_ports

OUTAGE = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError)


class _Network:
    """Two ps tasks and a worker; ps:1 is behind a relay."""

    def __init__(self, make_cluster, links, deadline_ms):
        self.cluster = cluster = make_cluster(start=False, ps=2, worker=1, flags=["--links", links, "--deadline_ms", str(deadline_ms)])
        cluster.spec["ps"][1] = cluster.spec["ps"][1].replace("127.0.0.1", "127.0.0.2")
        cluster.start("ps", 0)
        cluster.start("worker", 0)
        cluster.flags += ["--bind_address", "127.0.0.1"]
        cluster.start("ps", 1, wait=False)
        self.relay = self._relay_when_up()
        with tf.device("/job:ps/task:0"):
            near = tf.square(tf.placeholder_with_default(3.0, []))
        with tf.device("/job:ps/task:1"):
            self.cross = near + 1.0
            self.simple = tf.placeholder_with_default(2.0, []) * 2.0

    def _relay_when_up(self):
        port = int(self.cluster.spec["ps"][1].rpartition(":")[2])
        deadline = time.monotonic() + 60
        while port not in listening_ports(self.pid("ps", 1)):  # the port of links comes before
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return Relay(self.pid("ps", 1))

    def pid(self, job, task):
        return self.cluster.processes[job, task].pid

    def new_session(self):
        return tf.Session(self.cluster.target("worker"))


@pytest.fixture
def make_network(make_cluster):
    made = []

    def make(links, deadline_ms):
        made.append(_Network(make_cluster, links, deadline_ms))
        return made[-1]

    yield make
    for network in made:
        network.relay.close()


def test_values_lost_before_their_step_begins_are_missed(make_network):
    """ps:1 gives up its link from ps:0, but not the one from the worker, whose request comes late."""
    network = make_network("tcp", deadline_ms=3000)
    session = network.new_session()
    assert session.run(network.cross) == 10.0
    from_ps = [c for c in network.relay.of(network.pid("ps", 0))]
    network.relay.drop(TO_TASK, connections=from_ps)
    begin = time.monotonic()
    while time.monotonic() - begin < 2:
        assert session.run(network.simple) == 4.0  # the worker's link is well
    network.relay.drop(TO_TASK, connections=network.relay.of(network.pid("worker", 0)))
    ended = []

    def step():
        try:
            ended.append(session.run(network.cross))
        except OUTAGE as e:
            ended.append(e)
    thread = threading.Thread(target=step, daemon=True)
    thread.start()
    while all(c.ended_by is None for c in from_ps):  # until ps:1 gives up the link
        assert time.monotonic() - begin < 60
        time.sleep(0.01)
    network.relay.heal()
    thread.join(60)
    assert ended and isinstance(ended[0], OUTAGE), ended
    assert network.new_session().run(network.cross) == 10.0


@pytest.mark.parametrize("links", ["tcp", "grpc"])
@pytest.mark.parametrize("directions", [[TO_TASK], [FROM_TASK], [TO_TASK, FROM_TASK]], ids=lambda d: "+".join(d))
def test_steps_go_on_after_an_outage(make_network, links, directions):
    """Shorter than it takes to give up a link, about as long, and longer."""
    network = make_network(links, deadline_ms=1000)
    done, stop = [0], threading.Event()

    def train():
        session = network.new_session()
        while not stop.is_set():
            try:
                assert session.run(network.cross) == 10.0
                done[0] += 1
            except OUTAGE:
                session.close()
                session = network.new_session()
    thread = threading.Thread(target=train, daemon=True)
    thread.start()
    for outage in (0, 0.9, 1.2, 1.35, 1.5, 2.0):
        network.relay.drop(*directions)
        time.sleep(outage)  # how long the network fails
        network.relay.heal()
        before = done[0]
        deadline = time.monotonic() + 60
        while done[0] < before + 2:
            assert time.monotonic() < deadline, f"no step since the outage of {outage} s"
            time.sleep(0.01)
    stop.set()
    thread.join(60)
    assert not thread.is_alive()


class _Counting:
    """A MonitoredSession that adds 1 to a counter on each ps in every step."""

    def __init__(self, network, resource):
        self.counters = []
        for task in range(2):
            with tf.device(f"/job:ps/task:{task}"):
                self.counters.append(tf.get_variable(f"count_{task}", [], tf.int64, tf.zeros_initializer(), use_resource=resource))
        self._step = tf.group(*[tf.assign_add(c, 1).op if resource else tf.assign_add(c, 1, use_locking=True).op for c in self.counters])
        self._session = tf.train.MonitoredSession(tf.train.ChiefSessionCreator(master=network.cluster.target("worker")))
        self.answered, self.values, self._stop = 0, None, threading.Event()
        self._thread = threading.Thread(target=self._train, daemon=True)
        self._thread.start()

    def _train(self):
        while not self._stop.is_set():
            self._session.run(self._step)
            self.answered += 1
        self.values = [int(v) for v in self._session.run(self.counters)]
        self._session.close()

    def end(self):
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.values


@pytest.mark.parametrize("links", ["tcp", "grpc"])
@pytest.mark.parametrize("resource", [False, True], ids=["references", "resources"])
@pytest.mark.parametrize("directions", [[TO_TASK], [FROM_TASK], [TO_TASK, FROM_TASK]], ids=lambda d: "+".join(d))
def test_a_step_in_flight_is_applied_once(make_network, links, resource, directions):
    """Outages that end links while both ps tasks live: the client repeats its step, which one of them may have applied."""
    network = make_network(links, deadline_ms=500)
    counting = _Counting(network, resource)
    for _ in range(3):
        before = counting.answered
        deadline = time.monotonic() + 60
        while counting.answered < before + 20:
            assert time.monotonic() < deadline, "no step since the last outage"
            time.sleep(0.001)
        network.relay.drop(*directions)
        time.sleep(1.5)  # how long the network fails
        network.relay.heal()
    assert counting.end() == [counting.answered] * 2
