// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/layout.h"

#include <gtest/gtest.h>

namespace millstream::cuda {
namespace {

constexpr size_t kMb = 1 << 20;
const std::vector<size_t> kTwo = {1000 * kMb, 500 * kMb};

AcceleratorOptions Visible(const char* list) {
  AcceleratorOptions options;
  options.visible_devices = list;
  return options;
}
AcceleratorOptions Fraction(double fraction) {
  AcceleratorOptions options;
  options.memory_fraction = fraction;
  return options;
}
AcceleratorOptions Virtual(std::vector<std::vector<int64_t>> limits, const char* visible = "") {
  AcceleratorOptions options = Visible(visible);
  options.virtual_memory_mb = std::move(limits);
  return options;
}

std::vector<DevicePlace> Places(const AcceleratorOptions& options) {
  StatusOr<std::vector<DevicePlace>> places = LayOut(options, kTwo);
  EXPECT_TRUE(places.ok()) << places.status();
  return places.ok() ? *places : std::vector<DevicePlace>();
}

TEST(LayoutTest, AllGpusWithAllMemoryByDefault) {
  EXPECT_EQ(Places({}), (std::vector<DevicePlace>{{0, 0, 1000 * kMb}, {1, 0, 500 * kMb}}));
  EXPECT_TRUE(LayOut({}, {})->empty());
}

TEST(LayoutTest, VisibleDevicesChooseAndOrder) {
  EXPECT_EQ(Places(Visible("1")), (std::vector<DevicePlace>{{1, 0, 500 * kMb}}));
  EXPECT_EQ(Places(Visible("1,0"))[0].ordinal, 1);
  for (const char* bad : {"2", "-1", "a", "0,0", "0,", ","}) {
    EXPECT_TRUE(absl::IsInvalidArgument(LayOut(Visible(bad), kTwo).status())) << bad;
  }
}

TEST(LayoutTest, FractionLimitsMemory) {
  EXPECT_EQ(Places(Fraction(0.5))[1].memory_limit, 250 * kMb);
  EXPECT_TRUE(absl::IsInvalidArgument(LayOut(Fraction(1.5), kTwo).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(LayOut(Fraction(-0.1), kTwo).status()));
}

TEST(LayoutTest, VirtualDevicesShareAGpu) {
  EXPECT_EQ(Places(Virtual({{100, 200}})),
            (std::vector<DevicePlace>{{0, 0, 100 * kMb}, {0, 1, 200 * kMb}, {1, 0, 500 * kMb}}));
  EXPECT_EQ(Places(Virtual({{100, 200}}, "1")), (std::vector<DevicePlace>{{1, 0, 100 * kMb}, {1, 1, 200 * kMb}}));
  EXPECT_TRUE(absl::IsInvalidArgument(LayOut(Virtual({{2000}}), kTwo).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(LayOut(Virtual({{0}}), kTwo).status()));
  EXPECT_TRUE(absl::IsUnavailable(LayOut(Virtual({{1}, {1}, {1}}), kTwo).status()));
}

}  // namespace
}  // namespace millstream::cuda
