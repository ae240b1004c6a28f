// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/partial_exchange.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

TEST(PartialExchangeTest, NumbersOfNodesAreChecked) {
  const auto exchange = MakeRef<PartialExchange>(2, 1);
  for (const size_t i : {size_t{2}, size_t{1} << 40, static_cast<size_t>(-1)}) {
    Status status;
    exchange->WaitForFeed(i, [&](const Status& s, const Tensor&) { status = s; });
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(absl::IsInvalidArgument(exchange->PutFetch(i, Tensor::Scalar(1.f))));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(exchange->PutFetch(1, Tensor::Scalar(1.f))));
}

TEST(PartialExchangeTest, OneNodeWaitsForAFeed) {
  const auto exchange = MakeRef<PartialExchange>(1, 1);
  Status first = errors::Internal("not called"), second = first;
  exchange->WaitForFeed(0, [&](const Status& s, const Tensor&) { first = s; });
  exchange->WaitForFeed(0, [&](const Status& s, const Tensor&) { second = s; });
  EXPECT_TRUE(absl::IsInvalidArgument(second)) << second;
  exchange->PutFeed(0, Tensor::Scalar(2.f));
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_TRUE(exchange->PutFetch(0, Tensor::Scalar(3.f)).ok());
  EXPECT_EQ(exchange->WaitForFetch(0)->scalar<float>(), 3.f);
}

}  // namespace
}  // namespace millstream
