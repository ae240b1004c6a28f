# SPDX-License-Identifier: Apache-2.0
"""hvd.allreduce and its relatives, of dense tensors and IndexedSlices."""
from __future__ import annotations

import itertools
import os

from millstream.framework import dtypes, ops
from millstream.framework.indexed_slices import IndexedSlices
from millstream.horovod import mpi_ops, world_in_graph
from millstream.horovod.compression import Compression
from millstream.horovod.mpi_ops import Average, Sum, handle_average_backwards_compatibility
from millstream.horovod.process_sets import global_process_set
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops

_ALONE_BYTES = 1 << 20  # larger tensors travel alone, without the copies of a bucket
_BUCKET_BYTES = 4 << 20


def _bucket_bytes():
    """The size of buckets (HOROVOD_FUSION_THRESHOLD; 0: every tensor travels alone)."""
    text = os.environ.get("HOROVOD_FUSION_THRESHOLD")
    return _BUCKET_BYTES if text is None else int(text)


def _allreduce_slices(slices, op, prescale_factor, postscale_factor, name, process_set, ignore_name_scope):
    if op not in (Sum, Average):
        raise NotImplementedError("Only Sum and Average ops are supported with tf.IndexedSlices")
    if prescale_factor != 1.0 or postscale_factor != 1.0:
        raise NotImplementedError("Pre/postscale_factor are not supported with tf.IndexedSlices")
    mpi_ops.check_set(process_set)
    if world_in_graph.is_alone(process_set):
        return slices
    with mpi_ops.scope_of("Allgather", slices.values, name, ignore_name_scope) as scope:
        sizes = mpi_ops.gathered_sizes(slices.values, scope, process_set)
        values = mpi_ops.gather_rows(slices.values, sizes, scope + "/values", process_set)
        indices = mpi_ops.gather_rows(slices.indices, sizes, scope + "/indices", process_set)
        if op == Average:
            values = values / math_ops.cast(world_in_graph.size(process_set), values.dtype)
    return IndexedSlices(values, indices, slices.dense_shape)


def allreduce(tensor, average=None, device_dense="", device_sparse="", compression=Compression.none, op=None, prescale_factor=1.0,
              postscale_factor=1.0, name=None, process_set=global_process_set, ignore_name_scope=False):
    """The tensors of all ranks, reduced; IndexedSlices are gathered, which is the same for sums and averages."""
    op = handle_average_backwards_compatibility(op, average)
    if isinstance(tensor, IndexedSlices):
        with ops.device(device_sparse or None):
            return _allreduce_slices(tensor, op, prescale_factor, postscale_factor, name, process_set, ignore_name_scope)
    tensor = ops.convert_to_tensor(tensor)
    with ops.device(device_dense or None):
        small, context = compression.compress(tensor)
        small = mpi_ops.allreduce_tensor(small, name or f"HorovodAllreduce_{tensor.op.name}_{tensor.value_index}".replace("/", "_"), op,
                                         prescale_factor, postscale_factor, ignore_name_scope, process_set)
        return compression.decompress(small, context)


def _buckets(tensors, limit):
    """Lists of positions: small tensors of one type with known shapes travel together, in the order in which they are given."""
    open_buckets, done = {}, []
    for i, tensor in enumerate(tensors):
        elements = tensor.shape.num_elements()
        size = None if elements is None else elements * tensor.dtype.size
        if size is None or size >= min(_ALONE_BYTES, limit) or size == 0:
            done.append([i])
            continue
        bucket, used = open_buckets.get(tensor.dtype, ([], 0))
        if bucket and used + size > limit:
            done.append(bucket)
            bucket, used = [], 0
        bucket.append(i)
        open_buckets[tensor.dtype] = bucket, used + size
    return done + [bucket for bucket, _ in open_buckets.values()]


def _together(tensors, reduce):
    """One reduction of all of them."""
    if len(tensors) == 1:
        return [reduce(tensors[0])]
    total = reduce(array_ops.concat([array_ops.reshape(t, [-1]) for t in tensors], 0))
    parts = array_ops.split(total, [t.shape.num_elements() for t in tensors], 0)
    return [array_ops.reshape(part, t.shape.as_list()) for part, t in zip(parts, tensors)]


def in_buckets(tensors, reduce):
    """reduce(tensor) of each; small tensors are reduced together, which elementwise reductions allow."""
    results = [None] * len(tensors)
    for bucket in _buckets(tensors, _bucket_bytes()):
        for i, value in zip(bucket, _together([tensors[i] for i in bucket], reduce)):
            results[i] = value
    return results


def _grouped_dense(tensors, compression, name, settings):
    small = [compression.compress(t) for t in tensors]
    numbers = itertools.count()
    def reduce(tensor):
        return mpi_ops.allreduce_tensor(tensor, f"{name}_{next(numbers)}", **settings)
    given = [t for t, _ in small]
    reduced = [reduce(t) for t in given] if settings["op"] == mpi_ops.Adasum else in_buckets(given, reduce)
    return [compression.decompress(value, context) for value, (_, context) in zip(reduced, small)]


def grouped_allreduce(tensors, average=None, device_dense="", device_sparse="", compression=Compression.none, op=None,
                      prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set, ignore_name_scope=False, name=None):
    """allreduce() of each; small tensors travel together in buckets."""
    if not tensors:
        return tensors
    op = handle_average_backwards_compatibility(op, average)
    tensors = [t if isinstance(t, IndexedSlices) else ops.convert_to_tensor(t) for t in tensors]
    results = [allreduce(t, None, device_dense, device_sparse, compression, op, prescale_factor, postscale_factor, None, process_set,
                         ignore_name_scope) if isinstance(t, IndexedSlices) else None for t in tensors]
    dense = [i for i, t in enumerate(tensors) if not isinstance(t, IndexedSlices)]
    if dense:
        first, last = tensors[dense[0]], tensors[dense[-1]]
        name = name or f"HorovodGroupedAllreduce_{first.op.name}_{last.op.name}".replace("/", "_")
        settings = dict(op=op, prescale_factor=prescale_factor, postscale_factor=postscale_factor, ignore_name_scope=ignore_name_scope,
                        process_set=process_set)
        with ops.device(device_dense or None):
            for i, value in zip(dense, _grouped_dense([tensors[i] for i in dense], compression, name, settings)):
                results[i] = value
    return results


def reducescatter(tensor, device_dense="", compression=Compression.none, op=Average, name=None, process_set=global_process_set,
                  ignore_name_scope=False, prescale_factor=1.0, postscale_factor=1.0):
    """This rank's share of the rows of the reduced tensors."""
    tensor = ops.convert_to_tensor(tensor)
    with ops.device(device_dense or None):
        small, context = compression.compress(tensor)
        return compression.decompress(mpi_ops.reducescatter_tensor(small, name, op, ignore_name_scope, process_set, prescale_factor,
                                                                   postscale_factor), context)


def grouped_reducescatter(tensors, device_dense="", compression=Compression.none, op=Average, process_set=global_process_set,
                          ignore_name_scope=False, name=None, prescale_factor=1.0, postscale_factor=1.0):
    return [reducescatter(t, device_dense, compression, op, None if name is None else f"{name}_{i}", process_set, ignore_name_scope,
                          prescale_factor, postscale_factor) for i, t in enumerate(tensors)]


def dense(gradient):
    """IndexedSlices as a tensor."""
    return ops.convert_to_tensor(gradient) if isinstance(gradient, IndexedSlices) else gradient


def allreduce_gradients(gradients, device_dense="", device_sparse="", compression=Compression.none, sparse_as_dense=False, op=Average,
                        gradient_predivide_factor=1.0, num_groups=0, groups=None, process_set=global_process_set, name="DistributedGradients"):
    """The gradients of all ranks, averaged (or summed). None stays None. The last ones come first: backpropagation has them first."""
    del num_groups, groups  # say which tensors travel together, not what arrives
    mpi_ops.check_set(process_set)
    if world_in_graph.is_alone(process_set):
        return list(gradients)
    prescale = postscale = 1.0
    if gradient_predivide_factor != 1.0:
        if op != Average:
            raise ValueError("gradient_predivide_factor not supported with op != Average")
        prescale, op = 1.0 / gradient_predivide_factor, Sum
        count = world_in_graph.size(process_set)
        postscale = gradient_predivide_factor / (math_ops.cast(count, dtypes.float64) if isinstance(count, ops.Tensor) else count)
    given = [(i, dense(g) if sparse_as_dense else g) for i, g in enumerate(gradients) if g is not None][::-1]
    results = list(gradients)
    with ops.name_scope(name):
        for i, slices in given:
            if isinstance(slices, IndexedSlices):
                results[i] = _reduce_slices(slices, op, postscale * prescale, device_sparse, process_set, i)
        tensors = [(i, ops.convert_to_tensor(g)) for i, g in given if not isinstance(g, IndexedSlices)]
        reduced = grouped_allreduce([g for _, g in tensors], None, device_dense, device_sparse, compression, op, prescale, postscale,
                                    process_set, name="HorovodAllreduce")
        for (i, _), value in zip(tensors, reduced):
            results[i] = value
    return results


def _reduce_slices(slices, op, scale, device_sparse, process_set, number):
    total = allreduce(slices, device_sparse=device_sparse, op=op, name=f"HorovodAllgather_{number}", process_set=process_set)
    if not isinstance(scale, ops.Tensor) and scale == 1.0:
        return total
    return IndexedSlices(mpi_ops.scaled(total.values, scale), total.indices, total.dense_shape)


__all__ = ["allreduce", "allreduce_gradients", "dense", "grouped_allreduce", "grouped_reducescatter", "reducescatter"]
