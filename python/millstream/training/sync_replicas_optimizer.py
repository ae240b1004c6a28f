# SPDX-License-Identifier: Apache-2.0
"""SyncReplicasOptimizer: one update from the mean of any N gradients; stale ones are dropped."""
from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.client import step_identity
from millstream.framework import device as device_lib, dtypes, ops
from millstream.ops.flow import control_flow_group
from millstream.ops.queues import accumulators, data_flow_ops
from millstream.ops.variables import state_ops, variable_collections, variables
from millstream.training import queue_runner_impl, session_run_hook, sync_end, wrapping_optimizer

if TYPE_CHECKING:
    from typing import Any


class SyncReplicasOptimizer(wrapping_optimizer.WrappingOptimizer):
    """Wraps an optimizer so that it updates variables once for the gradients of several workers.

    Workers push gradients to accumulators, marked with the step that they were computed at; the chief
    takes the mean of `replicas_to_aggregate` of them, applies it and hands out a token for the next step to each replica.
    With more replicas than are aggregated, the slowest are backups whose gradients are dropped.
    """

    def __init__(self, opt, replicas_to_aggregate, total_num_replicas=None, variable_averages=None, variables_to_average=None,
                 use_locking=False, name="sync_replicas", replica_id=None):
        del replica_id  # old scripts give it; nothing depends on it
        if total_num_replicas is None:
            total_num_replicas = replicas_to_aggregate
        super().__init__(opt, name, use_locking)
        if variable_averages is not None and variables_to_average is None:
            raise ValueError("Need to specify variables_to_average if variable_averages is given")
        self._replicas_to_aggregate, self._total_num_replicas = replicas_to_aggregate, total_num_replicas
        self._variable_averages, self._variables_to_average = variable_averages, variables_to_average
        self._tokens_per_step = max(total_num_replicas, replicas_to_aggregate)
        self._gradients_applied = False
        self._global_step = None
        self._sync_token_queue = None
        self._chief_queue_runner = None
        self._accumulator_list = []

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        grads_and_vars = list(grads_and_vars)
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        with ops.colocate_with(gen_ops.no_op()):  # on the worker, where variables would not go by themselves
            self._local_step = variables.Variable(0, trainable=False, collections=[ops.GraphKeys.LOCAL_VARIABLES],
                                                  dtype=global_step.dtype.base_dtype, name="sync_rep_local_step")
        self.local_step_init_op = state_ops.assign(self._local_step, global_step)
        chief_init_ops = [self.local_step_init_op]
        self.ready_for_local_init_op = variable_collections.report_uninitialized_variables(
            variable_collections.global_variables())
        with ops.name_scope(None, self._name):
            pushes, means = self._accumulate(grads_and_vars)
            if hasattr(self._opt, "counts_skipped_steps"):  # a round is over, and its tokens are old, whether it changes variables or not
                self._opt.counts_skipped_steps = True
            with ops.device(global_step.device), ops.name_scope(""):
                update_op = self._opt.apply_gradients(list(zip(means, [v for _, v in grads_and_vars])), global_step)
            train_op = self._tokens(global_step, pushes, update_op)
            for accumulator, device in self._accumulator_list:
                with ops.device(device):
                    chief_init_ops.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
            self.chief_init_op = control_flow_group.group(*chief_init_ops)
            self._gradients_applied = True
            return train_op

    def _accumulate(self, grads_and_vars):
        """Accumulators beside the variables: ops that push into them, tensors that take the means."""
        pushes, means = [], []
        for grad, var in grads_and_vars:
            if grad is None:
                means.append(None)
                continue
            with ops.device(var.device):
                if isinstance(grad, ops.Tensor):
                    accumulator = accumulators.ConditionalAccumulator(grad.dtype, shape=var.get_shape(),
                                                                      shared_name=var.name + "/grad_accum")
                    pushes.append(accumulator.apply_grad(grad, local_step=self._local_step))
                    means.append(accumulator.take_grad(self._replicas_to_aggregate))
                elif isinstance(grad, ops.IndexedSlices):
                    accumulator = accumulators.SparseConditionalAccumulator(grad.dtype, shape=(),
                                                                            shared_name=var.name + "/grad_accum")
                    pushes.append(accumulator.apply_indexed_slices_grad(grad, local_step=self._local_step))
                    means.append(accumulator.take_indexed_slices_grad(self._replicas_to_aggregate))
                else:
                    raise ValueError("Unknown grad type!")
                self._accumulator_list.append((accumulator, var.device))
        return pushes, means

    def _tokens(self, global_step, pushes, update_op):
        """The workers' train op: push, then wait for a token, which is the next local step."""
        with ops.device(global_step.device), ops.name_scope(""):
            queue = data_flow_ops.FIFOQueue(-1, global_step.dtype.base_dtype, shapes=[[]], name="sync_token_q",
                                            shared_name="sync_token_q")
            self._sync_token_queue = queue
            dummy_queue = data_flow_ops.FIFOQueue(1, dtypes.int32, shapes=[[]], name="dummy_queue", shared_name="dummy_queue")
            with ops.control_dependencies(pushes):
                token = queue.dequeue()
            train_op = state_ops.assign(self._local_step, token)
            with ops.control_dependencies([update_op]):
                tokens = gen_ops.fill([self._tokens_per_step], global_step)
                sync_op = queue.enqueue_many((tokens,))
            if self._variable_averages is not None:
                with ops.control_dependencies([sync_op]), ops.name_scope(""):
                    sync_op = self._variable_averages.apply(self._variables_to_average)
            self._chief_queue_runner = queue_runner_impl.QueueRunner(dummy_queue, [sync_op])
            release = queue.enqueue_many((gen_ops.fill([self._tokens_per_step], global_step),))
            ops.get_default_graph()._release_ops = [release]  # run when a session at a cluster is closed
            ops.get_default_graph()._sync_ends = sync_end.ChiefEnds(release)
        return train_op

    def get_chief_queue_runner(self):
        """What the chief runs to apply means and hand out tokens."""
        if not self._gradients_applied:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens=-1):
        """Fills the token queue for the first steps. The chief runs it once."""
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)")
        if num_tokens <= 0:
            return gen_ops.no_op(name="no_init_tokens")
        with ops.device(self._global_step.device), ops.name_scope(""):
            return self._sync_token_queue.enqueue_many((gen_ops.fill([num_tokens], self._global_step),))

    def make_session_run_hook(self, is_chief: Any, num_tokens: Any = -1) -> Any:
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)


class _Rounds:
    """Which step the chief runs: a round, which updates each variable and then adds 1 to the global step.

    One that was cut short is made again under the same identity, by this chief or by one that takes its place, so that nothing in it is
    done twice. The identity is the global step at which the round begins, counted by the process that holds it.
    """

    def __init__(self, name):
        self._name, self._client, self._number = name, step_identity.random_client(), 0

    def begin(self, holder, global_step):
        """A session begins, at this global step. `holder`: the incarnation of the device with the global step; 0 if it is not known."""
        if holder:
            digest = hashlib.sha256(f"{self._name}/{holder}".encode()).digest()
            self._client = int.from_bytes(digest[:8], "little") | 1
        elif global_step != self._number:  # the round was done, or a checkpoint was restored
            self._client = step_identity.random_client()
        self._number = global_step

    @contextlib.contextmanager
    def current(self):
        with step_identity.asked((self._client, self._number)), step_identity.running():
            yield
        self._number += 1


def _holder(variable, session):
    """The incarnation of the task that holds a variable; 0 if the graph does not say which one that is."""
    place = device_lib.DeviceSpec.from_string(variable.device or "")
    if place.job is None or place.task is None:
        return 0
    found = [d for d in session.list_devices()
             if (spec := device_lib.DeviceSpec.from_string(d.name)).job == place.job and spec.task == place.task]
    return min(found, key=lambda d: d.name).incarnation if found else 0


class _SyncReplicasOptimizerHook(session_run_hook.SessionRunHook):
    """Initializes local steps and, on the chief, the tokens and the thread that applies means."""

    _ends_when_stopped = True

    def __init__(self, sync_optimizer, is_chief, num_tokens):
        self._sync_optimizer, self._is_chief, self._num_tokens = sync_optimizer, is_chief, num_tokens

    def begin(self):
        opt = self._sync_optimizer
        if not opt._gradients_applied:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        if self._is_chief:
            self._local_init_op = opt.chief_init_op
            self._q_runner = opt.get_chief_queue_runner()
            self._init_tokens_op = opt.get_init_tokens_op(self._num_tokens)
        else:
            self._local_init_op, self._q_runner, self._init_tokens_op = opt.local_step_init_op, None, None
        self._ready_for_local_init_op = opt.ready_for_local_init_op
        self._rounds = _Rounds(self._q_runner.enqueue_ops[0].name) if self._q_runner is not None else None

    def after_create_session(self, session, coord):
        from millstream.training import session_manager
        ready, message = session_manager._ready(self._ready_for_local_init_op, session,
                                                "Model is not ready for SyncReplicasOptimizer local init.")
        if not ready:
            raise RuntimeError("Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: "
                               f"{self._local_init_op.name}, error: {message}")
        session.run(self._local_init_op)
        if self._is_chief:
            sync_end.say_chief_begins(session)
        if self._init_tokens_op is not None:
            session.run(self._init_tokens_op)
        if self._q_runner is not None:
            global_step = self._sync_optimizer._global_step
            self._rounds.begin(_holder(global_step, session), int(session.run(global_step)))
            self._q_runner._rounds = self._rounds
            self._q_runner.create_threads(session, coord=coord, daemon=True, start=True)
        if not self._is_chief:
            sync_end.watch_for_end(session, coord)

    def end(self, session):
        if self._is_chief:
            sync_end.say_chief_ends(session)
