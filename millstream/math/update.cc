// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/update.h"

namespace millstream::math {

MILLSTREAM_UPDATE_INSTANCES(, float);
MILLSTREAM_UPDATE_INSTANCES(, double);

}  // namespace millstream::math
