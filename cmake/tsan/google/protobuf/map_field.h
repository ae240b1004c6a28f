// SPDX-License-Identifier: Apache-2.0
// Under the thread sanitizer Protobuf's own header gives map fields two more members, which the distribution's library,
// built without it, does not have. This one, found first, hides the sanitizer from that header alone.
#pragma once

#include <atomic>
#include <functional>
#include <memory>  // the standard library must see the sanitizer
#include <mutex>

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include_next <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")
