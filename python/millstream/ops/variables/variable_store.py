# SPDX-License-Identifier: Apache-2.0
"""The variables that get_variable() has made in a graph, by full name."""
import functools
import inspect

from millstream.framework import dtypes, ops, tensor_shape
from millstream.ops.variables import init_ops, partitioned_variables, variables


class PartitionInfo:
    """What an initializer is told of the slice that it makes."""

    def __init__(self, full_shape, var_offset):
        if not isinstance(full_shape, (list, tuple)) or not isinstance(var_offset, (list, tuple)):
            raise TypeError("`full_shape` and `var_offset` must be sequences (like tuple or list)")
        if len(full_shape) != len(var_offset):
            raise ValueError("Expected equal length, but `var_offset` and `full_shape` have different lengths")
        self._full_shape, self._var_offset = list(full_shape), list(var_offset)

    @property
    def full_shape(self):
        return self._full_shape

    @property
    def var_offset(self):
        return self._var_offset

    def single_offset(self, shape):
        dim = self.single_slice_dim(shape)
        return 0 if dim is None else self._var_offset[dim]

    def single_slice_dim(self, shape):
        found = [i for i, (s, f) in enumerate(zip(shape, self._full_shape)) if s != f]
        if len(found) > 1:
            raise ValueError(f"Cannot use single_slice_dim() with shape {shape} and full shape {self._full_shape}: slice "
                             "range is specified for more than one dimension")
        return found[0] if found else None


def _takes(function, name):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == name or p.kind == p.VAR_KEYWORD for p in parameters)


def default_initializer(name, dtype):
    if dtype.is_floating:
        return init_ops.GlorotUniform(), False
    if dtype.is_integer or dtype.is_bool or dtype == dtypes.string:
        return init_ops.Zeros(), False
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")


class VariableStore:
    def __init__(self):
        self._vars = {}
        self._partitioned_vars = {}

    def get_variable(self, name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None, reuse=None,
                     trainable=None, collections=None, caching_device=None, partitioner=None, validate_shape=True,
                     use_resource=None, custom_getter=None, constraint=None, synchronization=None, aggregation=None):
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        dtype = dtypes.as_dtype(dtype).base_dtype if dtype is not None else dtypes.float32
        if caching_device is not None and callable(caching_device):
            raise ValueError("caching_device must be a device name")
        kwargs = dict(name=name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, reuse=reuse,
                      trainable=trainable, collections=collections, caching_device=caching_device, partitioner=partitioner,
                      validate_shape=validate_shape, use_resource=use_resource, synchronization=synchronization,
                      aggregation=aggregation)
        if custom_getter is not None:
            if constraint is not None or _takes(custom_getter, "constraint"):
                kwargs["constraint"] = constraint
            return custom_getter(getter=self._true_getter, **kwargs)
        return self._true_getter(constraint=constraint, **kwargs)

    def _true_getter(self, name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None, reuse=None,
                     trainable=None, collections=None, caching_device=None, partitioner=None, validate_shape=True,
                     use_resource=None, constraint=None, synchronization=None, aggregation=None):
        is_scalar = shape is not None and not callable(shape) and tensor_shape.TensorShape(shape).rank == 0
        if partitioner is not None and not is_scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
            return self._get_partitioned(name, shape, dtypes.as_dtype(dtype), initializer, regularizer, reuse, trainable,
                                         collections, caching_device, partitioner, validate_shape, use_resource, constraint,
                                         synchronization, aggregation)
        if reuse is True and partitioner is None and name in self._partitioned_vars:
            return self._get_partitioned(name, shape, dtypes.as_dtype(dtype), initializer, regularizer, reuse, trainable,
                                         collections, caching_device, None, validate_shape, use_resource, constraint,
                                         synchronization, aggregation)
        if f"{name}/part_0" in self._vars:
            raise ValueError(f"No partitioner was provided, but a partitioned version of the variable was found: {name}/part_0. "
                             "Perhaps a variable of the same name was already created with partitioning?")
        return self._get_single(name, shape, dtype, initializer, regularizer, None, reuse, trainable, collections,
                                caching_device, validate_shape, use_resource, constraint, synchronization, aggregation)

    def _found(self, name, shape, dtype):
        found = self._vars[name]
        if not shape.is_compatible_with(found.get_shape()):
            raise ValueError(f"Trying to share variable {name}, but specified shape {shape} and found shape "
                             f"{found.get_shape()}.")
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
                             f"{found.dtype.name}.")
        return found

    def _get_single(self, name, shape, dtype, initializer, regularizer, partition_info, reuse, trainable, collections,
                    caching_device, validate_shape, use_resource, constraint, synchronization, aggregation):
        from_value = initializer is not None and not callable(initializer)
        if shape is not None and from_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype = dtypes.as_dtype(dtype)
        shape = tensor_shape.TensorShape(shape) if not isinstance(shape, tensor_shape.TensorShape) else shape
        if name in self._vars:
            if reuse is False:
                site = getattr(self._vars[name].op, "traceback", [])[-3:]
                lines = "".join(f"\n  File \"{s[0]}\", line {s[1]}, in {s[2]}" for s in site)
                raise ValueError(f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                                 f"reuse=tf.AUTO_REUSE in VarScope? Originally defined at:\n{lines}\n")
            return self._found(name, shape, dtype)
        if reuse is True:
            raise ValueError(f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to "
                             "set reuse=tf.AUTO_REUSE in VarScope?")
        if initializer is None:
            if shape.rank is None:
                raise ValueError(f"Variable {name} did not get an initializer, so its `shape` argument must be specified.")
            initializer, from_value = default_initializer(name, dtype)
        if from_value:
            initial, variable_dtype = initializer, None
        else:
            if isinstance(initializer, type):
                initializer = initializer()
            initial, variable_dtype = self._initial_function(name, initializer, shape, dtype, partition_info), dtype.base_dtype
        variable = variables.Variable(initial_value=initial, name=name, trainable=trainable, collections=collections,
                                      caching_device=caching_device, dtype=variable_dtype, validate_shape=validate_shape,
                                      constraint=constraint, use_resource=use_resource, synchronization=synchronization,
                                      aggregation=aggregation)
        self._vars[name] = variable
        if regularizer:
            self._regularize(name, variable, regularizer)
        return variable

    @staticmethod
    def _initial_function(name, initializer, shape, dtype, partition_info):
        if shape.is_fully_defined():
            if partition_info is not None and _takes(initializer, "partition_info"):
                return functools.partial(initializer, shape.as_list(), dtype=dtype, partition_info=partition_info)
            if _takes(initializer, "dtype"):
                return functools.partial(initializer, shape.as_list(), dtype=dtype)
            try:
                count = len(inspect.signature(initializer).parameters)
            except (TypeError, ValueError):
                count = 1
            return functools.partial(initializer, shape.as_list()) if count else initializer
        if shape.rank is None or not _needs_arguments(initializer):
            if not _needs_arguments(initializer):
                return initializer
        raise ValueError(f"The initializer passed is not valid. It should be a callable with no arguments and the shape "
                         f"should not be provided or an instance of `tf.keras.initializers.*' and `shape` should be fully "
                         f"defined. Shape of a new variable ({name}) must be fully defined, but instead was {shape}.")

    @staticmethod
    def _regularize(name, variable, regularizer):
        def make():
            with ops.name_scope(name + "/Regularizer/"):
                with ops.init_scope():
                    return regularizer(variable)
        with ops.colocate_with(variable.op):
            loss = make()
        if loss is not None:
            ops.add_to_collection(ops.GraphKeys.REGULARIZATION_LOSSES, loss)

    def _get_partitioned(self, name, shape, dtype, initializer, regularizer, reuse, trainable, collections, caching_device,
                         partitioner, validate_shape, use_resource, constraint, synchronization, aggregation):
        from_value = initializer is not None and not callable(initializer)
        if from_value and shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        if from_value:
            initializer = ops.convert_to_tensor(initializer, dtype=dtype)
            shape = initializer.shape
        shape = tensor_shape.TensorShape(shape)
        if name in self._partitioned_vars:
            return self._found_partitioned(name, shape, dtype, partitioner, reuse)
        if reuse is True:
            raise ValueError(f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). Did you "
                             "mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?")
        if not shape.is_fully_defined():
            raise ValueError(f"Shape of a new partitioned variable ({name}) must be fully defined, but instead was {shape}.")
        if name in self._vars or f"{name}/part_0" in self._vars:
            raise ValueError(f"A variable {name} that is not partitioned so exists already")
        partitions = partitioned_variables.call_partitioner(partitioner, shape, dtype)
        if initializer is None:
            initializer, _ = default_initializer(name, dtype)
        parts = []
        for i, (offset, size) in enumerate(partitioned_variables.slices(partitions, shape)):
            part_name = f"{name}/part_{i}"
            if from_value:
                with ops.name_scope(name + "/PartitionedInitializer/"):
                    from millstream import gen_ops
                    init, part_shape = gen_ops.slice(initializer, offset, size), None
            else:
                init, part_shape = initializer, size
            part = self._get_single(part_name, part_shape, dtype, init, regularizer,
                                    PartitionInfo(shape.as_list(), offset), reuse, trainable, collections, caching_device,
                                    validate_shape, use_resource, constraint, synchronization, aggregation)
            part._set_save_slice_info(variables.Variable.SaveSliceInfo(name, shape.as_list(), offset, size))
            parts.append(part)
        whole = partitioned_variables.PartitionedVariable(name, shape, dtype, parts, partitions)
        self._partitioned_vars[name] = whole
        return whole

    def _found_partitioned(self, name, shape, dtype, partitioner, reuse):
        if reuse is False:
            raise ValueError(f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
                             "reuse=tf.AUTO_REUSE in VarScope?")
        found = self._partitioned_vars[name]
        if not shape.is_compatible_with(found.get_shape()):
            raise ValueError(f"Trying to reuse partitioned variable {name}, but specified shape {shape} and found shape "
                             f"{found.get_shape()}.")
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(f"Trying to reuse partitioned variable {name}, but specified dtype {dtype.name} and found dtype "
                             f"{found.dtype.name}.")
        if partitioner is not None:
            wanted = partitioned_variables.call_partitioner(partitioner, found.get_shape(), dtype)
            if list(wanted) != list(found._get_partitions()):
                raise ValueError(f"Trying to reuse partitioned variable {name}, but specified partitions {wanted} and found "
                                 f"partitions {found._get_partitions()}.")
        return found


def _needs_arguments(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
