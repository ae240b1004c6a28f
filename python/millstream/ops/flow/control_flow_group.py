# SPDX-License-Identifier: Apache-2.0
"""group(): one node that waits for others. With nodes on several devices, one helper for each device keeps edges few."""
from millstream import gen_ops
from millstream.framework import ops


def _group_on_device(name, device, dependencies):
    with ops.control_dependencies(dependencies):
        if device:
            with ops.device(device):
                return gen_ops.no_op(name=name)
        return gen_ops.no_op(name=name)


def _operations(inputs):
    for item in inputs:
        if isinstance(item, (list, tuple)):
            yield from _operations(item)
        elif isinstance(item, dict):
            yield from _operations(item.values())
        elif item is not None:
            if not hasattr(item, "device"):
                raise TypeError(f"'inputs' should be zero or more (nested) Tensors. Received '{item}' with type '{type(item)}'.")
            yield item


def group(*inputs, **kwargs):
    """An Operation that ends when all inputs have."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    inputs = list(_operations(inputs))
    with ops.name_scope(name, "group_deps", inputs) as name:
        if not inputs:
            return gen_ops.no_op(name=name)
        by_device = {}
        for item in inputs:
            by_device.setdefault(item.device, []).append(item)
        if len(by_device) == 1:
            (device, dependencies), = by_device.items()
            return _group_on_device(name, device, dependencies)
        groups = []
        for device in sorted(by_device, key=lambda d: d or ""):
            groups.append(_group_on_device("NoOp", device, by_device[device]))
        with ops.control_dependencies(groups):
            return gen_ops.no_op(name=name)
