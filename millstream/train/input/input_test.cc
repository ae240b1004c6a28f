// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/input/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "millstream/train/input/queue_runner.h"
#include "millstream/train/testing/small_model.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/variables.h"

namespace millstream::input {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class InputTest : public ::testing::Test {
 protected:
  // All values of `fetch`, of type T, until the queues are empty.
  template <typename T>
  std::vector<T> Drain(Output fetch) {
    Node* init = LocalVariablesInitializer(s);
    const auto session = SessionOf(s, init);
    Coordinator coordinator;
    StartQueueRunners(s, *session, coordinator);
    std::vector<T> values;
    Status status;
    while (status.ok()) {
      std::vector<Tensor> out;
      status = session->Run({}, {fetch.name()}, {}, &out);
      if (status.ok()) values.insert(values.end(), out[0].flat<T>().begin(), out[0].flat<T>().end());
      if (status.ok()) sizes.push_back(out[0].shape().rank() == 0 ? 1 : out[0].shape().dim(0));
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
    coordinator.RequestStop();
    EXPECT_TRUE(coordinator.Join().ok());
    return values;
  }

  const Scope s = Scope::Root();
  std::vector<int64_t> sizes;  // of the batches
};

TEST_F(InputTest, EpochsInOrder) {
  const Output queue =
      InputProducer(s, s.Const(Tensor::Vector<int32_t>({1, 2, 3})), {.num_epochs = 2, .shuffle = false});
  EXPECT_EQ(queue.node->name(), "input_producer/fifo_queue");
  const Output value = Dequeue(s, queue, DType::kInt32);
  EXPECT_THAT(Drain<int32_t>(value), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_EQ(s.Collection(graph_keys::kSummaries)[0].node->name(), "input_producer/fraction_of_32_full");
}

TEST_F(InputTest, BatchesOfSlices) {
  const Output xs = s.Const(Tensor::Of<float>(Shape({5, 2}), {0, 0, 1, 10, 2, 20, 3, 30, 4, 40}));
  const Output ys = s.Const(Tensor::Vector<int64_t>({0, 1, 2, 3, 4}));
  const std::vector<Output> row = SliceInputProducer(s, {xs, ys}, {.num_epochs = 1, .shuffle = false});
  ASSERT_EQ(row.size(), 2u);
  const std::vector<Output> batch = Batch(s, row, 2, {.allow_smaller_final_batch = true});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s.ShapeOf(batch[0]), PartialShape({-1, 2}));
  EXPECT_EQ(batch[0].node->name(), "batch");
  EXPECT_THAT(Drain<float>(batch[0]), ElementsAre(0, 0, 1, 10, 2, 20, 3, 30, 4, 40));
  EXPECT_THAT(sizes, ElementsAre(2, 2, 1));
}

TEST_F(InputTest, ShuffledBatchesHaveAll) {
  const Output queue = RangeInputProducer(s, s.Const<int32_t>(10), {.num_epochs = 1, .seed = 3});
  const Output number = Dequeue(s, queue, DType::kInt32, PartialShape(Shape()));
  const std::vector<Output> batch = ShuffleBatch(s, {number}, 5, 4, {.num_threads = 2, .capacity = 20}, 5);
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s.ShapeOf(batch[0]), PartialShape({5}));
  EXPECT_THAT(Drain<int32_t>(batch[0]), UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(InputTest, JoinsAndPads) {
  const auto source = [&](std::vector<int32_t> lengths) {
    const Output queue = InputProducer(s, s.Const(Tensor::Vector(lengths)), {.num_epochs = 1, .shuffle = false});
    const Output length = Dequeue(s, queue, DType::kInt32, PartialShape(Shape()));
    const Output dims = s.Op("ExpandDims", {length, s.Const<int32_t>(0)});
    return s.Op("Fill", {dims, length});
  };
  const std::vector<Output> batch = BatchJoin(s, {{source({1, 1})}, {source({3, 3})}}, 4, {.dynamic_pad = true});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s.ShapeOf(batch[0]), PartialShape({4, -1}));
  const std::vector<int32_t> all = Drain<int32_t>(batch[0]);
  ASSERT_EQ(all.size(), 12u);
  EXPECT_EQ(std::count(all.begin(), all.end(), 0), 4);
  EXPECT_EQ(std::count(all.begin(), all.end(), 3), 6);
}

// Files, a reader, and lines in batches: the whole pipeline.
TEST_F(InputTest, FilesToBatches) {
  const millstream::testing::TemporaryFolder folder;
  std::ofstream(folder / "a") << "1\n2\n";
  std::ofstream(folder / "b") << "3\n4\n";
  const Output queue = StringInputProducer(s, {folder / "a", folder / "b"}, {.num_epochs = 1, .shuffle = false});
  Node* read = s.Add("ReaderReadV2", {s.Op("TextLineReaderV2", {}), queue});
  ASSERT_NE(read, nullptr) << s.status();
  const Output number = s.Op("StringToNumber", {Output(read, 1)});
  EXPECT_THAT(Drain<float>(Batch(s, {number}, 2)[0]), ElementsAre(1, 2, 3, 4));
}

TEST_F(InputTest, RefusesWhatDoesNotFit) {
  const auto fails = [](const std::function<void(const Scope&)>& build) {
    const Scope at = Scope::Root();
    build(at);
    return at.status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(fails([](const Scope& at) { StringInputProducer(at, {}); }));
  EXPECT_TRUE(fails([](const Scope& at) { SliceInputProducer(at, {}); }));
  EXPECT_TRUE(fails([](const Scope& at) { StringInputProducer(at, {"a"}, {.num_epochs = 0}); }));
  EXPECT_TRUE(fails([](const Scope& at) { StringInputProducer(at, {"a"}, {.capacity = 0}); }));
  EXPECT_TRUE(fails([](const Scope& at) { Batch(at, {}, 2); }));
  EXPECT_TRUE(fails([](const Scope& at) { Batch(at, {at.Const(1.0f)}, 0); }));
  EXPECT_TRUE(fails([](const Scope& at) { ShuffleBatch(at, {at.Const(1.0f)}, 1, 32); }));
  EXPECT_TRUE(fails([](const Scope& at) { BatchJoin(at, {{at.Const(1.0f)}, {at.Const<int32_t>(1)}}, 1); }));
  EXPECT_TRUE(fails([](const Scope& at) {
    Batch(at, {at.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1})}})}, 1);
  }));
}

}  // namespace
}  // namespace millstream::input
