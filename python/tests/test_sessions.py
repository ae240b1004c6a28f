# SPDX-License-Identifier: Apache-2.0
"""Sessions that look after themselves: hooks, recovery, supervisors, queue runners, summaries."""
import os
import threading
import time

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


def model():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - tf.reduce_sum(x, 1, keepdims=True)))
    tf.summary.scalar("loss", loss)
    step = tf.train.get_or_create_global_step()
    return x, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step), step


def test_training_session_stops_saves_and_resumes(tmp_path):
    batch = np.random.RandomState(0).rand(8, 3)
    for begin, end in ((0, 30), (30, 45)):
        with tf.Graph().as_default():
            x, loss, train, step = model()
            with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), save_checkpoint_steps=10,
                                                   save_summaries_steps=5,
                                                   hooks=[tf.train.StopAtStepHook(last_step=end)]) as sess:
                assert sess.run(step, {x: batch}) == begin
                while not sess.should_stop():
                    sess.run(train, {x: batch})
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-45")
    tags = set()
    for name in os.listdir(tmp_path):
        if "tfevents" in name:
            tags |= {v.tag for e in tf.train.summary_iterator(str(tmp_path / name)) for v in e.summary.value}
    assert tags == {"loss"}


class Recorder(tf.train.SessionRunHook):
    def __init__(self):
        self.calls = []

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("create")

    def before_run(self, run_context):
        return tf.train.SessionRunArgs("w:0")

    def after_run(self, run_context, run_values):
        self.calls.append(run_values.results.shape)

    def end(self, session):
        self.calls.append("end")


def test_recovers_from_a_lost_task():
    """Two steps fail as if a ps had gone; the session is made again and run() goes on."""
    x, loss, train, step = model()
    failures = [tf.errors.UnavailableError(None, None, "gone"), tf.errors.AbortedError(None, None, "restarted")]

    class Fail(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            if failures:
                raise failures.pop()

    recorder = Recorder()
    with tf.train.MonitoredSession(hooks=[recorder, Fail()]) as sess:
        sess.run(train, {x: np.ones([1, 3])})
    assert recorder.calls == ["begin", "create", (3, 1), "create", (3, 1), "create", (3, 1), "end"]


def test_monitored_session_is_refused_where_a_plain_one_is_needed(tmp_path):
    x, loss, train, step = model()
    saver = tf.train.Saver()
    with tf.train.MonitoredSession() as sess:
        with pytest.raises(TypeError, match="raw_session"):
            saver.save(sess, str(tmp_path / "m"))
        with pytest.raises(TypeError, match="MonitoredSession"):
            tf.train.start_queue_runners(sess)


def test_hooks(tmp_path):
    x, loss, train, step = model()
    final = tf.train.FinalOpsHook(step)
    feed = tf.train.FeedFnHook(lambda: {x: np.ones([2, 3])})
    hooks = [tf.train.StepCounterHook(every_n_steps=5, output_dir=str(tmp_path)), tf.train.NanTensorHook(loss), final, feed,
             tf.train.LoggingTensorHook(["loss"], every_n_iter=3), tf.train.GlobalStepWaiterHook(0),
             tf.train.ProfilerHook(save_steps=4, output_dir=str(tmp_path))]
    with tf.train.SingularMonitoredSession(hooks=hooks) as sess:
        for _ in range(12):
            sess.run(train)
        assert sess.raw_session().run(step) == 12
    assert final.final_ops_values == 12
    assert any(n.startswith("timeline-") for n in os.listdir(tmp_path))
    tf.summary.FileWriterCache.clear()
    events = [e for n in os.listdir(tmp_path) if "tfevents" in n for e in tf.train.summary_iterator(str(tmp_path / n))]
    assert any(e.tagged_run_metadata.tag.startswith("step_") for e in events)
    nan = tf.log(tf.constant(-1.0))
    with pytest.raises(tf.train.NanLossDuringTrainingError):
        with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(nan)]) as sess:
            sess.run(nan)


def test_hooks_are_given_options_and_metadata():
    seen = []

    class Hook(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            seen.append(run_values)

    with tf.Graph().as_default():
        value = tf.constant(1.0)
        with tf.train.MonitoredSession(hooks=[Hook()]) as sess:
            sess.run(value)
            sess.run(value, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE))
    assert seen[0].options == tf.RunOptions() and seen[0].run_metadata == tf.RunMetadata()
    assert seen[1].options.trace_level == tf.RunOptions.FULL_TRACE and seen[1].run_metadata.HasField("step_stats")


def test_supervisor(tmp_path):
    x, loss, train, step = model()
    saver, init = tf.train.Saver(), tf.initialize_all_variables()
    sv = tf.train.Supervisor(is_chief=True, logdir=str(tmp_path), init_op=init, saver=saver, summary_op=None,
                             global_step=step, save_model_secs=600)
    with sv.managed_session("") as sess:
        for _ in range(5):
            sess.run(train, {x: np.ones([1, 3])})
        sv.summary_computed(sess, sess.run("loss:0", {x: np.ones([1, 3])}))
        saver.save(sess, sv.save_path, global_step=step)
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-5")
    with pytest.raises(ZeroDivisionError):
        with sv.managed_session("") as sess:
            assert sess.run(step) == 5
            raise ZeroDivisionError


def test_coordinator_and_queue_runner():
    queue = tf.FIFOQueue(10, tf.int32)
    counter = tf.Variable(0)
    enqueue = queue.enqueue(counter.assign_add(1, use_locking=True))
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue] * 2))
    item = queue.dequeue()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        assert len(threads) == 3
        for _ in range(20):
            sess.run(item)
        coord.request_stop()
        coord.join(threads)
    coord = tf.train.Coordinator()

    def fail():
        with coord.stop_on_exception():
            raise KeyError("x")

    thread = threading.Thread(target=fail)
    thread.start()
    with pytest.raises(KeyError):
        coord.join([thread])
    ticks = []
    coord = tf.train.Coordinator()
    looper = tf.train.LooperThread.loop(coord, 0.01, lambda: ticks.append(1))
    deadline = time.monotonic() + 30
    while len(ticks) <= 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    coord.request_stop()
    coord.join([looper])
    assert len(ticks) > 2


def test_unreadable_checkpoint_falls_back_to_the_one_before(tmp_path):
    for end in (10, 20):
        with tf.Graph().as_default():
            x, loss, train, step = model()
            with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), save_checkpoint_steps=10,
                                                   hooks=[tf.train.StopAtStepHook(last_step=end)]) as sess:
                while not sess.should_stop():
                    sess.run(train, {x: np.ones([1, 3])})
    (tmp_path / "model.ckpt-20.index").write_bytes(b"cut")
    with tf.Graph().as_default():
        x, loss, train, step = model()
        with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as sess:
            assert sess.run(step, {x: np.ones([1, 3])}) == 10


def _counting_model(size):
    """All variables hold the number of steps."""
    step = tf.train.get_or_create_global_step()
    made = [tf.get_variable(f"v{i}", [size], initializer=tf.zeros_initializer(), use_resource=i == 1) for i in range(3)]
    with tf.control_dependencies([v.assign_add(tf.ones([size])).op for v in made]):
        return tf.assign_add(step, 1)


def test_checkpoints_are_written_while_training_goes_on(tmp_path, monkeypatch):
    from millstream.training import background_save
    started = []
    start = background_save.Pending.start
    monkeypatch.setattr(background_save.Pending, "start", lambda self, save: (started.append(1), start(self, save)))
    train = _counting_model(1 << 20)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), save_checkpoint_steps=5,
                                           hooks=[tf.train.StopAtStepHook(last_step=32)]) as sess:
        while not sess.should_stop():
            sess.run(train)
    assert len(started) == 6
    kept = tf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths
    assert [int(path.rpartition("-")[2]) for path in kept] == [15, 20, 25, 30, 32]
    for path in kept:  # each has the values of its step, whatever happened meanwhile
        for i in range(3):
            assert set(np.unique(tf.train.load_variable(path, f"v{i}"))) == {int(path.rpartition("-")[2])}
        assert os.path.exists(path + ".meta")


def test_a_hook_that_finds_its_saver_itself_saves_in_the_background(tmp_path, monkeypatch):
    from millstream.training import background_save
    started = []
    start = background_save.Pending.start
    monkeypatch.setattr(background_save.Pending, "start", lambda self, save: (started.append(1), start(self, save)))
    train = _counting_model(8)
    with tf.train.MonitoredSession(hooks=[tf.train.CheckpointSaverHook(str(tmp_path), save_steps=5)]) as sess:
        for _ in range(12):
            sess.run(train)
    assert len(started) == 2
    kept = tf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths
    assert [int(path.rpartition("-")[2]) for path in kept] == [0, 5, 10, 12]
    for path in kept:
        assert set(tf.train.load_variable(path, "v0")) == {int(path.rpartition("-")[2])}


def test_a_save_that_fails_in_the_background_is_told(tmp_path):
    train = _counting_model(8)
    folder = tmp_path / "ckpt"
    with pytest.raises(ValueError, match="can't save"):
        with tf.train.MonitoredTrainingSession(checkpoint_dir=str(folder), save_checkpoint_steps=5,
                                               save_summaries_steps=None, save_summaries_secs=None) as sess:
            os.rename(folder, tmp_path / "away")
            folder.write_text("not a folder")
            for _ in range(20):
                sess.run(train)
                time.sleep(0.01)
