// SPDX-License-Identifier: Apache-2.0
// What nearly every file includes and no file of ours defines: parsed once per target by builds without a compiler
// cache (MILLSTREAM_PRECOMPILE). Headers of our own would bring names that meet those of files which do not include
// them.
#include <google/protobuf/message.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
