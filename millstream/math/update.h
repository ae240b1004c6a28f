// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_UPDATE_H_
#define MILLSTREAM_MATH_UPDATE_H_

#include <cmath>
#include <cstdint>

#include "millstream/base/thread_pool.h"
#include "millstream/math/simd.h"
#include "millstream/math/vector_math.h"

// The update rules of TensorFlow's Apply* ops, each one pass over memory:
// elements [0, n) of the variable and its slots are read, updated in place and
// written once. Work is split between the threads of `pool`; a null pool means
// this thread alone, which also suits the rows of sparse updates. Arrays must
// not overlap.
//
// Any T works that the rule makes sense for: float and double (compiled for
// every instruction set, in update.cc), the 16-bit floats (computed in float,
// rounded once) and, where no comparison is needed, std::complex.
// Hyperparameters are of the type the arithmetic happens in.
namespace millstream::math {

template <typename T>
using Hyper = simd::Wide<T>;

// var -= alpha * grad
template <typename T>
void ApplyGradientDescent(Hyper<T> alpha, const T* grad, T* var, int64_t n, ThreadPool* pool);

template <typename T>
struct MomentumOptions {
  Hyper<T> lr;
  Hyper<T> momentum;
  bool nesterov = false;
};
// accum = momentum * accum + grad; var -= lr * accum, or with Nesterov lr *
// (grad + momentum * accum)
template <typename T>
void ApplyMomentum(const MomentumOptions<T>& o, const T* grad, T* var, T* accum, int64_t n, ThreadPool* pool);
// accum = momentum * accum - lr * grad; var += accum, or with Nesterov momentum
// * accum - lr * grad
template <typename T>
void ApplyKerasMomentum(const MomentumOptions<T>& o, const T* grad, T* var, T* accum, int64_t n, ThreadPool* pool);

template <typename T>
struct AdagradOptions {
  Hyper<T> lr;
  Hyper<T> epsilon = Hyper<T>(0);  // ApplyAdagradV2
  bool update_slots = true;
};
// accum += grad^2 if update_slots; var -= lr * grad / (sqrt(accum) + epsilon)
template <typename T>
void ApplyAdagrad(const AdagradOptions<T>& o, const T* grad, T* var, T* accum, int64_t n, ThreadPool* pool);

template <typename T>
struct AdagradDaOptions {
  Hyper<T> lr, l1, l2;
  int64_t global_step;
};
// Dual averaging: sum += grad; squares += grad^2; var = -lr shrink(sum, l1
// step) / (l2 step lr + sqrt(squares))
template <typename T>
void ApplyAdagradDa(const AdagradDaOptions<T>& o, const T* grad, T* var, T* sum, T* squares, int64_t n,
                    ThreadPool* pool);

template <typename T>
struct AdadeltaOptions {
  Hyper<T> lr, rho, epsilon;
};
template <typename T>
void ApplyAdadelta(const AdadeltaOptions<T>& o, const T* grad, T* var, T* accum, T* accum_update, int64_t n,
                   ThreadPool* pool);

template <typename T>
struct AdamOptions {
  Hyper<T> lr, beta1, beta2, epsilon;
  Hyper<T> beta1_power, beta2_power;  // of this step
  bool nesterov = false;
};
// m += (grad - m) (1 - beta1); v += (grad^2 - v) (1 - beta2); var -= lr_t m /
// (sqrt(v) + epsilon), where lr_t = lr sqrt(1 - beta2_power) / (1 -
// beta1_power), and with Nesterov m beta1 + (1 - beta1) grad stands for m
template <typename T>
void ApplyAdam(const AdamOptions<T>& o, const T* grad, T* var, T* m, T* v, int64_t n, ThreadPool* pool);
// As Adam without Nesterov, but divides by the root of vhat = max(vhat, v).
template <typename T>
void ApplyAdamWithAmsgrad(const AdamOptions<T>& o, const T* grad, T* var, T* m, T* v, T* vhat, int64_t n,
                          ThreadPool* pool);
// m as Adam's; v = max(beta2 v, |grad|); var -= lr / (1 - beta1_power) m / (v +
// epsilon). Ignores beta2_power.
template <typename T>
void ApplyAdaMax(const AdamOptions<T>& o, const T* grad, T* var, T* m, T* v, int64_t n, ThreadPool* pool);

template <typename T>
struct RmsPropOptions {
  Hyper<T> lr, rho, momentum, epsilon;
};
// ms += (grad^2 - ms) (1 - rho); mom = momentum mom + lr grad / sqrt(ms +
// epsilon); var -= mom
template <typename T>
void ApplyRmsProp(const RmsPropOptions<T>& o, const T* grad, T* var, T* ms, T* mom, int64_t n, ThreadPool* pool);
// Also mg += (grad - mg) (1 - rho), and ms - mg^2 stands for ms under the root.
template <typename T>
void ApplyCenteredRmsProp(const RmsPropOptions<T>& o, const T* grad, T* var, T* mg, T* ms, T* mom, int64_t n,
                          ThreadPool* pool);

template <typename T>
struct FtrlOptions {
  Hyper<T> lr, l1, l2, lr_power;
  Hyper<T> l2_shrinkage = Hyper<T>(0);  // ApplyFtrlV2
  bool multiply_linear_by_lr = false;
};
template <typename T>
void ApplyFtrl(const FtrlOptions<T>& o, const T* grad, T* var, T* accum, T* linear, int64_t n, ThreadPool* pool);

template <typename T>
struct ProximalOptions {
  Hyper<T> lr, l1, l2;
};
template <typename T>
void ApplyProximalGradientDescent(const ProximalOptions<T>& o, const T* grad, T* var, int64_t n, ThreadPool* pool);
template <typename T>
void ApplyProximalAdagrad(const ProximalOptions<T>& o, const T* grad, T* var, T* accum, int64_t n, ThreadPool* pool);

template <typename T>
struct SignOptions {
  Hyper<T> lr;
  Hyper<T> scale;  // AddSign: alpha; PowerSign: logbase
  Hyper<T> sign_decay, beta;
};
// m = beta m + (1 - beta) grad; var -= lr (alpha + sign_decay sign(grad)
// sign(m)) grad
template <typename T>
void ApplyAddSign(const SignOptions<T>& o, const T* grad, T* var, T* m, int64_t n, ThreadPool* pool);
// m likewise; var -= lr exp(logbase sign_decay sign(grad) sign(m)) grad
template <typename T>
void ApplyPowerSign(const SignOptions<T>& o, const T* grad, T* var, T* m, int64_t n, ThreadPool* pool);

}  // namespace millstream::math

#include "millstream/math/update_inl.h"

#endif  // MILLSTREAM_MATH_UPDATE_H_
