// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/random/random.h"

namespace millstream::math {

MILLSTREAM_RANDOM_INSTANCES(, float);
MILLSTREAM_RANDOM_INSTANCES(, double);
MILLSTREAM_RANDOM_INT_INSTANCES(, int32_t);
MILLSTREAM_RANDOM_INT_INSTANCES(, int64_t);

}  // namespace millstream::math
