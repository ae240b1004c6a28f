# SPDX-License-Identifier: Apache-2.0
"""Horovod's interface: `import millstream.horovod as hvd`, and `import horovod.tensorflow as hvd` under `python -m millstream`.

Ranks come from `millstream launch --workers N`, mpirun, srun or horovodrun's environment; a program alone is rank 0 of 1.
"""
from millstream.horovod import elastic
from millstream.horovod.basics import (ccl_built, cross_rank, cross_size, cuda_built, ddl_built, gloo_built, gloo_enabled, gpu_available,
                                       init, is_homogeneous, is_initialized, local_rank, local_size, mpi_built, mpi_enabled,
                                       mpi_threads_supported, nccl_built, rank, rocm_built, shutdown, size, start_timeline,
                                       stop_timeline)
from millstream.horovod.compression import Compression
from millstream.horovod.exceptions import HorovodInternalError, HostsUpdatedInterrupt
from millstream.horovod.functions import (BroadcastGlobalVariablesHook, allgather_object, broadcast_global_variables, broadcast_object,
                                          broadcast_object_fn, broadcast_variables)
from millstream.horovod.joining import join
from millstream.horovod.mpi_ops import (Adasum, Average, Max, Min, Product, Sum, allgather, alltoall, barrier, broadcast,
                                        grouped_allgather, local_rank_op, local_size_op, rank_op, size_op)
from millstream.horovod.optimizer import DistributedGradientTape, DistributedOptimizer
from millstream.horovod.process_sets import (ProcessSet, add_process_set, get_process_set_ids_and_ranks, global_process_set,
                                             is_process_set_included, remove_process_set)
from millstream.horovod.reductions import allreduce, grouped_allreduce, grouped_reducescatter, reducescatter

__all__ = [
    "Adasum", "Average", "BroadcastGlobalVariablesHook", "Compression", "DistributedGradientTape", "DistributedOptimizer",
    "HorovodInternalError", "HostsUpdatedInterrupt", "Max", "Min", "ProcessSet", "Product", "Sum", "add_process_set", "allgather",
    "allgather_object", "allreduce", "alltoall", "barrier", "broadcast", "broadcast_global_variables", "broadcast_object",
    "broadcast_object_fn", "broadcast_variables", "ccl_built", "cross_rank", "cross_size", "cuda_built", "ddl_built", "elastic",
    "get_process_set_ids_and_ranks", "global_process_set", "gloo_built", "gloo_enabled", "gpu_available", "grouped_allgather",
    "grouped_allreduce", "grouped_reducescatter", "init", "is_homogeneous", "is_initialized", "is_process_set_included", "join",
    "local_rank", "local_rank_op", "local_size", "local_size_op", "mpi_built", "mpi_enabled", "mpi_threads_supported", "nccl_built",
    "rank", "rank_op", "reducescatter", "remove_process_set", "rocm_built", "shutdown", "size", "size_op", "start_timeline",
    "stop_timeline"]
