// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/reduce.h"

namespace millstream::math {

MILLSTREAM_ALL_REDUCE_INSTANCES()

}  // namespace millstream::math
