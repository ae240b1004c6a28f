# SPDX-License-Identifier: Apache-2.0
"""Horovod's ops in graphs: names, arguments, results and gradients."""
from __future__ import annotations

import contextlib
import re

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.horovod import adasum, basics, collectives, joining, world_in_graph
from millstream.horovod import process_sets
from millstream.horovod.process_sets import global_process_set
from millstream.ops.array import array_ops
from millstream.ops.functions.custom_gradient import custom_gradient
from millstream.ops.math import math_ops, reduce_ops

Average, Sum, Adasum, Min, Max, Product = 0, 1, 2, 3, 4, 5
_MERGE_OPS = {Average: "Add", Sum: "Add", Min: "Min", Max: "Max", Product: "Mul"}


def handle_average_backwards_compatibility(op, average):
    """The reduction that `op` and the older argument `average` mean together."""
    if op is not None:
        if average is not None:
            raise ValueError("The op parameter supersedes average. Please provide only one of them.")
        return op
    return Sum if average is False else Average


def check_set(process_set):
    basics.world()
    if process_set.process_set_id is None:
        raise ValueError(f"{process_set} is not known: give it to hvd.init() or hvd.add_process_set().")
    if not process_set.included():
        raise ValueError(f"Rank {basics.rank()} is not in {process_set}, and cannot take part in its collectives.")
    return process_set


@contextlib.contextmanager
def scope_of(kind, tensor, name, ignore_name_scope=False):
    """A name scope for the op; its full name is what the ranks find each other by."""
    name = name or f"Horovod{kind}_" + re.sub("[^a-zA-Z0-9_]", "_", tensor.name)
    name = re.sub("[^A-Za-z0-9_.\\-/]", "_", name)
    with ops.name_scope(None) if ignore_name_scope else contextlib.nullcontext():
        with ops.name_scope(name if re.match("[A-Za-z0-9.]", name) else "hvd" + name) as scope:
            yield scope.rstrip("/")


def scaled(tensor, factor):
    if not isinstance(factor, ops.Tensor) and factor == 1.0:
        return tensor
    if tensor.dtype.is_integer:
        return gen_ops.cast(math_ops.cast(tensor, dtypes.float64) * factor, DstT=tensor.dtype)
    return tensor * math_ops.cast(factor, tensor.dtype)


def reduce_tensor(tensor, op, name, process_set):
    """The reduction alone, without a gradient. `name` is the same on all ranks."""
    if op == Adasum:
        return adasum.reduce_tensor(tensor, name, process_set)
    if op not in _MERGE_OPS:
        raise NotImplementedError(f"op is {op!r}, not one of hvd's")
    if world_in_graph.is_alone(process_set) or tensor.shape.num_elements() == 0:
        return gen_ops.identity(tensor)
    mean = op == Average and not tensor.dtype.is_integer
    joining.note(tensor, _MERGE_OPS[op], mean, name, process_set)
    total = collectives.reduce(tensor, _MERGE_OPS[op], mean, name, process_set)
    if mean or op != Average:
        return total
    return gen_ops.truncate_div(total, math_ops.cast(world_in_graph.size(process_set), total.dtype))


def allreduce_tensor(tensor, name=None, op=Sum, prescale_factor=1.0, postscale_factor=1.0, ignore_name_scope=False,
                     process_set=global_process_set):
    """Of a dense tensor. Its gradient is an allreduce of the same kind."""
    check_set(process_set)
    tensor = ops.convert_to_tensor(tensor)
    settings = dict(op=op, prescale_factor=prescale_factor, postscale_factor=postscale_factor, ignore_name_scope=ignore_name_scope,
                    process_set=process_set)

    @custom_gradient
    def reduced(x):
        out = scaled(reduce_tensor(scaled(x, prescale_factor), op, scope + "/reduce", process_set), postscale_factor)
        out.set_shape(x.shape)
        return out, lambda grad: allreduce_tensor(grad, **settings)

    with scope_of("Allreduce", tensor, name, ignore_name_scope) as scope:
        return reduced(tensor)


def _rows(tensor):
    return array_ops.reshape(gen_ops.shape(tensor, out_type=dtypes.int64)[0], [1])


def gathered_sizes(tensor, scope, process_set):
    """How many rows each rank has."""
    return collectives.gather(_rows(tensor), scope + "/sizes", process_set)


def _real_rows(sizes, most, count):
    """Which rows of `count` parts of `most` rows are real: the first sizes[i] of part i. The others are padding."""
    count = math_ops.cast(count, dtypes.int64)
    place = math_ops.range(most * count)
    divisor = gen_ops.maximum(most, ops.convert_to_tensor(1, dtype=dtypes.int64))
    real = gen_ops.less(gen_ops.floor_mod(place, divisor), gen_ops.gather_v2(sizes, gen_ops.floor_div(place, divisor), 0))
    return array_ops.reshape(gen_ops.where(real), [-1])


def _with_rows_of(result, tensor):
    if tensor.shape.rank is not None:
        result.set_shape([None] + tensor.shape.as_list()[1:])
    return result


def gather_rows(tensor, sizes, scope, process_set):
    """Rows of all ranks; `sizes` says how many each has. Shorter parts travel with padding up to the longest."""
    most = reduce_ops.reduce_max(sizes)
    pad = array_ops.reshape(most - sizes[world_in_graph.rank(process_set)], [1])
    rest = gen_ops.shape(tensor, out_type=dtypes.int64)[1:]
    padded = array_ops.concat([tensor, gen_ops.fill(array_ops.concat([pad, rest], 0), gen_ops.cast(0, DstT=tensor.dtype))], 0)
    together = collectives.gather(padded, scope + "/rows", process_set)
    return _with_rows_of(gen_ops.gather_v2(together, _real_rows(sizes, most, world_in_graph.size(process_set)), 0), tensor)


def allgather(tensor, name=None, ignore_name_scope=False, process_set=global_process_set):
    """Tensors of all ranks, joined along the first dimension, which may differ."""
    check_set(process_set)
    tensor = ops.convert_to_tensor(tensor)
    if tensor.shape.rank == 0:
        raise ValueError("allgather needs tensors with at least one dimension")
    if world_in_graph.is_alone(process_set):
        return gen_ops.identity(tensor)

    @custom_gradient
    def gathered(x):
        sizes = gathered_sizes(x, scope, process_set)
        out = gather_rows(x, sizes, scope, process_set)

        def grad(dy):
            mean = allreduce_tensor(dy, op=Average, ignore_name_scope=ignore_name_scope, process_set=process_set)
            begin = reduce_ops.reduce_sum(sizes[:world_in_graph.rank(process_set)])
            return mean[begin:begin + sizes[world_in_graph.rank(process_set)]]
        return out, grad

    with scope_of("Allgather", tensor, name, ignore_name_scope) as scope:
        return gathered(tensor)


def grouped_allgather(tensors, name=None, ignore_name_scope=False, process_set=global_process_set):
    return [allgather(t, None if name is None else f"{name}_{i}", ignore_name_scope, process_set) for i, t in enumerate(tensors)]


def _is_root(root_rank, process_set):
    """`root_rank` is a rank of the job, also in a smaller set."""
    if not process_sets.may_change():
        return basics.rank() == root_rank
    return gen_ops.equal(world_in_graph.rank(process_set), ops.convert_to_tensor(root_rank, dtype=dtypes.int32))


def broadcast(tensor, root_rank, name=None, ignore_name_scope=False, process_set=global_process_set):
    """The tensor of rank `root_rank`."""
    check_set(process_set)
    tensor = ops.convert_to_tensor(tensor)
    if root_rank not in process_set.ranks:
        raise ValueError(f"broadcast: root_rank is {root_rank}, the ranks are {process_set.ranks}")
    if world_in_graph.is_alone(process_set):
        return gen_ops.identity(tensor)

    @custom_gradient
    def copied(x):
        def grad(dy):
            mean = allreduce_tensor(dy, op=Average, ignore_name_scope=ignore_name_scope, process_set=process_set)
            return mean * math_ops.cast(_is_root(root_rank, process_set), mean.dtype)
        return collectives.broadcast(x, _is_root(root_rank, process_set), scope + "/value", process_set), grad

    with scope_of("Broadcast", tensor, name, ignore_name_scope) as scope:
        return copied(tensor)


def _parts(tensor, splits, most):
    """[ranks * most, ...]: the rows for each rank, with rows of zeros behind them."""
    shape = gen_ops.shape(tensor, out_type=dtypes.int64)
    index = array_ops.expand_dims(gen_ops.cumsum(splits, 0, exclusive=True), 1) + array_ops.expand_dims(math_ops.range(most), 0)
    own = gen_ops.less(array_ops.expand_dims(math_ops.range(most), 0), array_ops.expand_dims(splits, 1))
    index = gen_ops.select(own, index, gen_ops.fill(gen_ops.shape(index), shape[0]))  # the row of zeros is the last
    zeros = gen_ops.fill(array_ops.concat([[1], shape[1:]], 0), gen_ops.cast(0, DstT=tensor.dtype))
    return gen_ops.gather_v2(array_ops.concat([tensor, zeros], 0), array_ops.reshape(index, [-1]), 0)


def _exchange(tensor, splits, scope, process_set):
    """(rows from all ranks, how many from each)."""
    received = collectives.all_to_all(splits, scope + "/splits", process_set)
    received.set_shape(splits.shape)
    most = reduce_tensor(reduce_ops.reduce_max(splits), Max, scope + "/most", process_set)
    moved = collectives.all_to_all(_parts(tensor, splits, most), scope + "/rows", process_set)
    return _with_rows_of(gen_ops.gather_v2(moved, _real_rows(received, most, world_in_graph.size(process_set)), 0), tensor), received


def _splits(tensor, splits, count):
    rows = gen_ops.shape(tensor, out_type=dtypes.int64)[0]
    if splits is None:
        if not isinstance(count, ops.Tensor) and tensor.shape.rank is not None and tensor.shape[0].value is not None and tensor.shape[0].value % count:
            raise ValueError(f"alltoall: the first dimension {tensor.shape[0].value} cannot be divided among {count} ranks; give splits")
        return gen_ops.fill(array_ops.reshape(count, [1]), gen_ops.floor_div(rows, math_ops.cast(count, dtypes.int64)))
    splits = math_ops.cast(ops.convert_to_tensor(splits), dtypes.int64)
    if not isinstance(count, ops.Tensor) and splits.shape.rank is not None and splits.shape.as_list() not in ([count], [None]):
        raise ValueError(f"alltoall: splits must have {count} numbers, one for each rank, got shape {splits.shape}")
    splits = array_ops.reshape(splits, array_ops.reshape(count, [1]))
    from millstream.ops.flow import control_flow_ops
    checks = [control_flow_ops.Assert(gen_ops.equal(reduce_ops.reduce_sum(splits), rows),
                                      ["alltoall: the sum of splits must be the first dimension of the tensor:", splits, rows]),
              control_flow_ops.Assert(gen_ops.greater_equal(reduce_ops.reduce_min(splits), ops.convert_to_tensor(0, dtype=dtypes.int64)),
                                      ["alltoall: splits must not be negative:", splits])]
    with ops.control_dependencies(checks):
        return gen_ops.identity(splits)


def alltoall(tensor, splits=None, name=None, ignore_name_scope=False, process_set=global_process_set):
    """Rows for every rank, and rows from every rank. With `splits` also how many came from each."""
    check_set(process_set)
    tensor = ops.convert_to_tensor(tensor)
    if tensor.shape.rank == 0:
        raise ValueError("alltoall needs tensors with at least one dimension")
    count = world_in_graph.size(process_set)

    @custom_gradient
    def exchanged(x, parts):
        if world_in_graph.is_alone(process_set):
            out, received = gen_ops.identity(x), gen_ops.identity(parts)
        else:
            out, received = _exchange(x, parts, scope, process_set)

        def grad(dy, _):
            back, _ = alltoall(dy, received, ignore_name_scope=ignore_name_scope, process_set=process_set)
            return [back, None]
        return [out, received], grad

    with scope_of("Alltoall", tensor, name, ignore_name_scope) as scope:
        output, received = exchanged(tensor, _splits(tensor, splits, count))
        return output if splits is None else (output, math_ops.cast(received, dtypes.int32))


def _own_rows(tensor, process_set):
    """This rank's share of the rows: the first ranks have one more where they cannot be divided."""
    count, rank = world_in_graph.size(process_set), world_in_graph.rank(process_set)
    rows = tensor.shape[0].value if tensor.shape.rank and not isinstance(count, ops.Tensor) else None
    least = min
    if rows is None:
        rows, least = gen_ops.shape(tensor)[0], gen_ops.minimum
    each, more = rows // count, rows % count
    return tensor[each * rank + least(rank, more):each * (rank + 1) + least(rank + 1, more)]


def reducescatter_tensor(tensor, name=None, op=Sum, ignore_name_scope=False, process_set=global_process_set, prescale_factor=1.0,
                         postscale_factor=1.0):
    check_set(process_set)
    tensor = ops.convert_to_tensor(tensor)
    if op not in (Sum, Average, Min, Max, Product):
        raise NotImplementedError("reducescatter supports Sum, Average, Min, Max and Product")
    if tensor.shape.rank == 0:
        raise ValueError("reducescatter needs tensors with at least one dimension")

    @custom_gradient
    def scattered(x):
        whole = scaled(reduce_tensor(scaled(x, prescale_factor), op, scope + "/reduce", process_set), postscale_factor)

        def grad(dy):
            dy = scaled(dy * math_ops.cast(world_in_graph.size(process_set), dy.dtype) if op == Sum else dy, prescale_factor * postscale_factor)
            back = allgather(dy, ignore_name_scope=ignore_name_scope, process_set=process_set)
            back.set_shape(x.shape)
            return back
        return _own_rows(whole, process_set), grad

    with scope_of("Reducescatter", tensor, name, ignore_name_scope) as scope:
        return scattered(tensor)


def _run_alone(build):
    """Runs ops in a graph and a session of their own, at once."""
    from millstream.client import session
    with ops.Graph().as_default(), session.Session() as own:
        return own.run(build())


def barrier(process_set=global_process_set):
    """Returns when all ranks of the set have called it."""
    check_set(process_set)
    if process_set.size() > 1:
        _run_alone(lambda: collectives.reduce(ops.convert_to_tensor(1), "Add", False, "HorovodBarrier", process_set))


def now(function, value, name):
    """function(a constant tensor) in a session of its own, at once."""
    return _run_alone(lambda: function(ops.convert_to_tensor(value, name=name)))


def _number(value, name):
    return ops.convert_to_tensor(value, dtype=dtypes.int32, name=name)


def size_op(process_set_id=0, name=None):
    if process_sets.may_change():
        return gen_ops.identity(world_in_graph.size(global_process_set), name=name or "HorovodSize")
    return _number(len(process_sets.get_process_set_ids_and_ranks()[process_set_id]), name or "HorovodSize")


def rank_op(name=None):
    if process_sets.may_change():
        return gen_ops.identity(world_in_graph.rank(global_process_set), name=name or "HorovodRank")
    return _number(basics.rank(), name or "HorovodRank")


def local_size_op(name=None):
    return _number(basics.local_size(), name or "HorovodLocalSize")


def local_rank_op(name=None):
    return _number(basics.local_rank(), name or "HorovodLocalRank")
