// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/conv/pool_inl.h"

namespace millstream::math {

MILLSTREAM_POOL_INSTANCES(, float)
MILLSTREAM_POOL_INSTANCES(, double)

}  // namespace millstream::math
