# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.tools.inspect_checkpoint: prints what a checkpoint holds."""


def print_tensors_in_checkpoint_file(file_name, tensor_name, all_tensors, all_tensor_names=False, count_exclude_pattern=""):
    """One tensor, all of them, or their names with types and shapes."""
    from millstream.framework import errors
    from millstream.training import checkpoint_utils
    try:
        reader = checkpoint_utils.NewCheckpointReader(file_name)
    except errors.OpError as e:
        print(e)
        return
    if not all_tensors and not all_tensor_names and tensor_name:
        print("tensor_name: ", tensor_name)
        print(reader.get_tensor(tensor_name))
        return
    types, shapes = reader.get_variable_to_dtype_map(), reader.get_variable_to_shape_map()
    for key in sorted(shapes):
        if all_tensors or all_tensor_names:
            print(f"tensor: {key} ({types[key].name}) {list(shapes[key])}")
            if all_tensors:
                print(reader.get_tensor(key))
        else:
            print(f"{key} ({types[key]}) {list(shapes[key])}")
