# SPDX-License-Identifier: Apache-2.0
"""horovod.tensorflow.keras and horovod.keras: Horovod for models of tf.keras. Values are reduced at once and come back as arrays."""
from __future__ import annotations

from millstream.horovod import functions as _functions
from millstream.horovod import mpi_ops as _mpi_ops
from millstream.horovod import optimizer as _optimizer
from millstream.horovod import reductions as _reductions
from millstream.horovod.basics import (ccl_built, cross_rank, cross_size, cuda_built, ddl_built, gloo_built, gloo_enabled, init,
                                       is_homogeneous, is_initialized, local_rank, local_size, mpi_built, mpi_enabled,
                                       mpi_threads_supported, nccl_built, rank, rocm_built, shutdown, size, start_timeline,
                                       stop_timeline)
from millstream.horovod.compression import Compression
from millstream.horovod.functions import allgather_object, broadcast_object
from millstream.horovod.keras import callbacks, elastic
from millstream.horovod.mpi_ops import Adasum, Average, Max, Min, Product, Sum, barrier
from millstream.horovod.process_sets import ProcessSet, add_process_set, global_process_set, remove_process_set


def DistributedOptimizer(optimizer, name=None, device_dense="", device_sparse="", compression=Compression.none, sparse_as_dense=False,
                         gradient_predivide_factor=1.0, op=Average, backward_passes_per_step=1, average_aggregated_gradients=False,
                         num_groups=0, groups=None, process_set=global_process_set, scale_local_gradients=True):
    """An optimizer that does what `optimizer` does with the gradients of all ranks."""
    return _optimizer.DistributedOptimizer(
        optimizer, name=name, device_dense=device_dense, device_sparse=device_sparse, compression=compression,
        sparse_as_dense=sparse_as_dense, backward_passes_per_step=backward_passes_per_step, op=op,
        gradient_predivide_factor=gradient_predivide_factor, average_aggregated_gradients=average_aggregated_gradients,
        num_groups=num_groups, groups=groups, process_set=process_set, scale_local_gradients=scale_local_gradients)


def broadcast_global_variables(root_rank):
    """Gives the variables of Keras's session the values that they have at rank `root_rank`."""
    from millstream.keras_v1 import state
    session = state.get_session()
    with session.graph.as_default():
        session.run(_functions.broadcast_global_variables(root_rank))


def allreduce(value, name=None, average=None, prescale_factor=1.0, postscale_factor=1.0, op=None, compression=Compression.none):
    return _mpi_ops.now(lambda x: _reductions.allreduce(x, average=average, prescale_factor=prescale_factor, postscale_factor=postscale_factor,
                                                        op=op, compression=compression), value, name)


def allgather(value, name=None):
    return _mpi_ops.now(_mpi_ops.allgather, value, name)


def broadcast(value, root_rank, name=None):
    return _mpi_ops.now(lambda x: _mpi_ops.broadcast(x, root_rank), value, name)


def reducescatter(value, name=None, op=Average):
    return _mpi_ops.now(lambda x: _reductions.reducescatter(x, op=op), value, name)


def load_model(filepath, custom_optimizers=None, custom_objects=None, compression=Compression.none, legacy_opts=False):
    raise NotImplementedError("Whole models cannot be loaded: make the model again, wrap its optimizer in hvd.DistributedOptimizer, and load "
                              "its weights with model.load_weights()")


__all__ = [
    "Adasum", "Average", "Compression", "DistributedOptimizer", "Max", "Min", "ProcessSet", "Product", "Sum", "add_process_set",
    "allgather", "allgather_object", "allreduce", "barrier", "broadcast", "broadcast_global_variables", "broadcast_object", "callbacks",
    "ccl_built", "cross_rank", "cross_size", "cuda_built", "ddl_built", "elastic", "global_process_set", "gloo_built", "gloo_enabled",
    "init", "is_homogeneous", "is_initialized", "load_model", "local_rank", "local_size", "mpi_built", "mpi_enabled",
    "mpi_threads_supported", "nccl_built", "rank", "reducescatter", "remove_process_set", "rocm_built", "shutdown", "size",
    "start_timeline", "stop_timeline"]
