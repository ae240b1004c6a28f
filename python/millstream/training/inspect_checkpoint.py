# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.tools.inspect_checkpoint: prints what a checkpoint holds."""
import math
import re


def print_tensors_in_checkpoint_file(file_name, tensor_name, all_tensors, all_tensor_names=False, count_exclude_pattern=""):
    """One tensor, all of them, or their names with types and shapes; and how many numbers there are in all."""
    from millstream.framework import errors
    from millstream.training import checkpoint_utils
    try:
        reader = checkpoint_utils.NewCheckpointReader(file_name)
    except errors.OpError as e:
        print(e.message)
        return
    types, shapes = reader.get_variable_to_dtype_map(), reader.get_variable_to_shape_map()
    if tensor_name and not all_tensors and not all_tensor_names and tensor_name not in shapes:
        print(f"Tensor {tensor_name} not found in checkpoint")
        return
    named = all_tensors or all_tensor_names or tensor_name
    for key in [tensor_name] if tensor_name and not all_tensors and not all_tensor_names else sorted(shapes):
        print(f"tensor: {key} ({types[key].name}) {list(shapes[key])}" if named else
              f"{key} ({types[key]}) {list(shapes[key])}")
        if all_tensors or key == tensor_name and not all_tensor_names:
            print(reader.get_tensor(key))
    counted = [s for name, s in shapes.items() if not count_exclude_pattern or not re.search(count_exclude_pattern, name)]
    print(f"# Total number of params: {sum(math.prod(s) for s in counted)}")
