// SPDX-License-Identifier: Apache-2.0
// For fuzzers that parse messages: declares libFuzzer's mutator and defines the hook that runs before the first input.
// The hook is no inline function, which the compiler would drop: include this in the source of a fuzzer and nowhere
// else. (In the sources of testing/ it would end up in every fuzzer and test.)
#ifndef MILLSTREAM_BASE_TESTING_PROTO_FUZZER_H_
#define MILLSTREAM_BASE_TESTING_PROTO_FUZZER_H_

#include <cstddef>
#include <cstdint>

#include "google/protobuf/stubs/logging.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // it reports every string that is not UTF-8
  return 0;
}

#endif  // MILLSTREAM_BASE_TESTING_PROTO_FUZZER_H_
