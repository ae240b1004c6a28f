// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/random/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "millstream/tensor/float16.h"

// The expected numbers are those of TensorFlow 2.21: first and second run of
// RandomUniform, RandomStandardNormal, TruncatedNormal, RandomUniformInt and
// RandomShuffle in one session.
namespace millstream::math {
namespace {

constexpr simd::Isa kAllIsas[] = {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512};

template <typename T>
using FillFunction = void (*)(const Philox&, T*, int64_t, ThreadPool*);

template <typename T>
void ExpectRuns(FillFunction<T> fill, double tolerance, const std::vector<double>& first,
                const std::vector<double>& second) {
  for (simd::Isa isa : kAllIsas) {
    simd::ScopedIsa forced(isa);
    PhiloxStream stream(87654321, 12345);
    for (const auto& want : {first, second}) {
      const int64_t n = static_cast<int64_t>(want.size());
      std::vector<T> out(n);
      fill(stream.Reserve(ReservedBlocks(n)), out.data(), n, nullptr);
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_NEAR(static_cast<double>(out[i]), want[i], tolerance * std::fabs(want[i])) << i;
      }
    }
  }
}

TEST(RandomTest, UniformMatchesTensorFlow) {
  ExpectRuns<float>(
      FillUniform<float>, 0,
      {0.6743394136428833, 0.23592019081115723, 0.8220641613006592, 0.46504127979278564, 0.09273302555084229},
      {0.9469723701477051, 0.9677798748016357, 0.8752731084823608, 0.5534000396728516, 0.8662192821502686});
  ExpectRuns<double>(
      FillUniform<double>, 0,
      {0.39471614032223856, 0.5765138258506382, 0.7418645198241984, 0.9254694442667759, 0.4352491892002719},
      {0.5757795962836219, 0.0021852507319302106, 0.9297547775512143, 0.41094225983239263, 0.14599525410708925});
  ExpectRuns<Half>(FillUniform<Half>, 0, {0.1884765625, 0.658203125, 0.349609375, 0.6181640625, 0.6689453125},
                   {0.59765625, 0.052734375, 0.2373046875, 0.453125, 0.068359375});
  ExpectRuns<BFloat16>(FillUniform<BFloat16>, 0, {0.5078125, 0.265625, 0.796875, 0.9453125, 0.3515625},
                       {0.78125, 0.421875, 0.8984375, 0.625, 0.546875});
}

TEST(RandomTest, NormalMatchesTensorFlow) {
  ExpectRuns<float>(
      FillNormal<float>, 1e-6,
      {0.8842466473579407, 0.07843047380447388, 0.1363987922668457, -0.6109575033187866, 1.8525681495666504},
      {-0.06637294590473175, 0.3233656883239746, -0.16995762288570404, -0.4873941242694855, 0.412354439496994});
  ExpectRuns<double>(
      FillNormal<double>, 1e-14,
      {-0.6305510086852888, -1.2089591533541697, -0.34879889687828197, 0.6895771241742282, -0.7919383625966261},
      {0.014426599231066015, 1.0506438725580636, 0.2025953588223992, -0.3234562349029682, -1.6185308109668206});
  ExpectRuns<BFloat16>(FillNormal<BFloat16>, 4e-3, {0.8828125, 0.07861328125, 0.13671875, -0.609375, 1.8515625},
                       {-0.06640625, 0.32421875, -0.169921875, -0.48828125, 0.412109375});
}

TEST(RandomTest, TruncatedNormalMatchesTensorFlow) {
  ExpectRuns<float>(
      FillTruncatedNormal<float>, 1e-6,
      {0.8842466473579407, 0.07843047380447388, 0.1363987922668457, -0.6109575033187866, 0.45253217220306396},
      {-0.06637294590473175, 0.3233656883239746, -0.16995762288570404, -0.4873941242694855, -0.24977850914001465});
  ExpectRuns<double>(
      FillTruncatedNormal<double>, 1e-13,
      {-0.6305510086852888, -1.2089591533541697, -0.027147858960579977, 0.43609083207665467, -0.6593986645094546},
      {0.014426599231066015, 1.0506438725580636, -0.9372447443735348, -0.14497462699456126, -0.42278086564419315});
  ExpectRuns<Half>(FillTruncatedNormal<Half>, 1e-3,
                   {0.88427734375, 0.07843017578125, 0.1363525390625, -0.61083984375, 0.45263671875},
                   {-0.06634521484375, 0.323486328125, -0.169921875, -0.4873046875, -0.249755859375});
}

TEST(RandomTest, UniformIntMatchesTensorFlow) {
  PhiloxStream stream(87654321, 12345), wide_stream(87654321, 12345);
  std::vector<int32_t> out(5);
  std::vector<int64_t> wide(5);
  const std::vector<int32_t> want[] = {{226, 904, 488, 888, 418}, {263, 976, 34, 446, 537}};
  const std::vector<int64_t> want_wide[] = {{392466885217, 625246367250, 988045661662, 529059407940, 291533519676},
                                            {932647386507, 727377704381, 738672296673, 872438317125, 171033615892}};
  for (int run = 0; run < 2; ++run) {
    FillUniformInt<int32_t>(stream.Reserve(ReservedBlocks(5)), -3, 1000, out.data(), 5, nullptr);
    EXPECT_EQ(out, want[run]);
    FillUniformInt<int64_t>(wide_stream.Reserve(ReservedBlocks(5)), -3, 1000000000000, wide.data(), 5, nullptr);
    EXPECT_EQ(wide, want_wide[run]);
  }
}

TEST(RandomTest, PermutationMatchesTensorFlow) {
  PhiloxStream stream(87654321, 12345);
  const std::vector<int32_t> want[] = {{5, 4, 2, 6, 9, 3, 1, 0, 11, 7, 8, 10}, {0, 8, 11, 6, 5, 9, 10, 1, 7, 3, 2, 4}};
  for (const auto& order : want) {
    std::vector<int32_t> indices(12);
    FillPermutation(stream.Reserve(ReservedShuffleBlocks(12)), indices.data(), 12);
    EXPECT_EQ(indices, order);
  }
  EXPECT_EQ(ReservedShuffleBlocks(1), 0);
  FillPermutation<int64_t>(stream.Reserve(0), nullptr, 0);
}

// The last elements of second runs that TensorFlow splits between threads.
template <typename T>
void ExpectEnd(FillFunction<T> fill, int64_t n, double before_last, double last, double tolerance) {
  ThreadPool pool(3);
  for (simd::Isa isa : kAllIsas) {
    simd::ScopedIsa forced(isa);
    PhiloxStream stream(11, 22);
    stream.Reserve(ReservedBlocks(n));
    const Philox philox = stream.Reserve(ReservedBlocks(n));
    std::vector<T> shared(n), alone(n);
    fill(philox, shared.data(), n, &pool);
    fill(philox, alone.data(), n, nullptr);
    EXPECT_NEAR(static_cast<double>(shared[n - 2]), before_last, tolerance);
    EXPECT_NEAR(static_cast<double>(shared[n - 1]), last, tolerance);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(shared[i], alone[i]) << i;
  }
}

TEST(RandomTest, LargeArraysMatchTensorFlowOnAnyNumberOfThreads) {
  ExpectEnd<float>(FillUniform<float>, 1000003, 0.3508941f, 0.77912533f, 1e-7);
  ExpectEnd<double>(FillUniform<double>, 1000003, 0.10684270648076066, 0.5095130921055777, 0);
  ExpectEnd<float>(FillNormal<float>, 1000003, -0.54429317, -0.5488211, 1e-6);
  ExpectEnd<float>(FillTruncatedNormal<float>, 1000003, -0.21460319, 1.2672269, 1e-6);
  ExpectEnd<double>(FillTruncatedNormal<double>, 1000003, -0.10363794609442413, -1.3837357817644589, 1e-13);
}

TEST(RandomTest, AnyLengthIsAPrefixOfALongerOne) {
  std::vector<float> all(1000), part(1000);
  for (auto fill : {FillUniform<float>, FillNormal<float>, FillTruncatedNormal<float>}) {
    fill(Philox(3, 4), all.data(), 1000, nullptr);
    for (int64_t n : {0, 1, 3, 255, 256, 257, 999}) {
      std::fill(part.begin(), part.end(), -9.0f);
      fill(Philox(3, 4), part.data(), n, nullptr);
      for (int64_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(part[i], i < n ? all[i] : -9.0f);
      }
    }
  }
}

TEST(RandomTest, CounterCarriesInsideABatch) {
  for (simd::Isa isa : kAllIsas) {
    simd::ScopedIsa forced(isa);
    const Philox philox({0xfffffff0u, ~0u, ~0u, 1}, {1, 2});
    std::vector<int32_t> out(256);
    FillUniformInt<int32_t>(philox, 0, 1 << 30, out.data(), 256, nullptr);
    PhiloxSampler sampler(philox);
    for (int32_t x : out) {
      EXPECT_EQ(x, static_cast<int32_t>(sampler.Next() % (1u << 30)));
    }
  }
}

}  // namespace
}  // namespace millstream::math
