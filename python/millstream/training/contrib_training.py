# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.training and tf.contrib.slim.learning: train ops and loops."""
from __future__ import annotations

import time
from typing import TYPE_CHECKING

from millstream.framework import log as logging
from millstream.framework import ops
from millstream.framework.indexed_slices import IndexedSlices
from millstream.ops.arguments import unsupported
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import clip_ops, math_ops
from millstream.ops.variables import variable_collections
from millstream.ops.lookup import lookup_ops
from millstream.training import optimizer as optimizer_lib
from millstream.training import training_util

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.graph import Graph

_DEFAULT = 0  # as Supervisor.USE_DEFAULT


def clip_gradient_norms(gradients_to_variables: Any, max_norm: Any) -> Any:
    return [(_per_values(lambda g: clip_ops.clip_by_norm(g, max_norm), grad), var) for grad, var in gradients_to_variables]


def clip_gradient_norms_fn(max_norm: Any) -> Any:
    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


def multiply_gradients(grads_and_vars: Any, gradient_multipliers: Any) -> Any:
    """Gradients times factors, found by variable or by its op's name."""
    if not isinstance(grads_and_vars, list) or not isinstance(gradient_multipliers, dict) or not gradient_multipliers:
        raise ValueError("`grads_and_vars` must be a list and `gradient_multipliers` a dict that is not empty.")
    out = []
    for grad, var in grads_and_vars:
        key = var if var in gradient_multipliers else var.op.name
        if key in gradient_multipliers:
            if grad is None:
                raise ValueError("Requested multiple of `None` gradient.")
            factor = gradient_multipliers[key]
            grad = _per_values(lambda g, f=factor: g * math_ops.cast(f, g.dtype), grad)
        out.append((grad, var))
    return out


def _per_values(function, grad):
    if grad is None:
        return None
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(function(grad.values), grad.indices, grad.dense_shape)
    return function(grad)


def add_gradients_summaries(grads_and_vars: Any) -> Any:
    """Histograms and norms of the gradients."""
    from millstream.events import summary_ops
    summaries = []
    for grad, var in grads_and_vars:
        if grad is None:
            logging.info("Var %s has no gradient", var.op.name)
            continue
        values = grad.values if isinstance(grad, IndexedSlices) else grad
        summaries.append(summary_ops.histogram(var.op.name + "/gradient", values))
        summaries.append(summary_ops.scalar(var.op.name + "/gradient_norm", clip_ops.global_norm([values])))
    return summaries


def create_train_op(total_loss, optimizer, global_step=_DEFAULT, update_ops=None, variables_to_train=None,
                    transform_grads_fn=None, summarize_gradients=False,
                    gate_gradients=optimizer_lib.Optimizer.GATE_OP, aggregation_method=None,
                    colocate_gradients_with_ops=False, check_numerics=True):
    """An op that updates (UPDATE_OPS, too), counts the step and gives the loss."""
    if global_step is _DEFAULT:
        global_step = training_util.get_or_create_global_step()
    collected = set(ops.get_collection(ops.GraphKeys.UPDATE_OPS))
    update_ops = collected if update_ops is None else set(update_ops)
    if not update_ops.issuperset(collected):
        logging.warning("update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS")
    if update_ops:
        with ops.control_dependencies(list(update_ops)):
            barrier = control_flow_ops.no_op(name="update_barrier")
        total_loss = control_flow_ops.with_dependencies([barrier], total_loss)
    trainable = variable_collections.trainable_variables()
    for v in variables_to_train or ():
        assert v in trainable
    grads = optimizer.compute_gradients(total_loss, variables_to_train or trainable, gate_gradients=gate_gradients,
                                        aggregation_method=aggregation_method,
                                        colocate_gradients_with_ops=colocate_gradients_with_ops)
    if transform_grads_fn:
        grads = transform_grads_fn(grads)
    if summarize_gradients:
        with ops.name_scope("summarize_grads"):
            add_gradients_summaries(grads)
    grad_updates = optimizer.apply_gradients(grads, global_step=global_step)
    with ops.name_scope("train_op"):
        if check_numerics:
            from millstream import gen_ops
            total_loss = gen_ops.check_numerics(total_loss, "LossTensor is inf or nan")
        train_op = control_flow_ops.with_dependencies([grad_updates], total_loss)
    collection = ops.get_collection_ref(ops.GraphKeys.TRAIN_OP)
    if train_op not in collection:
        collection.append(train_op)
    return train_op


def slim_create_train_op(total_loss: Any, optimizer: Any, global_step: Any = _DEFAULT, update_ops: Any = None,
                         variables_to_train: Any = None, clip_gradient_norm: Any = 0, summarize_gradients: bool = False,
                         gate_gradients: Any = optimizer_lib.Optimizer.GATE_OP, aggregation_method: Any = None,
                         colocate_gradients_with_ops: bool = False, gradient_multipliers: Any = None,
                         check_numerics: bool = True) -> Any:
    def transform(grads):
        if gradient_multipliers:
            with ops.name_scope("multiply_grads"):
                grads = multiply_gradients(grads, gradient_multipliers)
        if clip_gradient_norm > 0:
            with ops.name_scope("clip_grads"):
                grads = clip_gradient_norms(grads, clip_gradient_norm)
        return grads
    return create_train_op(total_loss, optimizer, global_step, update_ops, variables_to_train, transform, summarize_gradients,
                           gate_gradients, aggregation_method, colocate_gradients_with_ops, check_numerics)


def train(train_op: Any, logdir: str, master: str = "", is_chief: bool = True, scaffold: Any = None, hooks: Any = None,
          chief_only_hooks: Any = None, save_checkpoint_secs: Any = 600, save_summaries_steps: Any = 100, config: Any = None,
          max_wait_secs: Any = 7200, run_metadata: Any = None) -> Any:
    """tf.contrib.training.train: runs `train_op` in a MonitoredTrainingSession until a hook ends it."""
    from millstream.training import monitored_session
    if logdir is None and is_chief and (save_summaries_steps or save_checkpoint_secs):
        raise ValueError("logdir cannot be None when save_summaries_steps or save_checkpoint_secs are not None")
    loss = None
    with monitored_session.MonitoredTrainingSession(
            master=master, is_chief=is_chief, checkpoint_dir=logdir, scaffold=scaffold, hooks=hooks,
            chief_only_hooks=chief_only_hooks, save_checkpoint_secs=save_checkpoint_secs,
            save_summaries_steps=save_summaries_steps, config=config, max_wait_secs=max_wait_secs) as session:
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss


def train_step(sess: Any, train_op: Any, global_step: Any, train_step_kwargs: Any) -> Any:
    """One step of slim.learning.train: the loss, and whether to stop."""
    start = time.time()
    total_loss, step = sess.run([train_op, global_step])
    if train_step_kwargs.get("should_log") is not None and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, total_loss, time.time() - start)
    should_stop = train_step_kwargs.get("should_stop")
    return total_loss, bool(sess.run(should_stop)) if should_stop is not None else False


def slim_train(train_op: Any, logdir: str, train_step_fn: Any = train_step, train_step_kwargs: Any = _DEFAULT,
               log_every_n_steps: Any = 1, graph: Optional[Graph] = None, master: str = "", is_chief: bool = True,
               global_step: Any = None, number_of_steps: Any = None, init_op: Any = _DEFAULT, init_feed_dict: Any = None,
               local_init_op: Any = _DEFAULT, init_fn: Any = None, ready_op: Any = _DEFAULT, summary_op: Any = _DEFAULT,
               save_summaries_secs: Any = 600, summary_writer: Any = _DEFAULT, startup_delay_steps: Any = 0, saver: Any = None,
               save_interval_secs: Any = 600, sync_optimizer: Any = None, session_config: Any = None,
               session_wrapper: Any = None, trace_every_n_steps: Any = None, ignore_live_threads: bool = False) -> Any:
    """slim.learning.train: a Supervisor and a loop until `number_of_steps`; the last loss."""
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if sync_optimizer is not None and startup_delay_steps > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    unsupported("slim.learning.train", trace_every_n_steps=trace_every_n_steps)
    graph = graph or ops.get_default_graph()
    with graph.as_default():
        if global_step is None:
            global_step = training_util.get_or_create_global_step()
        saver, kwargs = _slim_defaults(global_step, number_of_steps, log_every_n_steps, train_step_kwargs, saver)
        runners, tokens = [], None
        if sync_optimizer is not None:
            sync_optimizer = sync_optimizer[0] if isinstance(sync_optimizer, (list, tuple)) else sync_optimizer
            with ops.control_dependencies([] if is_chief else [sync_optimizer.chief_init_op]):
                runners, tokens = [sync_optimizer.get_chief_queue_runner()], sync_optimizer.get_init_tokens_op()
        supervisor = _slim_supervisor(graph, is_chief, logdir, init_op, init_feed_dict, local_init_op, ready_op, summary_op,
                                      summary_writer, saver, global_step, save_summaries_secs, save_interval_secs, init_fn,
                                      sync_optimizer)
    total_loss = None
    with supervisor.managed_session(master, start_standard_services=False, config=session_config) as sess:
        if session_wrapper is not None:
            sess = session_wrapper(sess)
        if is_chief and logdir:
            supervisor.start_standard_services(sess)
        elif not is_chief and startup_delay_steps > 0:
            _wait_for_step(sess, global_step, min(startup_delay_steps, number_of_steps or startup_delay_steps))
        threads = supervisor.start_queue_runners(sess)
        if is_chief and tokens is not None:
            supervisor.start_queue_runners(sess, runners)
            sess.run(tokens)
        while not supervisor.should_stop():
            total_loss, should_stop = train_step_fn(sess, train_op, global_step, kwargs)
            if should_stop:
                break
        if logdir and supervisor.is_chief:
            supervisor.saver.save(sess, supervisor.save_path, global_step=supervisor.global_step)
        supervisor.stop(threads, close_summary_writer=True)
    return total_loss


def _wait_for_step(sess, global_step, step):
    """Other workers begin when the chief has made so many steps."""
    while int(sess.run(global_step)) < step:
        logging.info("Waiting for step %d before starting training.", step)
        time.sleep(1.0)


def _slim_defaults(global_step, number_of_steps, log_every_n_steps, train_step_kwargs, saver):
    from millstream.training import saver as saver_lib
    if train_step_kwargs is _DEFAULT:
        train_step_kwargs = {}
        if number_of_steps:
            train_step_kwargs["should_stop"] = math_ops.cast(global_step, "int64") >= int(number_of_steps)
        if log_every_n_steps > 0:
            from millstream import gen_ops
            train_step_kwargs["should_log"] = gen_ops.equal(math_ops.mod(global_step, log_every_n_steps), 0)
    return saver or saver_lib.Saver(), train_step_kwargs


def _slim_supervisor(graph, is_chief, logdir, init_op, init_feed_dict, local_init_op, ready_op, summary_op, summary_writer, saver,
                     global_step, save_summaries_secs, save_interval_secs, init_fn, sync_optimizer):
    from millstream.training import supervisor
    if local_init_op is _DEFAULT:
        parts = [variable_collections.local_variables_initializer(), lookup_ops.tables_initializer()]
        if sync_optimizer is not None:
            parts.append(sync_optimizer.chief_init_op if is_chief else sync_optimizer.local_step_init_op)
        local_init_op = control_flow_ops.group(*parts)
    if sync_optimizer is not None and ready_op is _DEFAULT:
        ready_op = variable_collections.report_uninitialized_variables()
    return supervisor.Supervisor(
        graph=graph, is_chief=is_chief, logdir=logdir, init_op=init_op, init_feed_dict=init_feed_dict,
        local_init_op=local_init_op, ready_op=ready_op, summary_op=summary_op,
        summary_writer=summary_writer, global_step=global_step, saver=saver, save_summaries_secs=save_summaries_secs,
        save_model_secs=save_interval_secs, init_fn=init_fn,
        ready_for_local_init_op=sync_optimizer.ready_for_local_init_op if sync_optimizer is not None else _DEFAULT)
