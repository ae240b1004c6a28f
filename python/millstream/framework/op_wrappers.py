# SPDX-License-Identifier: Apache-2.0
"""Functions for ops, made from the op registry when they are first used.

A wrapper takes the inputs of the op in their order, then the attributes that cannot be inferred (required ones first), then
`name`; everything may be given by keyword. It returns what TF1's wrappers return: an Operation if there are no outputs, one
tensor (or list), or a namedtuple.
"""
import collections
import contextlib
import functools
import keyword
import re

from millstream import _core
from millstream.framework import conversion, dtypes, scopes
from millstream.framework.tensor_shape import TensorShape

_Arg = collections.namedtuple("_Arg", "name type type_attr number_attr type_list_attr is_ref")
_Attr = collections.namedtuple("_Attr", "name kind default allowed")


class OpInfo:
    """The definition of an op in the form that building a node needs."""

    def __init__(self, described):
        self.name, inputs, outputs, attrs, self.stateful, self.doc = described
        self.inputs = [_Arg(*a) for a in inputs]
        self.outputs = [_Arg(*a) for a in outputs]
        self.attrs = {a[0]: _Attr(*a) for a in attrs}
        inferred = set()
        for arg in self.inputs:
            inferred.update(a for a in (arg.type_attr, arg.number_attr, arg.type_list_attr) if a)
        self.inferred = inferred
        free = [a for a in self.attrs.values() if a.name not in inferred]
        self.free_attrs = [a.name for a in free if a.default is None] + [a.name for a in free if a.default is not None]
        self.parameters = [a.name for a in self.inputs] + self.free_attrs

    def __deepcopy__(self, memo):
        return self


@functools.lru_cache(maxsize=None)
def op_info(op_type):
    described = _core.describe_op(op_type)
    if described is None:
        raise AttributeError(f"There is no op '{op_type}'")
    return OpInfo(described)


def attr_to_core(kind, value):
    """A value as the extension takes it."""
    if kind == "type":
        return int(dtypes.as_dtype(value).base_dtype)
    if kind == "list(type)":
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"Expected list for attr, got {value!r}")
        return [int(dtypes.as_dtype(v).base_dtype) for v in value]
    if kind == "shape":
        return TensorShape(value)._to_core()
    if kind == "list(shape)":
        return [TensorShape(v)._to_core() for v in value]
    if kind == "tensor" and hasattr(value, "SerializeToString"):
        return value.SerializeToString()
    if kind == "func":
        return _func_to_core(value)
    if kind == "list(func)":
        return [_func_to_core(v) for v in value]
    if kind == "string" and isinstance(value, dtypes.DType):
        return value.name
    if kind in ("int", "float") and hasattr(value, "_as_graph_element"):
        raise TypeError(f"Expected {kind}, got {value!r}")
    if kind == "int" and isinstance(value, float) and not value.is_integer():
        raise TypeError(f"Expected int for attr, not {value!r}")
    if kind == "int" and isinstance(value, float):
        return int(value)
    if kind == "list(int)" and isinstance(value, int):
        raise TypeError(f"Expected list for attr, got {value!r}")
    return value


def _func_to_core(value):
    if hasattr(value, "add_to_graph"):  # a function made by Defun
        value.add_to_graph(scopes.get_default_graph())
        return value.name
    if hasattr(value, "name") and not isinstance(value, str):  # a NameAttrList
        return value.name
    return value


def apply_op(op_type, arguments, attrs, name=None):
    """Adds a node. `arguments` holds the value of each input, in order; returns the Operation."""
    info = op_info(op_type)
    values = {a: attr_to_core(info.attrs[a].kind, v) if a in info.attrs else v for a, v in attrs.items() if v is not None}
    given_by = dict.fromkeys(values)
    graph = scopes.graph_of(arguments)
    tensors = []
    with graph.as_default(), graph.name_scope(name or op_type) as scope:
        refs = []  # an op that changes a variable is where the variable is
        for arg, value in zip(info.inputs, arguments):
            tensors += _input_tensors(info, arg, value, values, given_by)
            if arg.is_ref:
                refs.append(tensors[-1].op)
        if info.stateful and graph._container and "container" in info.attrs and not values.get("container"):
            values["container"] = graph._container
        if not refs:
            return graph._create_op_internal(op_type, tensors, scope, values)
        with contextlib.ExitStack() as stack:
            for op in refs:
                stack.enter_context(graph.colocate_with(op))
            return graph._create_op_internal(op_type, tensors, scope, values)


def _known_dtype(info, arg, values):
    if arg.type:
        return dtypes.as_dtype(arg.type), None
    if arg.type_attr in values:
        return dtypes.as_dtype(values[arg.type_attr]), None
    default = info.attrs[arg.type_attr].default if arg.type_attr else None
    return None, (dtypes.as_dtype(default[1]) if default is not None else None)


def _input_tensors(info, arg, value, values, given_by):
    if arg.number_attr:
        return _list_input(info, arg, value, values, given_by)
    if arg.type_list_attr:
        return _mixed_input(info, arg, value, values)
    dtype, preferred = _known_dtype(info, arg, values)
    tensor = _convert(info, arg, value, dtype, preferred, given_by)
    _check_type(info, arg, tensor, values, given_by)
    return [tensor]


def _convert(info, arg, value, dtype, preferred, given_by, name=None):
    try:
        return conversion.internal_convert_to_tensor(value, dtype, name or arg.name, arg.is_ref, preferred)
    except (TypeError, ValueError) as error:
        if dtype is None:
            raise
        try:
            found = conversion.internal_convert_to_tensor(value, None, arg.name, arg.is_ref)
        except (TypeError, ValueError):
            raise error from None
        source = given_by.get(arg.type_attr) if arg.type_attr else None
        message = f"Input '{arg.name}' of '{info.name}' Op has type {found.dtype.base_dtype.name} that does not match "
        if source is not None:
            raise TypeError(message + f"type {dtype.name} of argument '{source}'.") from None
        raise TypeError(message + f"expected type of {dtype.name}.") from None


def _check_type(info, arg, tensor, values, given_by):
    base = tensor.dtype.base_dtype
    if arg.is_ref and not tensor.dtype._is_ref_dtype:
        raise TypeError(f"'{info.name}' Op requires that input '{arg.name}' be a mutable tensor (e.g.: a tf.Variable)")
    if arg.type_attr:
        if arg.type_attr not in values:
            allowed = info.attrs[arg.type_attr].allowed
            if allowed and int(base) not in allowed:
                names = ", ".join(dtypes.as_dtype(t).name for t in allowed)
                raise TypeError(f"Value passed to parameter '{arg.name}' has DataType {base.name} not in list of allowed "
                                f"values: {names}")
            values[arg.type_attr] = int(base)
            given_by[arg.type_attr] = arg.name


def _list_input(info, arg, value, values, given_by):
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Expected list for '{arg.name}' argument to '{info.name}' Op, not {value!r}.")
    dtype, preferred = _known_dtype(info, arg, values)
    if dtype is None:
        for v in value:
            if conversion.is_dense_tensor_like(v):
                dtype = v.dtype.base_dtype
                break
    tensors = []
    for i, v in enumerate(value):
        try:
            tensors.append(conversion.internal_convert_to_tensor(v, dtype, f"{arg.name}_{i}", arg.is_ref, preferred))
        except (TypeError, ValueError):
            found = [getattr(x, "dtype", None) for x in value]
            if any(t is None for t in found):
                raise
            names = ", ".join(t.base_dtype.name for t in found)
            raise TypeError(f"Tensors in list passed to '{arg.name}' of '{info.name}' Op have types [{names}] that don't "
                            f"all match.") from None
        dtype = dtype or tensors[-1].dtype.base_dtype
    number = values.setdefault(arg.number_attr, len(tensors))
    if number != len(tensors):
        raise ValueError(f"List argument '{arg.name}' to '{info.name}' Op with length {len(tensors)} must match length "
                         f"{number} of argument '{given_by.get(arg.number_attr)}'.")
    given_by[arg.number_attr] = given_by.get(arg.number_attr) or arg.name
    for tensor in tensors:
        _check_type(info, arg, tensor, values, given_by)
    return tensors


def _mixed_input(info, arg, value, values):
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Expected list for '{arg.name}' argument to '{info.name}' Op, not {value!r}.")
    known = values.get(arg.type_list_attr)
    default = info.attrs[arg.type_list_attr].default
    if known is None and default is not None and len(default[1]) == len(value):
        known = default[1]
    tensors = []
    for i, v in enumerate(value):
        dtype = dtypes.as_dtype(known[i]) if known is not None and i < len(known) else None
        tensors.append(conversion.internal_convert_to_tensor(v, dtype, f"{arg.name}_{i}", arg.is_ref))
    values[arg.type_list_attr] = [int(t.dtype.base_dtype) for t in tensors]
    return tensors


@functools.lru_cache(maxsize=None)
def result_type(op_type):
    """The namedtuple that wrappers of an op with several outputs return."""
    names = [re.sub(r"^_", "", a.name) for a in op_info(op_type).outputs]
    return collections.namedtuple(op_type.lstrip("_"), [n + "_" if keyword.iskeyword(n) else n for n in names])


def results(op):
    """The outputs of a node in the form that wrappers return."""
    info = op_info(op.type)
    if not info.outputs:
        return op
    grouped, at = [], 0
    for arg in info.outputs:
        if arg.number_attr:
            count = op.get_attr(arg.number_attr)
        elif arg.type_list_attr:
            count = len(op.get_attr(arg.type_list_attr))
        else:
            grouped.append(op.outputs[at])
            at += 1
            continue
        grouped.append(list(op.outputs[at:at + count]))
        at += count
    if len(grouped) == 1:
        if isinstance(grouped[0], list) and not grouped[0]:
            return op
        return grouped[0]
    return result_type(op.type)._make(grouped)


def make_wrapper(op_type, public_name):
    info = op_info(op_type)

    def wrapper(*args, **kwargs):
        name = kwargs.pop("name", None)
        if len(args) > len(info.parameters):
            if len(args) > len(info.parameters) + 1:
                raise TypeError(f"{public_name}() takes at most {len(info.parameters) + 1} arguments, not {len(args)}")
            name = args[-1]
            args = args[:-1]
        given = dict(zip(info.parameters, args))
        for key, value in kwargs.items():
            if key in given:
                raise TypeError(f"{public_name}() got multiple values for argument '{key}'")
            if key not in info.attrs and key not in info.parameters and not key.startswith("_"):
                raise TypeError(f"{public_name}() got an unexpected keyword argument '{key}'")
            given[key] = value
        missing = [a.name for a in info.inputs if a.name not in given]
        missing += [a for a in info.free_attrs if info.attrs[a].default is None and a not in given]
        if missing:
            raise TypeError(f"{public_name}() is missing the arguments {missing}")
        arguments = [given.pop(a.name) for a in info.inputs]
        return results(apply_op(op_type, arguments, given, name))

    wrapper.__name__ = wrapper.__qualname__ = public_name
    wrapper.__doc__ = f"{info.doc}\n\nArguments: {', '.join(info.parameters + ['name'])}"
    return wrapper


_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake_case(op_type):
    """"MatMul" -> "mat_mul", "IsVariableInitialized" -> "is_variable_initialized", "Conv2DBackpropInput" ->
    "conv2d_backprop_input"."""
    text = _BOUNDARY.sub("_", op_type).lower()
    return re.sub(r"_?(\d)_?d(?=_|$)", r"\1d", text)
