// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <random>
#include <vector>

#include "millstream/tensor/float16.h"

namespace millstream::math {
namespace {

// A rule applied to a variable and three slots, of which it may use fewer.
template <typename T>
using Rule = std::function<void(const T* grad, T* var, T* s1, T* s2, T* s3, int64_t n, ThreadPool* pool)>;

template <typename T>
struct Case {
  const char* name;
  Rule<T> apply;
  std::vector<T> slots[3];  // initial values
  // After two steps, by TensorFlow 2.21 in double precision.
  std::vector<std::vector<T>> want;
};

#define RULE(...)                                                                                            \
  [=](const T* g, T* var, [[maybe_unused]] T* s1, [[maybe_unused]] T* s2, [[maybe_unused]] T* s3, int64_t n, \
      ThreadPool* p) { __VA_ARGS__; }

template <typename T>
std::vector<Case<T>> Cases() {
  const std::vector<T> a = {.1, .2, .3, .4}, b = {.5, .25, .125, 1}, c = {.05, -.02, .03, .01};
  const MomentumOptions<T> momentum{.lr = T(.3), .momentum = T(.9)};
  const MomentumOptions<T> nesterov{T(.3), T(.9), true};
  const AdagradOptions<T> adagrad{.lr = T(.3)};
  const AdagradOptions<T> frozen{T(.3), T(0), false};
  const AdagradOptions<T> adagrad2{.lr = T(.3), .epsilon = T(.01)};
  const AdagradDaOptions<T> da{T(.3), T(.01), T(.02), 3};
  const AdadeltaOptions<T> adadelta{T(.3), T(.9), T(.01)};
  const AdamOptions<T> adam{T(.3), T(.9), T(.99), T(.01), T(.81), T(.98)};
  const AdamOptions<T> nadam{T(.3), T(.9), T(.99), T(.01), T(.81), T(.98), true};
  const RmsPropOptions<T> rms{T(.3), T(.9), T(.8), T(.01)};
  const FtrlOptions<T> ftrl{T(.3), T(.05), T(.02), T(-.5)};
  const FtrlOptions<T> ftrl7{T(.3), T(.05), T(.02), T(-.7)};
  const FtrlOptions<T> ftrl2{T(.3), T(.05), T(.02), T(-.5), T(.04)};
  const FtrlOptions<T> ftrl2_lr{T(.3), T(.05), T(.02), T(-.5), T(.04), true};
  const ProximalOptions<T> l2{T(.3), T(0), T(.02)}, l1{T(.3), T(.1), T(.02)};
  const SignOptions<T> add{T(.3), T(1.2), T(.9), T(.7)};
  const SignOptions<T> power{T(.3), T(.8), T(.9), T(.7)};
  return {
      {"GradientDescent", RULE(ApplyGradientDescent(T(.3), g, var, n, p)), {}, {{0.94, -1.76, 0.5, 2.1}}},
      {"Momentum",
       RULE(ApplyMomentum(momentum, g, var, s1, n, p)),
       {a},
       {{0.8617, -1.7546, 0.3461, 1.4898}, {0.271, -0.598, 0.243, 3.174}}},
      {"Nesterov",
       RULE(ApplyMomentum(nesterov, g, var, s1, n, p)),
       {a},
       {{0.81553, -1.53914, 0.36149, 0.74082}, {0.271, -0.598, 0.243, 3.174}}},
      {"KerasMomentum",
       RULE(ApplyKerasMomentum(momentum, g, var, s1, n, p)),
       {a},
       {{1.084, -1.31, 1.013, 2.379}, {0.024, 0.39, 0.243, -0.531}}},
      {"KerasNesterov",
       RULE(ApplyKerasMomentum(nesterov, g, var, s1, n, p)),
       {a},
       {{1.0156, -1.139, 0.9617, 1.5411}, {0.024, 0.39, 0.243, -0.531}}},
      {"Adagrad",
       RULE(ApplyAdagrad(adagrad, g, var, s1, n, p)),
       {a},
       {{0.822944056248227, -1.63358994113243, 0.5, 2.52027791927104}, {0.12, 0.52, 0.3, 4.9}}},
      {"AdagradFrozen",
       RULE(ApplyAdagrad(frozen, g, var, s1, n, p)),
       {a},
       {{0.810263340389897, -1.46334368540005, 0.5, 1.57697505292423}, a}},
      {"AdagradV2",
       RULE(ApplyAdagrad(adagrad2, g, var, s1, n, p)),
       {a},
       {{0.828021361477167, -1.63914475774726, 0.5, 2.52287990198465}, {0.12, 0.52, 0.3, 4.9}}},
      {"AdagradDa",
       RULE(ApplyAdagradDa(da, g, var, s1, s2, n, p)),
       {c, b},
       {{-0.0892965556156618, 0.306604238402033, 0.0, -0.378299347932692},
        {0.25, -0.82, 0.03, 3.01},
        {0.52, 0.57, 0.125, 5.5}}},
      {"Adadelta",
       RULE(ApplyAdadelta(adadelta, g, var, s1, s2, n, p)),
       {a, b},
       {{0.865464982602534, -1.73044161232451, 0.5, 1.8275721738961},
        {0.0829, 0.1924, 0.243, 0.7515},
        {0.414550469471059, 0.240848209831536, 0.10125, 1.53546618516087}}},
      {"Adam",
       RULE(ApplyAdam(adam, g, var, s1, s2, n, p)),
       {c, b},
       {{0.964082203024555, -1.93404942534229, 0.468263395393398, 2.90104601873576},
        {0.0595, -0.0922, 0.0243, 0.2931},
        {0.490249, 0.248209, 0.1225125, 1.024875}}},
      {"AdamNesterov",
       RULE(ApplyAdam(nadam, g, var, s1, s2, n, p)),
       {c, b},
       {{0.961400730092189, -1.90552470146844, 0.471437055854058, 2.84521989981925}}},
      {"Amsgrad",
       RULE(ApplyAdamWithAmsgrad(adam, g, var, s1, s2, s3, n, p)),
       {c, b, a},
       {{0.964172792943656, -1.93412051743328, 0.479460881219394, 2.90104601873576},
        {0.0595, -0.0922, 0.0243, 0.2931},
        {0.490249, 0.248209, 0.1225125, 1.024875},
        {0.4951, 0.2491, 0.3, 1.024875}}},
      {"AdaMax",
       RULE(ApplyAdaMax(adam, g, var, s1, s2, n, p)),
       {c, b},
       {{0.640159485875279, -1.42156611039795, -0.108286450623481, 2.52725688393168},
        {0.0595, -0.0922, 0.0243, 0.2931},
        {0.49005, 0.4, 0.1225125, 1.5}}},
      {"RmsProp",
       RULE(ApplyRmsProp(rms, g, var, s1, s2, n, p)),
       {b, c},
       {{0.802004952454665, -1.29657906442507, 0.4568, 1.82240099483617},
        {0.4069, 0.2329, 0.10125, 1.2375},
        {0.113810461349844, -0.447899500358191, 0.0192, 0.747208076146292}}},
      {"CenteredRmsProp",
       RULE(ApplyCenteredRmsProp(rms, g, var, s1, s2, s3, n, p)),
       {c, b, a},
       {{0.72954418016324, -1.60608474397456, 0.068, 1.23755666223113},
        {0.0595, -0.0922, 0.0243, 0.2931},
        {0.4069, 0.2329, 0.10125, 1.2375},
        {0.146125550590573, -0.312772424648225, 0.192, 1.01526816588693}}},
      {"Ftrl",
       RULE(ApplyFtrl(ftrl, g, var, s1, s2, n, p)),
       {a, c},
       {{-0.126085518771183, -0.105223662055123, 0.0, 1.33345358743188},
        {0.12, 0.52, 0.3, 4.9},
        {0.20063443715776, 0.307135152436765, 0.03, -9.94242262111408}}},
      {"FtrlOtherPower",
       RULE(ApplyFtrl(ftrl7, g, var, s1, s2, n, p)),
       {a, c},
       {{-0.19774543758833, -0.190965417451127, 0.0, 1.80569000299275},
        {0.12, 0.52, 0.3, 4.9},
        {0.207330972704772, 0.460388860874203, 0.03, -18.4309986940167}}},
      {"FtrlV2",
       RULE(ApplyFtrl(ftrl2, g, var, s1, s2, n, p)),
       {a, c},
       {{-0.188407062810686, -0.020556552556404, -0.0102599575551182, 1.27346159681022},
        {0.12, 0.52, 0.3, 4.9},
        {0.27509001937438, 0.100234064961513, 0.069142432275484, -9.49736316744814}}},
      {"FtrlV2LinearByLr",
       RULE(ApplyFtrl(ftrl2_lr, g, var, s1, s2, n, p)),
       {a, c},
       {{-0.283431449938398, 0.0, -0.0461698089980317, 1.26923902817743},
        {0.12, 0.52, 0.3, 4.9},
        {0.116584711750505, 0.0138487430647624, 0.0408422835719034, -2.83981122529166}}},
      {"ProximalL2",
       RULE(ApplyProximalGradientDescent(l2, g, var, n, p)),
       {},
       {{0.92864285460201, -1.7383571335407, 0.494053571216834, 2.07235710982613}}},
      {"ProximalL1",
       RULE(ApplyProximalGradientDescent(l1, g, var, n, p)),
       {},
       {{0.869178566770352, -1.67889284570905, 0.434589283385176, 2.01289282199448}}},
      {"ProximalAdagradL2",
       RULE(ApplyProximalAdagrad(l2, g, var, s1, n, p)),
       {a},
       {{0.793046157272679, -1.60243509304595, 0.489222955314361, 2.50349056808612}, {0.12, 0.52, 0.3, 4.9}}},
      {"ProximalAdagradL1",
       RULE(ApplyProximalAdagrad(l1, g, var, s1, n, p)),
       {a},
       {{0.620584621666577, -1.51207943237458, 0.381452508457977, 2.47166304039933}}},
      {"AddSign",
       RULE(ApplyAddSign(add, g, var, s1, n, p)),
       {c},
       {{0.874, -1.496, 0.5, 1.11}, {0.0755, -0.2138, 0.0147, 0.7699}}},
      {"PowerSign",
       RULE(ApplyPowerSign(power, g, var, s1, n, p)),
       {c},
       {{0.876734007361367, -1.50693602944547, 0.5, 1.1510101104205}, {0.0755, -0.2138, 0.0147, 0.7699}}},
  };
}

template <typename T>
void ExpectGoldens(double tolerance) {
  const std::vector<T> grad = {.1, -.4, 0, 1.5};
  for (const Case<T>& test : Cases<T>()) {
    std::vector<T> state[4] = {{1, -2, .5, 3}, test.slots[0], test.slots[1], test.slots[2]};
    for (int step = 0; step < 2; ++step) {
      test.apply(grad.data(), state[0].data(), state[1].data(), state[2].data(), state[3].data(), 4, nullptr);
    }
    for (size_t k = 0; k < test.want.size(); ++k) {
      for (int i = 0; i < 4; ++i) {
        EXPECT_NEAR(state[k][i], test.want[k][i], tolerance * (1 + std::fabs(test.want[k][i])))
            << test.name << " array " << k << " element " << i;
      }
    }
  }
}

TEST(UpdateTest, MatchesTensorFlow) {
  ExpectGoldens<double>(1e-13);
  ExpectGoldens<float>(2e-6);
}

// Vectors, remainders and threads give what single elements give.
template <typename T>
void ExpectSameAsSingleElements(int64_t n, ThreadPool* pool, double tolerance) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0.01, 2);
  std::vector<T> grad(n), initial[4];
  for (T& g : grad) g = T(uniform(random) - 1);
  for (auto& array : initial) {
    array.resize(n);
    for (T& v : array) v = T(uniform(random));
  }
  // ms - mg^2 must stay positive.
  for (T& v : initial[1]) v *= T(.04);
  for (const Case<T>& test : Cases<T>()) {
    std::vector<T> got[4], want[4];
    for (int k = 0; k < 4; ++k) got[k] = want[k] = initial[k];
    test.apply(grad.data(), got[0].data(), got[1].data(), got[2].data(), got[3].data(), n, pool);
    for (int64_t i = 0; i < n; ++i) {
      test.apply(&grad[i], &want[0][i], &want[1][i], &want[2][i], &want[3][i], 1, nullptr);
    }
    for (int k = 0; k < 4; ++k) {
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_NEAR(got[k][i], want[k][i], tolerance * (1 + std::fabs(want[k][i])))
            << test.name << " array " << k << " element " << i << " of " << n;
      }
    }
  }
}

TEST(UpdateTest, AllSizesAndInstructionSetsAgree) {
  ThreadPool pool(3);
  for (simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    simd::ScopedIsa forced(isa);
    for (int64_t n : {0, 1, 7, 16, 33, 100, 1003}) {
      ExpectSameAsSingleElements<float>(n, nullptr, 2e-6);
      ExpectSameAsSingleElements<double>(n, nullptr, 1e-13);
    }
    ExpectSameAsSingleElements<float>(100003, &pool, 2e-6);
  }
}

TEST(UpdateTest, SixteenBitFloatsAndComplexNumbers) {
  const BFloat16 grad[] = {BFloat16(1.0f), BFloat16(-2.0f)};
  BFloat16 var[] = {BFloat16(3.0f), BFloat16(4.0f)};
  ApplyGradientDescent(0.5f, grad, var, 2, nullptr);
  EXPECT_EQ(static_cast<float>(var[0]), 2.5f);
  EXPECT_EQ(static_cast<float>(var[1]), 5.0f);

  Half m[] = {Half(0.0f)}, v[] = {Half(0.0f)}, w[] = {Half(1.0f)};
  const Half g[] = {Half(2.0f)};
  ApplyAdam<Half>({.lr = .1f, .beta1 = .9f, .beta2 = .999f, .epsilon = 1e-8f, .beta1_power = .9f, .beta2_power = .999f},
                  g, w, m, v, 1, nullptr);
  EXPECT_NEAR(static_cast<float>(w[0]), 0.9f, 1e-3f);

  using C = std::complex<float>;
  const C cg[] = {{1, 2}};
  C cv[] = {{0, 0}}, accum[] = {{1, 0}};
  ApplyMomentum<C>({.lr = C(.5f), .momentum = C(.9f)}, cg, cv, accum, 1, nullptr);
  EXPECT_NEAR(std::abs(cv[0] - C(-.95f, -1)), 0, 1e-6);
}

}  // namespace
}  // namespace millstream::math
