# SPDX-License-Identifier: Apache-2.0
"""What a Saver saves: variables, slices of them, and objects that know how to save themselves."""
from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.variables import resource_variable_ops, variables


class SaveSpec:
    """One tensor of a checkpoint."""

    def __init__(self, tensor, slice_spec, name, dtype=None, device=None):
        self._tensor, self.slice_spec, self.name = tensor, slice_spec, name
        self.dtype = tensor.dtype if dtype is None else dtype
        self.device = device if device is not None else getattr(tensor, "device", None)

    @property
    def tensor(self):
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """Users derive from it to save other state: `specs` is what to save; restore() says what to do with what was read."""

    def __init__(self, op, specs, name):
        self.op, self.specs, self.name = op, specs, name

    @property
    def device(self):
        return self.specs[0].device

    def restore(self, restored_tensors, restored_shapes):
        raise ValueError("Calling an abstract method.")


class RefSaveable(SaveableObject):
    def __init__(self, var, slice_spec, name):
        tensor = var._ref() if isinstance(var, variables.Variable) else var
        super().__init__(tensor, [SaveSpec(tensor, slice_spec, name, dtype=tensor.dtype)], name)

    def restore(self, restored_tensors, restored_shapes):
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = gen_ops.reshape(value, restored_shapes[0])
        check = restored_shapes is None and self.op.get_shape().is_fully_defined()
        return gen_ops.assign(self.op, value, validate_shape=check)


class ResourceSaveable(SaveableObject):
    def __init__(self, var, slice_spec, name):
        self._variable = var
        tensor = var._graph_element
        super().__init__(var, [SaveSpec(tensor, slice_spec, name, dtype=var.dtype, device=var.device)], name)

    def restore(self, restored_tensors, restored_shapes):
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = gen_ops.reshape(value, restored_shapes[0])
        if hasattr(self._variable, "restore_all"):  # copies on several devices
            return self._variable.restore_all(value)
        with ops.device(self._variable.device):
            return gen_ops.assign_variable_op(self._variable.handle, gen_ops.identity(value))


def _of_variable(name, var, slice_spec=""):
    if isinstance(var, SaveableObject):
        return var
    if resource_variable_ops.is_resource_variable(var):
        return ResourceSaveable(var, slice_spec, name)
    if not isinstance(var, (variables.Variable, ops.Tensor)) or not var.dtype._is_ref_dtype:
        raise TypeError("names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: "
                        f"{var}")
    return RefSaveable(var, slice_spec, name)


def _key(var):
    """The name in checkpoints: of the whole variable for a slice."""
    info = getattr(var, "_save_slice_info", None)
    return info.full_name if info is not None else var.op.name


def op_list_to_dict(op_list):
    """Names in the checkpoint to variables; slices of one variable share a name and are in a list."""
    if not isinstance(op_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {op_list}")
    names = {}
    for var in sorted(op_list, key=lambda v: v.name) if isinstance(op_list, set) else op_list:
        if isinstance(var, SaveableObject):
            names[var.name] = var
        elif hasattr(var, "_get_variable_list"):
            names.setdefault(var.name, []).extend(var._get_variable_list())
        elif isinstance(var, variables.Variable) and var._save_slice_info is not None:
            names.setdefault(_key(var), []).append(var)
        else:
            if not isinstance(var, (variables.Variable, ops.Tensor)):
                raise TypeError(f"Variable to save is not a Variable: {var}")
            if var.op.name in names:
                raise ValueError(f"At least two variables have the same name: {var.op.name}")
            names[var.op.name] = var
    return names


def validate_and_slice(var_list):
    """SaveableObjects by name, from a list or dict of variables."""
    names = var_list if isinstance(var_list, dict) else op_list_to_dict(var_list)
    out, seen = [], {}
    for name in sorted(names):
        if not isinstance(name, str):
            raise TypeError(f"names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a name: {name}")
        item = names[name]
        parts = item._get_variable_list() if hasattr(item, "_get_variable_list") else item
        if isinstance(parts, (list, tuple)):
            slices = [_of_variable(name, v, v._get_save_slice_info().spec) for v in parts]
        else:
            info = getattr(parts, "_save_slice_info", None)
            slices = [_of_variable(name, parts, "" if info is None else info.spec)]
        for saveable in slices:
            key = id(saveable.op)
            if key in seen:
                raise ValueError(f"The same saveable will be restored with two names: {name}")
            seen[key] = saveable
            out.append(saveable)
    return out
