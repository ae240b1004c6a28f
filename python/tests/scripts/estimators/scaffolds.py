# SPDX-License-Identifier: Apache-2.0
"""Scaffold with its own parts, hooks that fetch and feed, sessions that go on from a checkpoint."""

import tensorflow as tf, numpy as np, tempfile, os

d = tempfile.mkdtemp()


class H(tf.train.SessionRunHook):

    def begin(self):
        print("begin")

    def after_create_session(self, s, c):
        print("create", s.run("a:0"))

    def before_run(self, ctx):
        print(
            "before",
            (
                ctx.original_args.fetches.name
                if hasattr(ctx.original_args.fetches, "name")
                else ctx.original_args.fetches
            ),
            ctx.stop_requested,
            type(ctx.session).__name__,
        )
        return tf.train.SessionRunArgs(fetches=["b:0", {"k": "l:0"}], feed_dict={"p:0": 3.0})

    def after_run(self, ctx, v):
        print("after", v.results, v.options, v.run_metadata is not None)

    def end(self, s):
        print("end", s.run("a:0"))


def build():
    a = tf.Variable(1.0, name="a")
    b = tf.Variable(2.0, name="b")
    l = tf.Variable(7.0, name="l", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    p = tf.placeholder_with_default(1.0, [], name="p")
    gs = tf.train.get_or_create_global_step()
    tf.identity(gs, name="gs2")
    return (a, b, l, p, gs)


with tf.Graph().as_default():
    a, b, l, p, gs = build()
    asg = b.assign(20.0)
    up = tf.group(a.assign_add(p), gs.assign_add(1), name="up")
    saver = tf.train.Saver([a, gs], max_to_keep=2)
    sc = tf.train.Scaffold(
        init_op=tf.global_variables_initializer(),
        init_feed_dict=None,
        init_fn=lambda scaf, s: (print("init_fn", type(scaf).__name__), s.run(asg)),
        ready_op=tf.report_uninitialized_variables(),
        local_init_op=tf.group(l.initializer, name="li"),
        saver=saver,
        summary_op=None,
        copy_from_scaffold=None,
    )
    with tf.train.MonitoredTrainingSession(
        scaffold=sc,
        checkpoint_dir=d,
        save_checkpoint_steps=2,
        hooks=[H()],
        chief_only_hooks=[tf.train.StopAtStepHook(num_steps=3)],
        save_summaries_steps=None,
        save_summaries_secs=None,
        log_step_count_steps=0,
    ) as s:
        while not s.should_stop():
            s.run(up)
    print(sorted(os.listdir(d)) if False else sorted((f for f in os.listdir(d) if "ckpt" in f)))
    print(sc.saver is saver, sc.init_op.name, sc.ready_op.name, sc.local_init_op.name)
with tf.Graph().as_default():
    a, b, l, p, gs = build()
    sc = tf.train.Scaffold(
        init_fn=lambda sc, s: print("never"),
        saver=tf.train.Saver([a, gs]),
        ready_op=tf.report_uninitialized_variables([a, gs]),
        ready_for_local_init_op=tf.report_uninitialized_variables([a, gs]),
        local_init_op=tf.no_op(),
    )
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold=sc, checkpoint_dir=d)) as s:
        print(s.run([a, gs]), s.graph is tf.get_default_graph(), s.should_stop())
        try:
            s.run(b)
        except tf.errors.FailedPreconditionError as e:
            print("FPE", e.error_code)
        print(
            s.run_step_fn(lambda step_context: step_context.session.run(a)),
            s.run_step_fn(lambda step_context: step_context.run_with_hooks(a)),
        )
with tf.Graph().as_default():
    v = tf.Variable([1.0, 2.0])
    tf.train.create_global_step()
    tf.train.Scaffold().finalize()
    print(tf.get_default_graph().finalized, sorted((c for c in tf.get_default_graph().get_all_collection_keys())))
try:
    with tf.Graph().as_default():
        tf.train.create_global_step()
        tf.train.create_global_step()
except ValueError as e:
    print(e)
