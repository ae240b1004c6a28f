// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_PYTHON_SRC_ARRAYS_H_
#define MILLSTREAM_PYTHON_SRC_ARRAYS_H_

#include <nanobind/nanobind.h>

#include "millstream/tensor/tensor.h"

namespace millstream::python {

// Tensors from and to NumPy arrays. All of it needs the GIL.

// A copy of `array`, whose elements may be laid out in any way. Strings come as object arrays of bytes or str, or as
// arrays of kind S or U. Throws TypeError for a NumPy type that we do not have. `dtype` tells types apart that NumPy
// holds in the same way (bfloat16, quantized); kInvalid takes what fits the array.
Tensor TensorFromArray(nanobind::handle array, DType dtype = DType::kInvalid);

// `array` itself as a tensor, without a copy, if its elements lie as ours do; otherwise as TensorFromArray(). The
// caller sees to it that nobody keeps the tensor beyond the step or writes to it. The array is let go of by
// ReleaseArrays().
Tensor TensorOverArray(nanobind::handle array, DType dtype);
// Drops the references to arrays whose tensors are gone; those may end in threads that must not wait for the GIL.
void ReleaseArrays();

// An array with the value of `tensor`: without a copy if nobody else holds its buffer, otherwise a copy. Scalars become
// NumPy scalars (strings: bytes) if `scalars`. Handles and variants become opaque objects that can be fed again.
nanobind::object ArrayFromTensor(Tensor tensor, bool scalars);

// A tensor of handles or variants, as Python sees it.
struct OpaqueTensor {
  Tensor tensor;
};

void BindArrays(nanobind::module_& m);

}  // namespace millstream::python

#endif  // MILLSTREAM_PYTHON_SRC_ARRAYS_H_
