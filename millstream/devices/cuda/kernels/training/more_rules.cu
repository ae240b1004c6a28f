// SPDX-License-Identifier: Apache-2.0
// The update rules of the other optimizers. What they compute is said in millstream/math/update.h.
#include "millstream/devices/cuda/kernels/training/update_kernel.cuh"

namespace millstream::cuda {
namespace {

template <typename W>
__device__ W SignOf(W x) {
  return (x > W(0) ? W(1) : W(0)) - (x < W(0) ? W(1) : W(0));
}
template <typename W>
__device__ W ShrinkBy(W x, W by) {
  const W rest = (x < W(0) ? -x : x) - by;
  return SignOf(x) * (rest < W(0) ? W(0) : rest);
}

struct KerasMomentumRule {
  static constexpr int kVariables = 2;
  static constexpr const char* kScalars[] = {"lr", "momentum"};
  static constexpr const char* kFlag = "use_nesterov";
  template <typename W>
  struct State {
    W lr, momentum;
    bool nesterov;
    template <typename S>
    __device__ explicit State(const S& s) : lr(s[0]), momentum(s[1]), nesterov(s.flag) {}
    __device__ void operator()(W g, W* v) const {
      v[1] = v[1] * momentum - g * lr;
      v[0] += nesterov ? v[1] * momentum - g * lr : v[1];
    }
  };
};

struct AdadeltaRule {
  static constexpr int kVariables = 3;
  static constexpr const char* kScalars[] = {"lr", "rho", "epsilon"};
  static constexpr const char* kFlag = nullptr;
  template <typename W>
  struct State {
    W lr, rho, rest, epsilon;
    template <typename S>
    __device__ explicit State(const S& s) : lr(s[0]), rho(s[1]), rest(W(1) - s[1]), epsilon(s[2]) {}
    __device__ void operator()(W g, W* v) const {
      v[1] = v[1] * rho + g * g * rest;
      const W step = sqrt(v[2] + epsilon) / sqrt(v[1] + epsilon) * g;
      v[2] = v[2] * rho + step * step * rest;
      v[0] -= step * lr;
    }
  };
};

struct CenteredRmsPropRule {
  static constexpr int kVariables = 4;
  static constexpr const char* kScalars[] = {"lr", "rho", "momentum", "epsilon"};
  static constexpr const char* kFlag = nullptr;
  template <typename W>
  struct State {
    W lr, rest, momentum, epsilon;
    template <typename S>
    __device__ explicit State(const S& s) : lr(s[0]), rest(W(1) - s[1]), momentum(s[2]), epsilon(s[3]) {}
    __device__ void operator()(W g, W* v) const {
      v[2] += (g * g - v[2]) * rest;
      v[1] += (g - v[1]) * rest;
      v[3] = v[3] * momentum + g * lr / sqrt(v[2] - v[1] * v[1] + epsilon);
      v[0] -= v[3];
    }
  };
};

struct AdaMaxRule {
  static constexpr int kVariables = 3;
  static constexpr const char* kScalars[] = {"beta1_power", "lr", "beta1", "beta2", "epsilon"};
  static constexpr const char* kFlag = nullptr;
  template <typename W>
  struct State {
    W lr, rest1, beta2, epsilon;
    template <typename S>
    __device__ explicit State(const S& s) : lr(s[1] / (W(1) - s[0])), rest1(W(1) - s[2]), beta2(s[3]), epsilon(s[4]) {}
    __device__ void operator()(W g, W* v) const {
      v[1] += (g - v[1]) * rest1;
      const W decayed = beta2 * v[2], size = g < W(0) ? -g : g;
      v[2] = decayed > size ? decayed : size;
      v[0] -= lr * (v[1] / (v[2] + epsilon));
    }
  };
};

struct AmsgradRule {
  static constexpr int kVariables = 4;
  static constexpr const char* kScalars[] = {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"};
  static constexpr const char* kFlag = nullptr;
  template <typename W>
  struct State {
    W lr, rest1, rest2, epsilon;
    template <typename S>
    __device__ explicit State(const S& s)
        : lr(s[2] * sqrt(W(1) - s[1]) / (W(1) - s[0])), rest1(W(1) - s[3]), rest2(W(1) - s[4]), epsilon(s[5]) {}
    __device__ void operator()(W g, W* v) const {
      v[1] += (g - v[1]) * rest1;
      v[2] += (g * g - v[2]) * rest2;
      v[3] = v[3] > v[2] ? v[3] : v[2];
      v[0] -= v[1] * lr / (sqrt(v[3]) + epsilon);
    }
  };
};

struct FtrlRule {
  static constexpr int kVariables = 3;
  static constexpr const char* kScalars[] = {"lr", "l1", "l2", "lr_power", "l2_shrinkage"};
  static constexpr const char* kFlag = "multiply_linear_by_lr";
  template <typename W>
  struct State {
    W shrinkage, grad_scale, inverse_lr, l1, l2, power;
    template <typename S>
    __device__ explicit State(const S& s)
        : shrinkage(W(2) * s[4]),
          grad_scale(s.flag ? s[0] : W(1)),
          inverse_lr(s.flag ? W(1) : W(1) / s[0]),
          l1(s[1] * grad_scale),
          l2(W(2) * s[2] * grad_scale),
          power(-s[3]) {}
    __device__ W Power(W x) const { return power == W(0.5) ? sqrt(x) : pow(x, power); }
    __device__ void operator()(W g, W* v) const {
      const W accum = v[1] + g * g, new_power = Power(accum);
      const W z = v[2] + ((g + shrinkage * v[0]) * grad_scale - (new_power - Power(v[1])) * inverse_lr * v[0]);
      const W shrunk = (l1 * SignOf(z) - z) / (new_power * inverse_lr + l2);
      v[1] = accum;
      v[2] = z;
      v[0] = (z < W(0) ? -z : z) > l1 ? shrunk : W(0);
    }
  };
};

struct ProximalGradientDescentRule {
  static constexpr int kVariables = 1;
  static constexpr const char* kScalars[] = {"alpha", "l1", "l2"};
  static constexpr const char* kFlag = nullptr;
  template <typename W>
  struct State {
    W lr, shrinkage, divisor;
    template <typename S>
    __device__ explicit State(const S& s)
        : lr(s[0]), shrinkage(s[1] > W(0) ? s[1] * s[0] : W(0)), divisor(W(1) + s[2] * s[0]) {}
    __device__ void operator()(W g, W* v) const { v[0] = ShrinkBy(v[0] - lr * g, shrinkage) / divisor; }
  };
};

struct ProximalAdagradRule {
  static constexpr int kVariables = 2;
  static constexpr const char* kScalars[] = {"lr", "l1", "l2"};
  static constexpr const char* kFlag = nullptr;
  template <typename W>
  struct State {
    W lr, l1, l2;
    template <typename S>
    __device__ explicit State(const S& s) : lr(s[0]), l1(s[1] > W(0) ? s[1] : W(0)), l2(s[2]) {}
    __device__ void operator()(W g, W* v) const {
      v[1] += g * g;
      const W rate = lr / sqrt(v[1]);
      v[0] = ShrinkBy(v[0] - rate * g, rate * l1) / (W(1) + l2 * rate);
    }
  };
};

struct AddSignRule {
  static constexpr int kVariables = 2;
  static constexpr const char* kScalars[] = {"lr", "alpha", "sign_decay", "beta"};
  static constexpr const char* kFlag = nullptr;
  template <typename W>
  struct State {
    W lr, alpha, decay, beta;
    template <typename S>
    __device__ explicit State(const S& s) : lr(s[0]), alpha(s[1]), decay(s[2]), beta(s[3]) {}
    __device__ void operator()(W g, W* v) const {
      v[1] = v[1] * beta + g * (W(1) - beta);
      v[0] -= lr * (alpha + decay * SignOf(g) * SignOf(v[1])) * g;
    }
  };
};

struct PowerSignRule {
  static constexpr int kVariables = 2;
  static constexpr const char* kScalars[] = {"lr", "logbase", "sign_decay", "beta"};
  static constexpr const char* kFlag = nullptr;
  template <typename W>
  struct State {
    W lr, exponent, beta;
    template <typename S>
    __device__ explicit State(const S& s) : lr(s[0]), exponent(s[1] * s[2]), beta(s[3]) {}
    __device__ void operator()(W g, W* v) const {
      v[1] = v[1] * beta + g * (W(1) - beta);
      v[0] -= lr * exp(exponent * SignOf(g) * SignOf(v[1])) * g;
    }
  };
};

// Of 16-bit types the CPU rounds after every operation, as TensorFlow does.
using WideFloats = Types<float, double>;
CUDA_KERNEL("ResourceApplyKerasMomentum").For<Update<KerasMomentumRule>::template Dense>(FloatTypes{});
CUDA_KERNEL("ResourceSparseApplyKerasMomentum").For<Update<KerasMomentumRule>::template Sparse>(FloatTypes{});
CUDA_DENSE_UPDATE("Adadelta", AdadeltaRule, FloatTypes);
CUDA_SPARSE_UPDATE("Adadelta", AdadeltaRule, FloatTypes);
CUDA_DENSE_UPDATE("CenteredRMSProp", CenteredRmsPropRule, FloatTypes);
CUDA_SPARSE_UPDATE("CenteredRMSProp", CenteredRmsPropRule, FloatTypes);
CUDA_DENSE_UPDATE("AdaMax", AdaMaxRule, FloatTypes);
CUDA_KERNEL("ResourceApplyAdamWithAmsgrad").For<Update<AmsgradRule>::template Dense>(FloatTypes{});
CUDA_DENSE_UPDATE("Ftrl", FtrlRule, WideFloats);
CUDA_SPARSE_UPDATE("Ftrl", FtrlRule, WideFloats);
CUDA_DENSE_UPDATE("FtrlV2", FtrlRule, WideFloats);
CUDA_SPARSE_UPDATE("FtrlV2", FtrlRule, WideFloats);
CUDA_DENSE_UPDATE("ProximalGradientDescent", ProximalGradientDescentRule, WideFloats);
CUDA_SPARSE_UPDATE("ProximalGradientDescent", ProximalGradientDescentRule, WideFloats);
CUDA_DENSE_UPDATE("ProximalAdagrad", ProximalAdagradRule, WideFloats);
CUDA_SPARSE_UPDATE("ProximalAdagrad", ProximalAdagradRule, WideFloats);
CUDA_DENSE_UPDATE("AddSign", AddSignRule, FloatTypes);
CUDA_DENSE_UPDATE("PowerSign", PowerSignRule, FloatTypes);

}  // namespace
}  // namespace millstream::cuda
