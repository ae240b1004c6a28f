// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/add_loop.h"

namespace millstream {

elementwise::LoopInfo<elementwise::BinaryLoop> AddLoop(DType dtype) {
  return elementwise::SelectBinary<AddFn>(NumberTypes{}, dtype);
}

}  // namespace millstream
