// SPDX-License-Identifier: Apache-2.0
// For fuzzers whose inputs are programs (a GraphDef each): defines the hook that changes one into another. Include this
// in the source of a fuzzer and nowhere else, as proto_fuzzer.h, whose hook comes along.
#ifndef MILLSTREAM_GRAPH_TESTING_PROGRAM_FUZZER_H_
#define MILLSTREAM_GRAPH_TESTING_PROGRAM_FUZZER_H_

#include "millstream/base/testing/proto_fuzzer.h"
#include "millstream/graph/testing/random_program.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  testing::ProtoMutator mutator(seed, &testing::ProgramWords());
  proto::GraphDef graph;
  const auto change = [&](testing::ProtoMutator* m) { return testing::ChangeProgram(m, &graph), true; };
  return testing::MutateMessage(data, size, max_size, &mutator, &graph, change, LLVMFuzzerMutate);
}

#endif  // MILLSTREAM_GRAPH_TESTING_PROGRAM_FUZZER_H_
