// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

using Attributes = std::vector<std::pair<std::string, AttrValue>>;
using Result = StatusOr<std::vector<Edge>>;

// An operation that was started and may wait.
class Pending {
 public:
  Pending(OpRunner& op, std::vector<Edge> inputs) {
    op.Start(std::move(inputs), [state = state_](Result result) {
      state->result = std::move(result);
      state->done = true;
      state->finished.Notify();
    });
  }
  bool done() const { return state_->done; }
  const Result& Wait() {
    state_->finished.Wait();
    return state_->result;
  }

 private:
  struct State {
    Notification finished;
    std::atomic<bool> done{false};
    Result result = std::vector<Edge>();
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class QueueTest : public ::testing::Test {
 protected:
  Edge Make(const std::string& op, Attributes attrs, std::vector<DType> types = {DType::kInt32}) {
    attrs.push_back({"component_types", std::move(types)});
    makers_.push_back(std::make_unique<OpRunner>(env_, op, attrs, "q"));
    auto out = makers_.back()->Run({});
    EXPECT_TRUE(out.ok()) << out.status();
    return (*out)[0];
  }
  static AttrValue Scalars() { return std::vector<PartialShape>{PartialShape(Shape())}; }
  static Tensor Int(int32_t x) { return Tensor::Scalar<int32_t>(x); }
  static std::vector<int32_t> Ints(const Tensor& t) { return {t.flat<int32_t>().begin(), t.flat<int32_t>().end()}; }

  OpRunner::Env env_{2};
  std::vector<std::unique_ptr<OpRunner>> makers_;
  const AttrValue types_ = std::vector<DType>{DType::kInt32};
  OpRunner enqueue_{env_, "QueueEnqueueV2", {{"Tcomponents", types_}}};
  OpRunner enqueue_many_{env_, "QueueEnqueueManyV2", {{"Tcomponents", types_}}};
  OpRunner dequeue_{env_, "QueueDequeueV2", {{"component_types", types_}}};
  OpRunner dequeue_many_{env_, "QueueDequeueManyV2", {{"component_types", types_}}};
  OpRunner dequeue_up_to_{env_, "QueueDequeueUpToV2", {{"component_types", types_}}};
  OpRunner close_{env_, "QueueCloseV2"};
  OpRunner close_and_cancel_{env_, "QueueCloseV2", {{"cancel_pending_enqueues", true}}};
  OpRunner size_{env_, "QueueSizeV2"};
};

TEST_F(QueueTest, FirstInFirstOut) {
  const Edge q = Make("FIFOQueueV2", {{"shapes", Scalars()}});
  ASSERT_TRUE(enqueue_.Run({q, Int(1)}).ok());
  ASSERT_TRUE(enqueue_many_.Run({q, Tensor::Vector<int32_t>({2, 3, 4})}).ok());
  EXPECT_EQ(size_.Value({q})->scalar<int32_t>(), 4);
  EXPECT_EQ(dequeue_.Value({q})->scalar<int32_t>(), 1);
  EXPECT_EQ(Ints(*dequeue_many_.Value({q, Int(3)})), std::vector<int32_t>({2, 3, 4}));
  EXPECT_EQ(dequeue_many_.Value({q, Int(0)})->shape(), Shape({0}));
}

TEST_F(QueueTest, StringHandles) {
  const Edge q = Make("FIFOQueue", {{"shapes", Scalars()}});
  ASSERT_TRUE(q.ref);
  OpRunner enqueue(env_, "QueueEnqueue", {{"Tcomponents", types_}}),
      dequeue(env_, "QueueDequeue", {{"component_types", types_}});
  OpRunner is_closed(env_, "QueueIsClosed");
  ASSERT_TRUE(enqueue.Run({q, Int(7)}).ok());
  EXPECT_EQ(dequeue.Value({q})->scalar<int32_t>(), 7);
  EXPECT_FALSE(is_closed.Value({q})->scalar<bool>());
}

TEST_F(QueueTest, ErrorsOfAClosedQueue) {
  const Edge q = Make("FIFOQueueV2", {{"shapes", Scalars()}});
  ASSERT_TRUE(enqueue_many_.Run({q, Tensor::Vector<int32_t>({1, 2})}).ok());
  ASSERT_TRUE(close_.Run({q}).ok());
  EXPECT_EQ(close_.Run({q}).status(), absl::CancelledError("Queue '_0_q' is already closed."));
  EXPECT_EQ(enqueue_.Run({q, Int(1)}).status(), absl::CancelledError("FIFOQueue '_0_q' is closed."));
  EXPECT_EQ(dequeue_many_.Run({q, Int(5)}).status(),
            absl::OutOfRangeError("FIFOQueue '_0_q' is closed and has insufficient "
                                  "elements (requested 5, current size 2)"));
  EXPECT_EQ(Ints(*dequeue_up_to_.Value({q, Int(5)})), std::vector<int32_t>({1, 2}));
  EXPECT_EQ(dequeue_.Run({q}).status(), absl::OutOfRangeError("FIFOQueue '_0_q' is closed and has insufficient "
                                                              "elements (requested 1, current size 0)"));
}

TEST_F(QueueTest, ChecksTypesAndShapes) {
  const Edge q = Make("FIFOQueueV2", {{"shapes", Scalars()}}), any = Make("FIFOQueueV2", {});
  EXPECT_EQ(enqueue_.Run({q, Tensor::Vector<int32_t>({1})}).status().message(),
            "Shape mismatch in tuple component 0. Expected [], got [1]");
  EXPECT_EQ(enqueue_many_.Run({q, Int(1)}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(dequeue_many_.Run({q, Int(-1)}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(dequeue_many_.Run({any, Int(1)}).status().message(),
            "FIFOQueue's DequeueMany and DequeueUpTo require the components to "
            "have specified shapes.");
  OpRunner floats(env_, "QueueEnqueueV2", {{"Tcomponents", std::vector<DType>{DType::kFloat}}});
  EXPECT_EQ(floats.Run({q, Tensor::Scalar<float>(1)}).status().code(), absl::StatusCode::kInvalidArgument);
  OpRunner timed(env_, "QueueDequeueV2", {{"component_types", types_}, {"timeout_ms", 5}});
  EXPECT_EQ(timed.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(QueueTest, SharedQueuesMustAgree) {
  Make("FIFOQueueV2", {{"shared_name", "s"}, {"capacity", 10}});
  OpRunner other(env_, "FIFOQueueV2", {{"shared_name", "s"}, {"capacity", 11}, {"component_types", types_}});
  EXPECT_EQ(other.Run({}).status().message(), "Shared queue 's' has capacity 10 but requested capacity was 11");
  OpRunner kind(env_, "RandomShuffleQueueV2", {{"shared_name", "s"}, {"capacity", 10}, {"component_types", types_}});
  EXPECT_EQ(kind.Run({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(QueueTest, OperationsWaitForRoomAndForElements) {
  const Edge q = Make("FIFOQueueV2", {{"shapes", Scalars()}, {"capacity", 2}});
  Pending taker(dequeue_many_, {q, Int(5)});  // more than the capacity
  EXPECT_FALSE(taker.done());
  ASSERT_TRUE(enqueue_many_.Run({q, Tensor::Vector<int32_t>({1, 2, 3, 4, 5, 6, 7})}).ok());
  EXPECT_EQ(Ints((*taker.Wait())[0].tensor), std::vector<int32_t>({1, 2, 3, 4, 5}));
  Pending adder(enqueue_, {q, Int(8)});
  EXPECT_FALSE(adder.done());
  Pending closer(close_, {q});  // after the pending enqueue
  EXPECT_FALSE(closer.done());
  EXPECT_EQ(dequeue_.Value({q})->scalar<int32_t>(), 6);
  EXPECT_TRUE(adder.Wait().ok());
  EXPECT_TRUE(closer.Wait().ok());
  EXPECT_EQ(Ints(*dequeue_many_.Value({q, Int(2)})), std::vector<int32_t>({7, 8}));
}

TEST_F(QueueTest, CloseCancelsPendingEnqueues) {
  const Edge q = Make("FIFOQueueV2", {{"capacity", 1}});
  ASSERT_TRUE(enqueue_.Run({q, Int(1)}).ok());
  Pending adder(enqueue_, {q, Int(2)});
  ASSERT_TRUE(close_and_cancel_.Run({q}).ok());
  EXPECT_EQ(adder.Wait().status(), absl::CancelledError("Enqueue operation was cancelled"));
  EXPECT_EQ(dequeue_.Value({q})->scalar<int32_t>(), 1);
}

TEST_F(QueueTest, CloseEndsWaitingDequeuesAndKeepsTheirElements) {
  const Edge q = Make("FIFOQueueV2", {{"shapes", Scalars()}});
  Pending taker(dequeue_many_, {q, Int(3)}), up_to(dequeue_up_to_, {q, Int(3)});
  ASSERT_TRUE(enqueue_.Run({q, Int(1)}).ok());
  ASSERT_TRUE(close_.Run({q}).ok());
  EXPECT_EQ(taker.Wait().status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Ints((*up_to.Wait())[0].tensor), std::vector<int32_t>({1}));
}

TEST_F(QueueTest, CancelledDequeueGivesBackWhatItTook) {
  const Edge q = Make("FIFOQueueV2", {{"shapes", Scalars()}});
  OpRunner::Env other(1);
  OpRunner many(other, "QueueDequeueManyV2", {{"component_types", types_}});
  Pending taker(many, {q, Int(3)});
  ASSERT_TRUE(enqueue_many_.Run({q, Tensor::Vector<int32_t>({1, 2})}).ok());
  other.cancellation.StartCancel();
  EXPECT_EQ(taker.Wait().status(), absl::CancelledError("Dequeue operation was cancelled"));
  EXPECT_EQ(Ints(*dequeue_many_.Value({q, Int(2)})), std::vector<int32_t>({1, 2}));
  EXPECT_EQ(many.Run({q, Int(3)}).status().code(),
            absl::StatusCode::kCancelled);  // a step that is over
}

TEST_F(QueueTest, SharedQueuesMustHaveTheSeedsAskedFor) {
  Make("RandomShuffleQueueV2", {{"shared_name", "s"}, {"seed", 3}, {"seed2", 4}});
  OpRunner other(env_, "RandomShuffleQueueV2", {{"shared_name", "s"}, {"seed", 5}, {"component_types", types_}});
  EXPECT_EQ(other.Run({}).status().message(),
            "Shared queue 's' has random seeds (3, 4) but requested seeds are (5, 0).");
  OpRunner any(env_, "RandomShuffleQueueV2", {{"shared_name", "s"}, {"component_types", types_}});
  EXPECT_TRUE(any.Run({}).ok());
}

TEST_F(QueueTest, ShufflesAsTensorFlow) {
  const Edge q = Make("RandomShuffleQueueV2",
                      {{"shapes", Scalars()}, {"capacity", 10}, {"min_after_dequeue", 2}, {"seed", 3}, {"seed2", 4}});
  ASSERT_TRUE(enqueue_many_.Run({q, Tensor::Vector<int32_t>({0, 1, 2, 3, 4, 5, 6, 7})}).ok());
  EXPECT_EQ(Ints(*dequeue_many_.Value({q, Int(6)})), std::vector<int32_t>({1, 3, 5, 4, 6, 7}));
  Pending waits(dequeue_, {q});
  EXPECT_FALSE(waits.done());
  ASSERT_TRUE(close_.Run({q}).ok());
  EXPECT_EQ((*waits.Wait())[0].tensor.scalar<int32_t>(), 2);
  EXPECT_EQ(dequeue_.Value({q})->scalar<int32_t>(), 0);
}

TEST_F(QueueTest, PadsBatches) {
  const Edge q = Make("PaddingFIFOQueueV2", {{"shapes", std::vector<PartialShape>{PartialShape({-1, 2})}}});
  ASSERT_TRUE(enqueue_.Run({q, Tensor::Of<int32_t>({1, 2}, {1, 2})}).ok());
  ASSERT_TRUE(enqueue_.Run({q, Tensor::Of<int32_t>({2, 2}, {3, 4, 5, 6})}).ok());
  const Tensor batch = *dequeue_many_.Value({q, Int(2)});
  EXPECT_EQ(batch.shape(), Shape({2, 2, 2}));
  EXPECT_EQ(Ints(batch), std::vector<int32_t>({1, 2, 0, 0, 3, 4, 5, 6}));
  OpRunner bad(env_, "PaddingFIFOQueueV2", {{"component_types", types_}});
  EXPECT_EQ(bad.status().message(),
            "Shapes must be provided for all components, but received 1 dtypes "
            "and 0 shapes.");
}

TEST_F(QueueTest, PriorityComesFirst) {
  const Edge q = Make("PriorityQueueV2", {{"shapes", Scalars()}}, {DType::kString});
  const AttrValue types = std::vector<DType>{DType::kInt64, DType::kString};
  OpRunner many(env_, "QueueEnqueueManyV2", {{"Tcomponents", types}}),
      take(env_, "QueueDequeueV2", {{"component_types", types}});
  ASSERT_TRUE(many.Run({q, Tensor::Vector<int64_t>({3, 1, 3}), Tensor::Vector<std::string>({"c", "a", "d"})}).ok());
  for (const char* expected : {"a", "c", "d"}) EXPECT_EQ((*take.Run({q}))[1].tensor.scalar<std::string>(), expected);
}

TEST_F(QueueTest, ABatchByPriorityIsTakenAtOnce) {
  const Edge q = Make("PriorityQueueV2", {{"shapes", Scalars()}}, {DType::kString});
  const AttrValue types = std::vector<DType>{DType::kInt64, DType::kString};
  OpRunner put(env_, "QueueEnqueueV2", {{"Tcomponents", types}}),
      take(env_, "QueueDequeueManyV2", {{"component_types", types}});
  StatusOr<std::vector<Edge>> batch = errors::Internal("not run");
  Notification taken;
  take.Start({q, Int(3)}, [&](StatusOr<std::vector<Edge>> result) {  // waits: the queue is empty
    batch = std::move(result);
    taken.Notify();
  });
  for (const char* name : {"c", "a", "b"}) {
    EXPECT_FALSE(taken.HasBeenNotified());
    ASSERT_TRUE(put.Run({q, Tensor::Scalar<int64_t>(name[0]), Tensor::Scalar<std::string>(name)}).ok());
  }
  taken.Wait();
  ASSERT_TRUE(batch.ok()) << batch.status();
  const Tensor& names = (*batch)[1].tensor;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(names.data<std::string>()[i], std::string(1, static_cast<char>('a' + i)));
}

// As TensorFlow documents it; 2.21 ends such a call with OutOfRange, and the elements are lost.
TEST_F(QueueTest, AClosedQueueByPriorityGivesWhatIsLeft) {
  const Edge q = Make("PriorityQueueV2", {{"shapes", Scalars()}}, {DType::kString});
  const AttrValue types = std::vector<DType>{DType::kInt64, DType::kString};
  OpRunner many(env_, "QueueEnqueueManyV2", {{"Tcomponents", types}}),
      take(env_, "QueueDequeueUpToV2", {{"component_types", types}});
  ASSERT_TRUE(many.Run({q, Tensor::Vector<int64_t>({3, 1}), Tensor::Vector<std::string>({"c", "a"})}).ok());
  ASSERT_TRUE(close_.Run({q}).ok());
  const StatusOr<std::vector<Edge>> rest = take.Run({q, Int(3)});
  ASSERT_TRUE(rest.ok()) << rest.status();
  const Tensor& names = (*rest)[1].tensor;
  ASSERT_EQ(names.shape(), Shape({2}));
  EXPECT_EQ(names.data<std::string>()[0], "a");
  EXPECT_EQ(names.data<std::string>()[1], "c");
  EXPECT_TRUE(absl::IsOutOfRange(take.Run({q, Int(1)}).status()));
}

TEST_F(QueueTest, ManyThreadsLoseNothing) {
  const Edge q = Make("FIFOQueueV2", {{"shapes", Scalars()}, {"capacity", 3}});
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) EXPECT_TRUE(enqueue_.Run({q, Int(t * 300 + i)}).ok());
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const auto out = dequeue_many_.Value({q, Int(3)});
        ASSERT_TRUE(out.ok()) << out.status();
        for (const int32_t x : Ints(*out)) sum += x;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(sum, 900 * 899 / 2);
}

TEST_F(QueueTest, AQueueWithoutASharedNameEndsWithItsKernel) {
  OpRunner::Env env;
  Edge q{Tensor()};
  {
    OpRunner maker(env, "FIFOQueueV2", {{"component_types", types_}});
    q = (*maker.Run({}))[0];
    EXPECT_TRUE(q.tensor.scalar<ResourceHandle>().resource->alive());
  }
  EXPECT_FALSE(q.tensor.scalar<ResourceHandle>().resource->alive());
}

}  // namespace
}  // namespace millstream
