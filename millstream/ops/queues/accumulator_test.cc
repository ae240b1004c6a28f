// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/queues/accumulator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

std::vector<float> Floats(const Tensor& t) { return {t.flat<float>().begin(), t.flat<float>().end()}; }

class AccumulatorTest : public ::testing::TestWithParam<std::string> {
 protected:
  static std::string Prefix() { return GetParam(); }
  Edge Make(const char* reduction = "MEAN", DType dtype = DType::kFloat) {
    maker_ =
        std::make_unique<OpRunner>(env_, Prefix() + "ConditionalAccumulator",
                                   std::vector<std::pair<std::string, AttrValue>>{
                                       {"dtype", dtype}, {"shape", PartialShape({2})}, {"reduction_type", reduction}});
    return (*maker_->Run({}))[0];
  }
  Status Apply(const Edge& a, int64_t step, Tensor g) {
    return apply_.Run({a, Tensor::Scalar<int64_t>(step), std::move(g)}).status();
  }
  int32_t Count(const Edge& a) { return count_.Value({a})->scalar<int32_t>(); }

  OpRunner::Env env_{2};
  std::unique_ptr<OpRunner> maker_;
  OpRunner apply_{env_, Prefix() + "AccumulatorApplyGradient", {{"dtype", DType::kFloat}}};
  OpRunner take_{env_, Prefix() + "AccumulatorTakeGradient", {{"dtype", DType::kFloat}}};
  OpRunner count_{env_, Prefix() + "AccumulatorNumAccumulated"};
  OpRunner set_step_{env_, Prefix() + "AccumulatorSetGlobalStep"};
};

TEST_P(AccumulatorTest, MeanAndSum) {
  for (const char* reduction : {"MEAN", "SUM"}) {
    const Edge a = Make(reduction);
    ASSERT_TRUE(Apply(a, 0, Tensor::Vector<float>({1, 2})).ok());
    ASSERT_TRUE(Apply(a, 0, Tensor::Vector<float>({3, 2})).ok());
    EXPECT_EQ(Count(a), 2);
    const bool mean = std::string(reduction) == "MEAN";
    EXPECT_EQ(Floats(*take_.Value({a, Tensor::Scalar<int32_t>(1)})),
              mean ? std::vector<float>({2, 2}) : std::vector<float>({4, 4}));
    EXPECT_EQ(Count(a), 0);
  }
}

TEST_P(AccumulatorTest, StaleGradientsAreDropped) {
  const Edge a = Make();
  ASSERT_TRUE(Apply(a, 0, Tensor::Vector<float>({1, 2})).ok());
  ASSERT_TRUE(take_.Run({a, Tensor::Scalar<int32_t>(1)}).ok());  // the global step is 1 now
  ASSERT_TRUE(Apply(a, 0, Tensor::Vector<float>({1, 2})).ok());
  EXPECT_EQ(Count(a), 0);
  ASSERT_TRUE(set_step_.Run({a, Tensor::Scalar<int64_t>(5)}).ok());
  ASSERT_TRUE(Apply(a, 4, Tensor::Vector<float>({1, 2})).ok());
  EXPECT_EQ(Count(a), 0);
  ASSERT_TRUE(Apply(a, 5, Tensor::Vector<float>({1, 2})).ok());
  EXPECT_EQ(Count(a), 1);
}

TEST_P(AccumulatorTest, ChecksItsInputs) {
  const Edge a = Make();
  EXPECT_EQ(Apply(a, 0, Tensor::Vector<float>({1, 2, 3})).message(), "Shape mismatch: expected [2], got [3]");
  EXPECT_EQ(take_.Run({a, Tensor::Scalar<int32_t>(0)}).status().message(), "Argument num_required must be positive");
  OpRunner ints(env_, Prefix() + "AccumulatorTakeGradient", {{"dtype", DType::kInt32}});
  EXPECT_EQ(ints.Run({a, Tensor::Scalar<int32_t>(1)}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(AccumulatorTest, TakesWaitAndCanBeCancelled) {
  const Edge a = Make();
  Notification first, second;
  StatusOr<std::vector<Edge>> result = std::vector<Edge>(), cancelled = std::vector<Edge>();
  take_.Start({a, Tensor::Scalar<int32_t>(2)}, [&](auto r) {
    result = std::move(r);
    first.Notify();
  });
  ASSERT_TRUE(Apply(a, 0, Tensor::Vector<float>({1, 2})).ok());
  ASSERT_TRUE(Apply(a, 0, Tensor::Vector<float>({3, 4})).ok());
  first.Wait();
  EXPECT_EQ(Floats((*result)[0].tensor), std::vector<float>({2, 3}));
  take_.Start({a, Tensor::Scalar<int32_t>(1)}, [&](auto r) {
    cancelled = std::move(r);
    second.Notify();
  });
  env_.cancellation.StartCancel();
  second.Wait();
  EXPECT_EQ(cancelled.status(), absl::CancelledError("TakeGrad operation was cancelled"));
  ASSERT_TRUE(Apply(a, 1, Tensor::Vector<float>({3, 4})).ok());
  EXPECT_EQ(Count(a), 1);
}

TEST_P(AccumulatorTest, SharedGradientsAreNotChanged) {
  const Edge a = Make();
  const Tensor mine = Tensor::Vector<float>({1, 2});
  ASSERT_TRUE(Apply(a, 0, mine).ok());
  ASSERT_TRUE(Apply(a, 0, mine).ok());
  EXPECT_EQ(Floats(mine), std::vector<float>({1, 2}));
}

TEST_P(AccumulatorTest, ManyWorkers) {
  const Edge a = Make("SUM");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(Apply(a, 1000, Tensor::Vector<float>({1, 2})).ok());
    });
  }
  EXPECT_EQ(take_.Value({a, Tensor::Scalar<int32_t>(1)}).status(), OkStatus());
  for (std::thread& t : threads) t.join();
}

INSTANTIATE_TEST_SUITE_P(Handles, AccumulatorTest, ::testing::Values("", "Resource"));

// Every round has one gradient of each thread, and what is taken is their exact sum or mean, whoever added them.
TEST(AccumulatorThreadsTest, RoundsOfManyThreadsAreExact) {
  constexpr int kThreads = 6, kRounds = 200;
  constexpr int64_t kElements = 10'000;
  for (const bool mean : {true, false}) {
    Accumulator::Options options;
    options.dtype = DType::kFloat;
    options.shape = PartialShape({kElements});
    options.mean = mean;
    const auto accumulator = MakeRef<Accumulator>(options);
    ThreadPool pool(3);
    std::atomic<int> round{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int mine = 0; mine < kRounds; ++mine) {
          while (round.load() < mine) std::this_thread::yield();
          Tensor gradient(DType::kFloat, Shape({kElements}));
          for (int64_t i = 0; i < kElements; ++i)
            gradient.data<float>()[i] = static_cast<float>((t + 1) * (i % 7) + mine);
          AccumulatedGradient g;
          g.values = std::move(gradient);
          if (!accumulator->Apply(mine, std::move(g), t % 2 == 0 ? &pool : nullptr).ok()) ++wrong;
        }
      });
    }
    for (int taken = 0; taken < kRounds; ++taken) {
      Notification done;
      accumulator->Take(kThreads, nullptr, nullptr, [&](StatusOr<AccumulatedGradient> result) {
        const float sum_of_threads = kThreads * (kThreads + 1) / 2;
        for (int64_t i = 0; i < kElements; ++i) {
          const float sum = sum_of_threads * static_cast<float>(i % 7) + static_cast<float>(kThreads * taken);
          if (result->values.data<float>()[i] != (mean ? sum / kThreads : sum)) ++wrong;
        }
        round.store(taken + 1);
        done.Notify();
      });
      done.Wait();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0) << (mean ? "mean" : "sum");
    EXPECT_EQ(accumulator->NumAccumulated(), 0);
  }
}

TEST(SparseAccumulatorTest, RowsAreAveragedByTheirOwnCounts) {
  OpRunner::Env env;
  OpRunner make(env, "SparseConditionalAccumulator", {{"dtype", DType::kFloat}, {"shape", PartialShape({3, 2})}});
  OpRunner apply(env, "SparseAccumulatorApplyGradient", {{"dtype", DType::kFloat}, {"has_known_shape", true}});
  OpRunner take(env, "SparseAccumulatorTakeGradient", {{"dtype", DType::kFloat}});
  const Edge a = (*make.Run({}))[0];
  const Tensor shape = Tensor::Vector<int64_t>({3, 2});
  const auto run = [&](Tensor indices, Tensor values, Tensor dense) {
    return apply.Run({a, Tensor::Scalar<int64_t>(0), std::move(indices), std::move(values), std::move(dense)}).status();
  };
  ASSERT_TRUE(run(Tensor::Vector<int64_t>({2, 0}), Tensor::Of<float>({2, 2}, {3, 4, 1, 2}), shape).ok());
  ASSERT_TRUE(run(Tensor::Vector<int64_t>({2}), Tensor::Of<float>({1, 2}, {1, 2}), shape).ok());
  for (const Status& bad :
       {run(Tensor::Vector<int64_t>({3}), Tensor::Of<float>({1, 2}, {1, 2}), shape),
        run(Tensor::Vector<int64_t>({-1}), Tensor::Of<float>({1, 2}, {1, 2}), shape),
        run(Tensor::Vector<int64_t>({0, 1}), Tensor::Of<float>({1, 2}, {1, 2}), shape),
        run(Tensor::Vector<int64_t>({0}), Tensor::Of<float>({1, 3}, {1, 2, 3}), shape),
        run(Tensor::Vector<int64_t>({0}), Tensor::Of<float>({1, 2}, {1, 2}), Tensor::Vector<int64_t>({4, 2})),
        run(Tensor::Scalar<int64_t>(0), Tensor::Of<float>({1, 2}, {1, 2}), shape),
        run(Tensor::Vector<int64_t>({0}), Tensor::Of<float>({1, 2}, {1, 2}), Tensor::Scalar<int64_t>(4))}) {
    EXPECT_EQ(bad.code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  const auto out = *take.Run({a, Tensor::Scalar<int32_t>(2)});
  EXPECT_EQ(out[0].tensor.data<int64_t>()[1], 2);
  EXPECT_EQ(Floats(out[1].tensor), std::vector<float>({1, 2, 2, 3}));
  EXPECT_EQ(out[2].tensor.data<int64_t>()[0], 3);
}

// As SyncReplicasOptimizer makes them.
TEST(SparseAccumulatorTest, ItsShapeIsOfTheLeadingDimensions) {
  OpRunner::Env env;
  for (const PartialShape& shape : {PartialShape(Shape()), PartialShape({3})}) {
    OpRunner make(env, "SparseConditionalAccumulator", {{"dtype", DType::kFloat}, {"shape", shape}});
    const Edge a = (*make.Run({}))[0];
    for (const bool known : {false, true}) {
      OpRunner apply(env, "SparseAccumulatorApplyGradient", {{"dtype", DType::kFloat}, {"has_known_shape", known}});
      const auto status = apply
                              .Run({a, Tensor::Scalar<int64_t>(0), Tensor::Vector<int64_t>({2}),
                                    Tensor::Of<float>({1, 2}, {3, 4}), Tensor::Vector<int64_t>({3, 2})})
                              .status();
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

}  // namespace
}  // namespace millstream
