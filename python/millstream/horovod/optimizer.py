# SPDX-License-Identifier: Apache-2.0
"""hvd.DistributedOptimizer and hvd.DistributedGradientTape: gradients are reduced over all ranks before they are used."""
from __future__ import annotations

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.framework.indexed_slices import IndexedSlices
from millstream.horovod import adasum, mpi_ops, reductions
from millstream.horovod.compression import Compression
from millstream.horovod.mpi_ops import Average
from millstream.horovod.process_sets import global_process_set
from millstream.ops.flow import control_flow_ops
from millstream.ops.variables import state_ops, variables
from millstream.training import optimizer as optimizer_lib


class _Accumulation:
    """Sums the gradients of several passes in variables of this rank; every `passes` steps they are reduced and applied."""

    def __init__(self, passes, average, reduce):
        self._passes, self._average, self._reduce = passes, average, reduce
        self._counter = None  # of passes since the last reduction, after this one

    def compute(self, gradients):
        """Each gradient is the reduced sum in the last pass, and means nothing in the others."""
        present = [g for g in gradients if g is not None]
        if any(isinstance(g, IndexedSlices) for g in present):
            raise ValueError("IndexedSlices are not supported when `backward_passes_per_step` > 1 and `sparse_as_dense` is False.")
        with ops.init_scope(), ops.name_scope("aggregation_variables"):
            counter = variables.Variable(0, trainable=False, collections=[ops.GraphKeys.LOCAL_VARIABLES], dtype=dtypes.int32, name="counter")
            sums = [variables.Variable(gen_ops.fill(g.shape.as_list(), gen_ops.cast(0, DstT=g.dtype)), trainable=False,
                                       collections=[ops.GraphKeys.LOCAL_VARIABLES], name="sum") for g in present]
        added = [state_ops.assign_add(s, g) for s, g in zip(sums, present)]
        with ops.control_dependencies(added):
            passed = state_ops.assign_add(counter, 1)
        with ops.control_dependencies([passed]):
            self._counter = gen_ops.identity(passed)
        values = [gen_ops.identity(a) for a in added]

        def reduced():
            total = self._reduce(values)
            if self._average:
                total = [t / ops.convert_to_tensor(self._passes, dtype=t.dtype) for t in total]
            return total
        results = control_flow_ops.cond(self._is_last(), reduced, lambda: [gen_ops.identity(v) for v in values])
        results = iter(results if isinstance(results, (list, tuple)) else [results])
        self._sums, self._count = sums, counter
        return [g if g is None else next(results) for g in gradients]

    def _is_last(self):
        return gen_ops.equal(self._counter, ops.convert_to_tensor(self._passes))

    def apply(self, gradients, make):
        """The op that `make` gives in the last pass; nothing in the others."""
        def last():
            with ops.control_dependencies([make()]):
                zeros = [state_ops.assign(s, gen_ops.zeros_like(s)) for s in self._sums]
                return control_flow_ops.group(*zeros, state_ops.assign(self._count, 0))
        with ops.control_dependencies([g for g in gradients if g is not None]):
            return control_flow_ops.cond(self._is_last(), last, control_flow_ops.no_op).op


class DistributedTrainOptimizer(optimizer_lib.Optimizer):
    """An optimizer of tf.train whose gradients are reduced over all ranks."""

    def __init__(self, optimizer, name, use_locking, passes, average_passes, settings):
        super().__init__(use_locking, name or f"Distributed{type(optimizer).__name__}")
        self._optimizer, self._settings = optimizer, settings
        self._accumulation = None if passes == 1 else _Accumulation(passes, average_passes, self._reduce)

    def _reduce(self, gradients):
        return reductions.allreduce_gradients(gradients, name=self._name + "_Allreduce", **self._settings)

    def compute_gradients(self, *args, **kwargs):
        found = self._optimizer.compute_gradients(*args, **kwargs)
        gradients = [g for g, _ in found]
        if self._settings["sparse_as_dense"]:
            gradients = [reductions.dense(g) for g in gradients]
        gradients = self._accumulation.compute(gradients) if self._accumulation else self._reduce(gradients)
        return [(g, v) for g, (_, v) in zip(gradients, found)]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        grads_and_vars = list(grads_and_vars)

        def make():
            return self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        if not self._accumulation:
            return make()
        with ops.init_scope():
            self._optimizer._create_slots([v for g, v in grads_and_vars if g is not None])
        return self._accumulation.apply([g for g, _ in grads_and_vars], make)

    def get_slot(self, *args, **kwargs):
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self, *args, **kwargs):
        return self._optimizer.variables(*args, **kwargs)


def check_settings(op, gradient_predivide_factor, backward_passes_per_step):
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if backward_passes_per_step < 1:
        raise ValueError("backward_passes_per_step must be > 0")


def DistributedOptimizer(optimizer, name=None, use_locking=False, device_dense="", device_sparse="", compression=Compression.none,
                         sparse_as_dense=False, backward_passes_per_step=1, op=Average, gradient_predivide_factor=1.0,
                         average_aggregated_gradients=False, num_groups=0, groups=None, process_set=global_process_set,
                         scale_local_gradients=True):
    """An optimizer that does what `optimizer` does with the gradients of all ranks. Takes optimizers of tf.train and tf.keras."""
    del scale_local_gradients  # of variables that are registered as local, which there are none of
    check_settings(op, gradient_predivide_factor, backward_passes_per_step)
    settings = dict(device_dense=device_dense, device_sparse=device_sparse, compression=compression, sparse_as_dense=sparse_as_dense, op=op,
                    gradient_predivide_factor=gradient_predivide_factor, num_groups=num_groups, groups=groups, process_set=process_set)
    if op == mpi_ops.Adasum:
        if not isinstance(optimizer, optimizer_lib.Optimizer) or backward_passes_per_step != 1:
            raise NotImplementedError("hvd.Adasum is for optimizers of tf.train, with backward_passes_per_step=1")
        return adasum.AdasumOptimizer(optimizer, name, use_locking, lambda steps: reductions.grouped_allreduce(
            steps, compression=compression, op=op, process_set=process_set, name="HorovodAdasum"))
    if isinstance(optimizer, optimizer_lib.Optimizer):
        return DistributedTrainOptimizer(optimizer, name, use_locking, backward_passes_per_step, average_aggregated_gradients, settings)
    from millstream.horovod import keras_optimizer
    return keras_optimizer.distributed(optimizer, name, backward_passes_per_step, settings)


class _DistributedTape:
    """A GradientTape whose gradients are reduced over all ranks."""

    def __init__(self, tape, settings):
        self._tape, self._settings = tape, settings

    def __enter__(self):
        self._tape.__enter__()
        return self

    def __exit__(self, *args):
        return self._tape.__exit__(*args)

    def __getattr__(self, name):
        return getattr(self._tape, name)

    def gradient(self, target, sources, output_gradients=None, **kwargs):
        from millstream.ops import nest
        found = self._tape.gradient(target, sources, output_gradients, **kwargs)
        nested = nest.is_nested(sources)
        flat = list(found) if isinstance(sources, (list, tuple)) else [found]
        if nested and not isinstance(sources, (list, tuple)):
            raise ValueError("DistributedGradientTape.gradient() takes one source or a list of them")
        reduced = reductions.allreduce_gradients(flat, name="DistributedGradientTape_Allreduce", **self._settings)
        return type(sources)(reduced) if isinstance(sources, (list, tuple)) else reduced[0]


def DistributedGradientTape(gradtape, device_dense="", device_sparse="", compression=Compression.none, sparse_as_dense=False, op=Average,
                            gradient_predivide_factor=1.0, num_groups=0, groups=None, process_set=global_process_set,
                            scale_local_gradients=True):
    """A tape that does what `gradtape` does, with gradients reduced over all ranks."""
    del scale_local_gradients
    check_settings(op, gradient_predivide_factor, 1)
    return _DistributedTape(gradtape, dict(
        device_dense=device_dense, device_sparse=device_sparse, compression=compression, sparse_as_dense=sparse_as_dense, op=op,
        gradient_predivide_factor=gradient_predivide_factor, num_groups=num_groups, groups=groups, process_set=process_set))
