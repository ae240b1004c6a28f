// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DATA_IDX_H_
#define MILLSTREAM_DATA_IDX_H_

#include <string>

#include "millstream/base/status.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// Reads a file in the IDX format of the MNIST database (docs/formats/idx.md), gzipped or not. Only unsigned bytes are
// supported (type 8), as in all published sets. NotFound if it cannot be opened, DataLoss if it is cut short or
// malformed; at most `max_bytes` are taken.
StatusOr<Tensor> ReadIdx(const std::string& path, int64_t max_bytes = int64_t{4} << 30);

}  // namespace millstream

#endif  // MILLSTREAM_DATA_IDX_H_
