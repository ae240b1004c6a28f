// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/input/input.h"

#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

using input::BatchOptions;
using input::ProducerOptions;

void Slices(const Scope& s, ProducerOptions options) {
  options.seed = 3;
  Tensor numbers(DType::kFloat, Shape({3, 2}));
  for (size_t i = 0; i < 6; ++i) numbers.flat<float>()[i] = static_cast<float>(i);
  const Output rows = s.Const(numbers);
  input::SliceInputProducer(s, {rows, s.Const(Tensor::Vector<int64_t>({0, 1, 2}))}, options);
}

std::vector<Output> Example(const Scope& s) {
  const Output x = Placeholder(s, "x", PartialShape({4}));
  return {x, Placeholder(s, "label", PartialShape(Shape()), DType::kInt64)};
}

Program Batched(const std::string& name, const BatchOptions& options) {
  return {name, [options](const Scope& s) { input::Batch(s, Example(s), 8, options); }};
}

Program Shuffled(const std::string& name, BatchOptions options) {
  options.capacity = 64;
  return {name, [options](const Scope& s) { input::ShuffleBatch(s, Example(s), 8, 16, options, 3); }};
}

void Joined(const Scope& s) {
  const std::vector<Output> first = Example(s);
  input::BatchJoin(s, {first, Example(s)}, 8);
  const std::vector<Output> third = Example(s);
  input::ShuffleBatchJoin(s, {third, Example(s)}, 8, 16, {.capacity = 64}, 3);
}

}  // namespace

Programs InputPrograms() {
  return {
      {"strings",
       [](const Scope& s) {
         input::StringInputProducer(s, {"a", "b"}, {.seed = 3});
       }},
      {"strings.in_order",
       [](const Scope& s) {
         input::StringInputProducer(s, {"a", "b"}, {.num_epochs = 2, .shuffle = false});
       }},
      {"slices", [](const Scope& s) { Slices(s, {}); }},
      {"slices.epochs", [](const Scope& s) { Slices(s, {.num_epochs = 3}); }},
      {"range",
       [](const Scope& s) {
         const Output queue = input::RangeInputProducer(s, s.Const<int32_t>(5), {.num_epochs = 2, .shuffle = false});
         input::Dequeue(s, queue, DType::kInt32);
       }},
      Batched("batch", {}),
      Batched("batch.many_threads", {.num_threads = 3, .capacity = 100, .shared_name = "shared", .name = "fed"}),
      Batched("batch.smaller", {.allow_smaller_final_batch = true}),
      {"batch.padded",
       [](const Scope& s) { input::Batch(s, {Placeholder(s, "x", PartialShape({-1}))}, 8, {.dynamic_pad = true}); }},
      Shuffled("shuffle_batch", {}),
      Shuffled("shuffle_batch.smaller", {.num_threads = 2, .allow_smaller_final_batch = true}),
      {"joined", Joined},
  };
}

}  // namespace millstream::twins
