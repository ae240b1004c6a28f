// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/softmax.h"

namespace millstream::math {

MILLSTREAM_SOFTMAX_INSTANCES(, float);
MILLSTREAM_SOFTMAX_INSTANCES(, double);

}  // namespace millstream::math
