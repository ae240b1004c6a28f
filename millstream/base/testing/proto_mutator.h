// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_TESTING_PROTO_MUTATOR_H_
#define MILLSTREAM_BASE_TESTING_PROTO_MUTATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace millstream::testing {

// Changes messages at random and keeps them messages: a fuzzer that changes bytes seldom gets past the parser. The same
// seed makes the same changes, but for messages with maps, whose order differs from process to process.
class ProtoMutator {
 public:
  // `words` are strings worth trying; borrowed.
  ProtoMutator(uint32_t seed, const std::vector<std::string>* words) : random_(seed), words_(words) {}

  // Changes one field somewhere in `message`: sets, clears, adds, removes, swaps, or copies from elsewhere in it.
  void Mutate(google::protobuf::Message* message);
  // Puts a part of `other` in the place of a part of the same type, or beside it.
  void Cross(const google::protobuf::Message& other, google::protobuf::Message* message);

  // In [0, n).
  int Below(int n) { return n <= 1 ? 0 : static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  uint32_t Next() { return static_cast<uint32_t>(random_()); }
  // A change of `old`, a word, or a string that stands elsewhere; characters that are made up have only bits of `mask`.
  std::string AnyString(const std::string& old, uint8_t mask);

 private:
  using Message = google::protobuf::Message;
  using Field = google::protobuf::FieldDescriptor;

  void MutateField(Message* message, const Field* field);
  void MutateRepeated(Message* message, const Field* field);
  void AddElement(Message* message, const Field* field);
  // Sets a single value, or the element `index` of a repeated one.
  void SetScalar(Message* message, const Field* field, int index);
  // Fills a message: with a copy of another of its type, or with one field set.
  void Fill(Message* message);
  int64_t AnyInteger();
  double AnyReal();

  std::minstd_rand random_;
  const std::vector<std::string>* words_;
  std::vector<const Message*> donors_;  // whose parts may be copied
};

// The body of LLVMFuzzerCustomMutator for inputs that are one message: `message` is where it is parsed; `change` (may
// be null) changes it in a way that only the fuzzer knows and says whether it did; `raw` is LLVMFuzzerMutate.
size_t MutateMessage(uint8_t* data, size_t size, size_t max_size, ProtoMutator* mutator,
                     google::protobuf::Message* message, const std::function<bool(ProtoMutator*)>& change,
                     size_t (*raw)(uint8_t*, size_t, size_t));

}  // namespace millstream::testing

#endif  // MILLSTREAM_BASE_TESTING_PROTO_MUTATOR_H_
