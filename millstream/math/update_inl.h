// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_UPDATE_INL_H_
#define MILLSTREAM_MATH_UPDATE_INL_H_

// Definitions of update.h; include that.
#include <complex>

#include "millstream/math/update.h"

namespace millstream::math {

namespace update_internal {

// Cost of an element in nanoseconds, by the number of arrays that move through
// the cache.
inline constexpr double kNsPerArray = 0.12;

template <typename W>
MILLSTREAM_ALWAYS_INLINE W SquareRoot(W x) {
  return std::sqrt(x);
}

// -1, 0 or 1; NaN gives 0.
template <typename W>
MILLSTREAM_ALWAYS_INLINE W Sign(W x) {
  return (x > W(0) ? W(1) : W(0)) - (x < W(0) ? W(1) : W(0));
}

// sign(x) max(|x| - by, 0)
template <typename W>
MILLSTREAM_ALWAYS_INLINE W Shrink(W x, W by) {
  const W rest = std::fabs(x) - by;
  return Sign(x) * (rest < W(0) ? W(0) : rest);
}

}  // namespace update_internal

template <typename T>
void ApplyGradientDescent(Hyper<T> alpha, const T* grad, T* var, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  simd::ParallelFor<W>(pool, n, 3 * update_internal::kNsPerArray,
                       [=](int64_t i) { var[i] = T(W(var[i]) - alpha * W(grad[i])); });
}

template <typename T>
void ApplyMomentum(const MomentumOptions<T>& o, const T* grad, T* var, T* accum, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr, momentum = o.momentum;
  const double cost = 5 * update_internal::kNsPerArray;
  if (o.nesterov) {
    simd::ParallelFor<W>(pool, n, cost, [=](int64_t i) {
      const W g = W(grad[i]);
      const W a = W(accum[i]) * momentum + g;
      accum[i] = T(a);
      var[i] = T(W(var[i]) - (g * lr + a * momentum * lr));
    });
  } else {
    simd::ParallelFor<W>(pool, n, cost, [=](int64_t i) {
      const W a = W(accum[i]) * momentum + W(grad[i]);
      accum[i] = T(a);
      var[i] = T(W(var[i]) - a * lr);
    });
  }
}

template <typename T>
void ApplyKerasMomentum(const MomentumOptions<T>& o, const T* grad, T* var, T* accum, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr, momentum = o.momentum;
  // Without Nesterov the step is accum itself: 1 * accum - 0 * grad.
  const W accum_factor = o.nesterov ? momentum : W(1), grad_factor = o.nesterov ? lr : W(0);
  simd::ParallelFor<W>(pool, n, 5 * update_internal::kNsPerArray, [=](int64_t i) {
    const W g = W(grad[i]);
    const W a = W(accum[i]) * momentum - g * lr;
    accum[i] = T(a);
    var[i] = T(W(var[i]) + (a * accum_factor - g * grad_factor));
  });
}

template <typename T>
void ApplyAdagrad(const AdagradOptions<T>& o, const T* grad, T* var, T* accum, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr, epsilon = o.epsilon;
  const double cost = 6 * update_internal::kNsPerArray;
  if (o.update_slots) {
    simd::ParallelFor<W>(pool, n, cost, [=](int64_t i) {
      const W g = W(grad[i]);
      const W a = W(accum[i]) + g * g;
      accum[i] = T(a);
      var[i] = T(W(var[i]) - g * lr / (update_internal::SquareRoot(a) + epsilon));
    });
  } else {
    simd::ParallelFor<W>(pool, n, cost, [=](int64_t i) {
      var[i] = T(W(var[i]) - W(grad[i]) * lr / (update_internal::SquareRoot(W(accum[i])) + epsilon));
    });
  }
}

template <typename T>
void ApplyAdagradDa(const AdagradDaOptions<T>& o, const T* grad, T* var, T* sum, T* squares, int64_t n,
                    ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr;
  const W shrinkage = o.l1 > W(0) ? o.l1 * W(o.global_step) : W(0);
  const W offset = o.l2 * W(o.global_step) * lr;
  simd::ParallelFor<W>(pool, n, 8 * update_internal::kNsPerArray, [=](int64_t i) {
    const W g = W(grad[i]);
    const W s = W(sum[i]) + g;
    const W q = W(squares[i]) + g * g;
    sum[i] = T(s);
    squares[i] = T(q);
    var[i] = T(-lr * update_internal::Shrink(s, shrinkage) / (offset + update_internal::SquareRoot(q)));
  });
}

template <typename T>
void ApplyAdadelta(const AdadeltaOptions<T>& o, const T* grad, T* var, T* accum, T* accum_update, int64_t n,
                   ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr, rho = o.rho, rest = W(1) - o.rho, epsilon = o.epsilon;
  simd::ParallelFor<W>(pool, n, 10 * update_internal::kNsPerArray, [=](int64_t i) {
    const W g = W(grad[i]);
    const W a = W(accum[i]) * rho + g * g * rest;
    const W u = W(accum_update[i]);
    const W step = update_internal::SquareRoot(u + epsilon) / update_internal::SquareRoot(a + epsilon) * g;
    accum[i] = T(a);
    accum_update[i] = T(u * rho + step * step * rest);
    var[i] = T(W(var[i]) - step * lr);
  });
}

template <typename T>
void ApplyAdam(const AdamOptions<T>& o, const T* grad, T* var, T* m, T* v, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  const W one = W(1);
  const W lr = o.lr * update_internal::SquareRoot(one - o.beta2_power) / (one - o.beta1_power);
  const W rest1 = one - o.beta1, rest2 = one - o.beta2, epsilon = o.epsilon;
  // The step is along m, or with Nesterov along beta1 m + (1 - beta1) grad.
  const W m_factor = o.nesterov ? o.beta1 : one, grad_factor = o.nesterov ? rest1 : W(0);
  simd::ParallelFor<W>(pool, n, 8 * update_internal::kNsPerArray, [=](int64_t i) {
    const W g = W(grad[i]);
    const W mi = W(m[i]) + (g - W(m[i])) * rest1;
    const W vi = W(v[i]) + (g * g - W(v[i])) * rest2;
    m[i] = T(mi);
    v[i] = T(vi);
    const W along = mi * m_factor + g * grad_factor;
    var[i] = T(W(var[i]) - along * lr / (update_internal::SquareRoot(vi) + epsilon));
  });
}

template <typename T>
void ApplyAdamWithAmsgrad(const AdamOptions<T>& o, const T* grad, T* var, T* m, T* v, T* vhat, int64_t n,
                          ThreadPool* pool) {
  using W = Hyper<T>;
  const W one = W(1);
  const W lr = o.lr * update_internal::SquareRoot(one - o.beta2_power) / (one - o.beta1_power);
  const W rest1 = one - o.beta1, rest2 = one - o.beta2, epsilon = o.epsilon;
  simd::ParallelFor<W>(pool, n, 10 * update_internal::kNsPerArray, [=](int64_t i) {
    const W g = W(grad[i]);
    const W mi = W(m[i]) + (g - W(m[i])) * rest1;
    const W vi = W(v[i]) + (g * g - W(v[i])) * rest2;
    const W before = W(vhat[i]);
    const W largest = before > vi ? before : vi;
    m[i] = T(mi);
    v[i] = T(vi);
    vhat[i] = T(largest);
    var[i] = T(W(var[i]) - mi * lr / (update_internal::SquareRoot(largest) + epsilon));
  });
}

template <typename T>
void ApplyAdaMax(const AdamOptions<T>& o, const T* grad, T* var, T* m, T* v, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr / (W(1) - o.beta1_power);
  const W rest1 = W(1) - o.beta1, beta2 = o.beta2, epsilon = o.epsilon;
  simd::ParallelFor<W>(pool, n, 8 * update_internal::kNsPerArray, [=](int64_t i) {
    const W g = W(grad[i]);
    const W mi = W(m[i]) + (g - W(m[i])) * rest1;
    const W decayed = beta2 * W(v[i]), size = std::fabs(g);
    const W vi = decayed > size ? decayed : size;
    m[i] = T(mi);
    v[i] = T(vi);
    var[i] = T(W(var[i]) - lr * (mi / (vi + epsilon)));
  });
}

template <typename T>
void ApplyRmsProp(const RmsPropOptions<T>& o, const T* grad, T* var, T* ms, T* mom, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr, rest = W(1) - o.rho, momentum = o.momentum, epsilon = o.epsilon;
  simd::ParallelFor<W>(pool, n, 8 * update_internal::kNsPerArray, [=](int64_t i) {
    const W g = W(grad[i]);
    const W s = W(ms[i]) + (g * g - W(ms[i])) * rest;
    const W p = W(mom[i]) * momentum + g * lr / update_internal::SquareRoot(s + epsilon);
    ms[i] = T(s);
    mom[i] = T(p);
    var[i] = T(W(var[i]) - p);
  });
}

template <typename T>
void ApplyCenteredRmsProp(const RmsPropOptions<T>& o, const T* grad, T* var, T* mg, T* ms, T* mom, int64_t n,
                          ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr, rest = W(1) - o.rho, momentum = o.momentum, epsilon = o.epsilon;
  simd::ParallelFor<W>(pool, n, 10 * update_internal::kNsPerArray, [=](int64_t i) {
    const W g = W(grad[i]);
    const W s = W(ms[i]) + (g * g - W(ms[i])) * rest;
    const W c = W(mg[i]) + (g - W(mg[i])) * rest;
    const W p = W(mom[i]) * momentum + g * lr / update_internal::SquareRoot(s - c * c + epsilon);
    ms[i] = T(s);
    mg[i] = T(c);
    mom[i] = T(p);
    var[i] = T(W(var[i]) - p);
  });
}

namespace update_internal {

// `power` gives x^(-lr_power); a template so that the usual square root is
// vectorised.
template <typename T, typename Power>
void FtrlWithPower(const FtrlOptions<T>& o, const T* grad, T* var, T* accum, T* linear, int64_t n, ThreadPool* pool,
                   double cost, Power power) {
  using W = Hyper<T>;
  const W shrinkage = W(2) * o.l2_shrinkage;
  const W grad_scale = o.multiply_linear_by_lr ? o.lr : W(1);
  const W inverse_lr = o.multiply_linear_by_lr ? W(1) : W(1) / o.lr;
  const W l1 = o.l1 * grad_scale, l2 = W(2) * o.l2 * grad_scale;
  simd::ParallelFor<W>(pool, n, cost, [=](int64_t i) {
    const W g = W(grad[i]), w = W(var[i]), a = W(accum[i]);
    const W new_accum = a + g * g;
    const W new_power = power(new_accum);
    const W z = W(linear[i]) + ((g + shrinkage * w) * grad_scale - (new_power - power(a)) * inverse_lr * w);
    const W shrunk = (l1 * Sign(z) - z) / (new_power * inverse_lr + l2);
    accum[i] = T(new_accum);
    linear[i] = T(z);
    var[i] = T(std::fabs(z) > l1 ? shrunk : W(0));
  });
}

}  // namespace update_internal

template <typename T>
void ApplyFtrl(const FtrlOptions<T>& o, const T* grad, T* var, T* accum, T* linear, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  if (o.lr_power == W(-0.5)) {
    update_internal::FtrlWithPower(o, grad, var, accum, linear, n, pool, 10 * update_internal::kNsPerArray,
                                   [](W x) MILLSTREAM_INLINE_LAMBDA { return update_internal::SquareRoot(x); });
  } else {
    update_internal::FtrlWithPower(o, grad, var, accum, linear, n, pool, 50.0,
                                   [p = -o.lr_power](W x) MILLSTREAM_INLINE_LAMBDA { return Pow(x, p); });
  }
}

template <typename T>
void ApplyProximalGradientDescent(const ProximalOptions<T>& o, const T* grad, T* var, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr, shrinkage = o.l1 > W(0) ? o.l1 * o.lr : W(0), divisor = W(1) + o.l2 * o.lr;
  simd::ParallelFor<W>(pool, n, 4 * update_internal::kNsPerArray, [=](int64_t i) {
    const W moved = W(var[i]) - lr * W(grad[i]);
    var[i] = T(update_internal::Shrink(moved, shrinkage) / divisor);
  });
}

template <typename T>
void ApplyProximalAdagrad(const ProximalOptions<T>& o, const T* grad, T* var, T* accum, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr, l1 = o.l1 > W(0) ? o.l1 : W(0), l2 = o.l2;
  simd::ParallelFor<W>(pool, n, 8 * update_internal::kNsPerArray, [=](int64_t i) {
    const W g = W(grad[i]);
    const W a = W(accum[i]) + g * g;
    const W rate = lr / update_internal::SquareRoot(a);
    accum[i] = T(a);
    var[i] = T(update_internal::Shrink(W(var[i]) - rate * g, rate * l1) / (W(1) + l2 * rate));
  });
}

template <typename T>
void ApplyAddSign(const SignOptions<T>& o, const T* grad, T* var, T* m, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr, alpha = o.scale, decay = o.sign_decay, beta = o.beta, rest = W(1) - o.beta;
  simd::ParallelFor<W>(pool, n, 5 * update_internal::kNsPerArray, [=](int64_t i) {
    const W g = W(grad[i]);
    const W mi = W(m[i]) * beta + g * rest;
    m[i] = T(mi);
    var[i] = T(W(var[i]) - lr * (alpha + decay * update_internal::Sign(g) * update_internal::Sign(mi)) * g);
  });
}

template <typename T>
void ApplyPowerSign(const SignOptions<T>& o, const T* grad, T* var, T* m, int64_t n, ThreadPool* pool) {
  using W = Hyper<T>;
  const W lr = o.lr, beta = o.beta, rest = W(1) - o.beta;
  // The exponent has only three values.
  const W exponent = o.scale * o.sign_decay;
  const W agree = std::exp(exponent), differ = std::exp(-exponent);
  simd::ParallelFor<W>(pool, n, 5 * update_internal::kNsPerArray, [=](int64_t i) {
    const W g = W(grad[i]);
    const W mi = W(m[i]) * beta + g * rest;
    const W sign = update_internal::Sign(g) * update_internal::Sign(mi);
    const W factor = sign > W(0) ? agree : (sign < W(0) ? differ : W(1));
    m[i] = T(mi);
    var[i] = T(W(var[i]) - lr * factor * g);
  });
}

#define MILLSTREAM_UPDATE_INSTANCES(extern_, T)                                                                     \
  extern_ template void ApplyGradientDescent<T>(Hyper<T>, const T*, T*, int64_t, ThreadPool*);                      \
  extern_ template void ApplyMomentum<T>(const MomentumOptions<T>&, const T*, T*, T*, int64_t, ThreadPool*);        \
  extern_ template void ApplyKerasMomentum<T>(const MomentumOptions<T>&, const T*, T*, T*, int64_t, ThreadPool*);   \
  extern_ template void ApplyAdagrad<T>(const AdagradOptions<T>&, const T*, T*, T*, int64_t, ThreadPool*);          \
  extern_ template void ApplyAdagradDa<T>(const AdagradDaOptions<T>&, const T*, T*, T*, T*, int64_t, ThreadPool*);  \
  extern_ template void ApplyAdadelta<T>(const AdadeltaOptions<T>&, const T*, T*, T*, T*, int64_t, ThreadPool*);    \
  extern_ template void ApplyAdam<T>(const AdamOptions<T>&, const T*, T*, T*, T*, int64_t, ThreadPool*);            \
  extern_ template void ApplyAdamWithAmsgrad<T>(const AdamOptions<T>&, const T*, T*, T*, T*, T*, int64_t,           \
                                                ThreadPool*);                                                       \
  extern_ template void ApplyAdaMax<T>(const AdamOptions<T>&, const T*, T*, T*, T*, int64_t, ThreadPool*);          \
  extern_ template void ApplyRmsProp<T>(const RmsPropOptions<T>&, const T*, T*, T*, T*, int64_t, ThreadPool*);      \
  extern_ template void ApplyCenteredRmsProp<T>(const RmsPropOptions<T>&, const T*, T*, T*, T*, T*, int64_t,        \
                                                ThreadPool*);                                                       \
  extern_ template void ApplyFtrl<T>(const FtrlOptions<T>&, const T*, T*, T*, T*, int64_t, ThreadPool*);            \
  extern_ template void ApplyProximalGradientDescent<T>(const ProximalOptions<T>&, const T*, T*, int64_t,           \
                                                        ThreadPool*);                                               \
  extern_ template void ApplyProximalAdagrad<T>(const ProximalOptions<T>&, const T*, T*, T*, int64_t, ThreadPool*); \
  extern_ template void ApplyAddSign<T>(const SignOptions<T>&, const T*, T*, T*, int64_t, ThreadPool*);             \
  extern_ template void ApplyPowerSign<T>(const SignOptions<T>&, const T*, T*, T*, int64_t, ThreadPool*)
MILLSTREAM_UPDATE_INSTANCES(extern, float);
MILLSTREAM_UPDATE_INSTANCES(extern, double);

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_UPDATE_INL_H_
