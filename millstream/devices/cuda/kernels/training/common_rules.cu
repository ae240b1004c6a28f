// SPDX-License-Identifier: Apache-2.0
// The update rules of the optimizers that are used most. What they compute is said in millstream/math/update.h.
#include "millstream/devices/cuda/kernels/training/update_kernel.cuh"

namespace millstream::cuda {
namespace {

struct GradientDescentRule {
  static constexpr int kVariables = 1;
  static constexpr const char* kScalars[] = {"alpha"};
  static constexpr const char* kFlag = nullptr;
  template <typename W>
  struct State {
    W alpha;
    template <typename S>
    __device__ explicit State(const S& s) : alpha(s[0]) {}
    __device__ void operator()(W g, W* v) const { v[0] -= alpha * g; }
  };
};

struct MomentumRule {
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
      v[1] = v[1] * momentum + g;
      v[0] -= nesterov ? g * lr + v[1] * momentum * lr : v[1] * lr;
    }
  };
};

struct AdagradRule {
  static constexpr int kVariables = 2;
  static constexpr const char* kScalars[] = {"lr", "epsilon"};
  static constexpr const char* kFlag = "update_slots";
  template <typename W>
  struct State {
    W lr, epsilon;
    bool update_slots;
    template <typename S>
    __device__ explicit State(const S& s) : lr(s[0]), epsilon(s[1]), update_slots(s.flag) {}
    __device__ void operator()(W g, W* v) const {
      if (update_slots) v[1] += g * g;
      v[0] -= g * lr / (sqrt(v[1]) + epsilon);
    }
  };
};

struct AdamRule {
  static constexpr int kVariables = 3;
  static constexpr const char* kScalars[] = {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"};
  static constexpr const char* kFlag = "use_nesterov";
  template <typename W>
  struct State {
    W lr, beta1, rest1, rest2, epsilon;
    bool nesterov;
    template <typename S>
    __device__ explicit State(const S& s)
        : lr(s[2] * sqrt(W(1) - s[1]) / (W(1) - s[0])),
          beta1(s[3]),
          rest1(W(1) - s[3]),
          rest2(W(1) - s[4]),
          epsilon(s[5]),
          nesterov(s.flag) {}
    __device__ void operator()(W g, W* v) const {
      v[1] += (g - v[1]) * rest1;
      v[2] += (g * g - v[2]) * rest2;
      const W along = nesterov ? v[1] * beta1 + g * rest1 : v[1];
      v[0] -= along * lr / (sqrt(v[2]) + epsilon);
    }
  };
};

struct RmsPropRule {
  static constexpr int kVariables = 3;
  static constexpr const char* kScalars[] = {"lr", "rho", "momentum", "epsilon"};
  static constexpr const char* kFlag = nullptr;
  template <typename W>
  struct State {
    W lr, rest, momentum, epsilon;
    template <typename S>
    __device__ explicit State(const S& s) : lr(s[0]), rest(W(1) - s[1]), momentum(s[2]), epsilon(s[3]) {}
    __device__ void operator()(W g, W* v) const {
      v[1] += (g * g - v[1]) * rest;
      v[2] = v[2] * momentum + g * lr / sqrt(v[1] + epsilon);
      v[0] -= v[2];
    }
  };
};

CUDA_DENSE_UPDATE("GradientDescent", GradientDescentRule, FloatTypes);
CUDA_DENSE_UPDATE("Momentum", MomentumRule, FloatTypes);
CUDA_SPARSE_UPDATE("Momentum", MomentumRule, FloatTypes);
CUDA_DENSE_UPDATE("Adagrad", AdagradRule, FloatTypes);
CUDA_SPARSE_UPDATE("Adagrad", AdagradRule, FloatTypes);
CUDA_DENSE_UPDATE("AdagradV2", AdagradRule, FloatTypes);
CUDA_SPARSE_UPDATE("AdagradV2", AdagradRule, FloatTypes);
CUDA_DENSE_UPDATE("Adam", AdamRule, FloatTypes);
CUDA_DENSE_UPDATE("RMSProp", RmsPropRule, FloatTypes);
CUDA_SPARSE_UPDATE("RMSProp", RmsPropRule, FloatTypes);

}  // namespace
}  // namespace millstream::cuda
