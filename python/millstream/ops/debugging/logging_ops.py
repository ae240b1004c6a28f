# SPDX-License-Identifier: Apache-2.0
"""tf.Print and tf.print: values on the standard error output while a graph runs."""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops import nest

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor


def Print(input_: Any, data: Any, message: Any = None, first_n: Any = None, summarize: Any = None,
          name: Optional[str] = None) -> Tensor:  # pylint: disable=invalid-name
    """`input_`, printing the values of `data` when it is computed."""
    return gen_ops.print(input_, data, message=message or "", first_n=-1 if first_n is None else first_n,
                         summarize=3 if summarize is None else summarize, name=name)


def print_v2(*inputs: Any, **kwargs: Any) -> Any:
    """An operation that prints its inputs, separated by blanks."""
    stream = kwargs.pop("output_stream", sys.stderr)
    summarize = kwargs.pop("summarize", 3)
    sep, end, name = kwargs.pop("sep", " "), kwargs.pop("end", "\n"), kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    targets = {sys.stdout: "stdout", sys.stderr: "stderr"}
    where = stream if isinstance(stream, str) else targets.get(stream, "stderr")
    from millstream.ops.strings import string_ops
    parts = []
    for value in inputs:
        leaves = nest.flatten(value)
        if len(leaves) == 1 and ops.is_dense_tensor_like(leaves[0]):
            parts.append(string_ops.string_format("{}", leaves[0], summarize=summarize))
        elif isinstance(value, str):
            parts.append(ops.convert_to_tensor(value))
        elif any(ops.is_dense_tensor_like(v) for v in leaves):
            texts = nest.pack_sequence_as(value, ["{}"] * len(leaves))
            template = str(texts).replace("'{}'", "{}")
            parts.append(string_ops.string_format(template, [ops.convert_to_tensor(v) for v in leaves], summarize=summarize))
        else:
            parts.append(ops.convert_to_tensor(str(value)))
    text = gen_ops.string_join(parts, separator=sep) if len(parts) != 1 else parts[0]
    return gen_ops.print_v2(text, output_stream=where, end=end, name=name)
