// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/random/generator.h"
#include "millstream/ops/random/parameters.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// Numbers of a generator a block at a time: four of them, or two with the precision of double.
class BlockDraws {
 public:
  BlockDraws(const math::Philox& philox, bool wide) : philox_(philox), wide_(wide) {}
  int size() const { return wide_ ? 2 : 4; }
  void Uniform(double* out) {
    const math::Philox::Block b = philox_.Next();
    if (wide_) {
      for (int i = 0; i < 2; ++i) out[i] = math::random_internal::ToDouble(b[2 * i], b[2 * i + 1]);
    } else {
      for (int i = 0; i < 4; ++i) out[i] = math::random_internal::ToFloat(b[i]);
    }
  }
  void Normal(double* out) {
    const math::Philox::Block b = philox_.Next();
    if (wide_) {
      const auto pair = math::random_internal::NormalPair(b[0], b[1], b[2], b[3]);
      out[0] = pair.first;
      out[1] = pair.second;
      return;
    }
    for (int i = 0; i < 4; i += 2) {
      const auto pair = math::random_internal::NormalPair(b[i], b[i + 1]);
      out[i] = pair.first;
      out[i + 1] = pair.second;
    }
  }

 private:
  math::Philox philox_;
  const bool wide_;
};

constexpr int kMaxTries = 1000;

// Robert, "Simulation of truncated normal variables" (1995): normal, uniform or shifted exponential proposals,
// whichever is accepted often enough for the bounds.
class TruncatedSampler {
 public:
  static bool Valid(double deviation, double low, double high) {
    return deviation > 0 && low < high && (std::isfinite(low) || std::isfinite(high));
  }
  // REQUIRES: Valid().
  TruncatedSampler(double mean, double deviation, double low, double high) : mean_(mean), scale_(deviation) {
    if (low == -std::numeric_limits<double>::infinity() || high < mean) {  // mirrored, so that `low` is finite
      std::swap(low, high);
      scale_ = -scale_;
    }
    low_ = (low - mean) / scale_;
    high_ = (high - mean) / scale_;
    const double root = std::sqrt(low_ * low_ + 4);
    rate_ = (low_ + root) / 2;
    normal_ = (low_ < -kFarBound && high_ >= 0) || (high_ > kFarBound && low_ <= 0);
    uniform_ = high_ - low_ < 2 * std::exp(0.5 + low_ * (low_ - root) / 4) / (low_ + root);
  }

  // Calls write(i, value) for i in [0, n); false if so many proposals in a row were refused that something is wrong.
  template <typename Write>
  bool Sample(BlockDraws draws, int64_t n, Write write) const {
    int tries = 0;
    for (int64_t i = 0; i < n;) {
      double z[4], u[4];
      const int size = Propose(draws, z, u);
      for (int k = 0; k < size && i < n; ++k) {
        if (!Accepted(z[k], u[k])) {
          if (++tries > kMaxTries) return false;
          continue;
        }
        write(i++, z[k] * scale_ + mean_);
        tries = 0;
      }
    }
    return true;
  }

 private:
  static constexpr double kFarBound = 1.3;  // bounds around the mean, one of them this far: normal proposals

  // Proposals, and uniform numbers that say whether they are accepted.
  int Propose(BlockDraws& draws, double* z, double* u) const {
    if (normal_) {
      draws.Normal(z);
      std::fill_n(u, draws.size(), 0.0);
      return draws.size();
    }
    draws.Uniform(z);
    if (uniform_) {
      draws.Uniform(u);
      for (int k = 0; k < draws.size(); ++k) z[k] = z[k] * (high_ - low_) + low_;
      return draws.size();
    }
    for (int k = 0; k < draws.size(); k += 2) {  // pairs
      const double first = z[k];
      u[k / 2] = z[k + 1];
      z[k / 2] = -std::log(first) / rate_ + low_;
    }
    return draws.size() / 2;
  }
  bool Accepted(double z, double u) const {
    if (normal_) return z >= low_ && z <= high_;
    if (uniform_) return u <= std::exp(((low_ < 0 ? 0 : low_ * low_) - z * z) / 2);
    const double off = low_ < rate_ ? rate_ - z : low_ - rate_;
    return u <= std::exp(-off * off / 2) && z < high_;
  }

  const double mean_;
  double scale_, low_ = 0, high_ = 0, rate_ = 0;
  bool normal_ = false, uniform_ = false;
};

// Blocks that belong to a batch of so many samples, as TensorFlow reserves them.
uint64_t BlocksOf(int64_t batches, int64_t samples) {
  return static_cast<uint64_t>(batches) * 2 * kMaxTries * static_cast<uint64_t>(samples + 3) / 4;
}

// `samples` outputs for each of `batches`, number s of batch b at place(b, s) if that is one of the tensor. Batches
// have the parameters of their number, or all the same.
template <typename T, typename Place>
Status FillSamples(const KernelContext& ctx, const math::Philox& philox, const Parameters& p, int64_t batches,
                   int64_t samples, Place place, Tensor* out) {
  const int64_t sets = p.batch.num_elements(), n = out->num_elements();
  for (int64_t b = 0; b < sets; ++b) {
    if (!TruncatedSampler::Valid(p.at(1, b), p.at(2, b), p.at(3, b)))
      return errors::InvalidArgument("Invalid parameters");
  }
  std::atomic<bool> failed{false};
  ctx.ParallelFor(batches, 100.0 * static_cast<double>(samples), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t set = sets == 1 ? 0 : b, count = std::min(samples, n - (sets == 1 ? b * samples : 0));
      math::Philox part = philox;
      part.Skip(BlocksOf(b, samples));
      const TruncatedSampler sampler(p.at(0, set), p.at(1, set), p.at(2, set), p.at(3, set));
      const bool ok = sampler.Sample(BlockDraws(part, std::is_same_v<T, double>), count,
                                     [&](int64_t s, double x) { out->data<T>()[place(b, s)] = static_cast<T>(x); });
      if (!ok) failed = true;
    }
  });
  if (failed) return errors::Internal("TruncatedNormal rejection sampler failed to accept a sample.");
  return OkStatus();
}

constexpr int64_t kBatchSize = 100;  // of samples with the same parameters

constexpr const char* kNames[] = {"means", "stddevs", "minvals", "maxvals"};

// Parameters are scalars, or one for each row of the output.
template <typename T>
class ParameterizedTruncatedNormal final : public Kernel {
 public:
  explicit ParameterizedTruncatedNormal(KernelInit& init)
      : stream_(init.Attr<int64_t>("seed"), init.Attr<int64_t>("seed2")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& sizes = ctx.input(0);
    if (sizes.rank() != 1) {
      return errors::InvalidArgument("Input shape should be a vector, got shape: ", sizes.shape().ToString());
    }
    if (sizes.dim(0) == 0) return errors::InvalidArgument("Shape tensor must not be empty, got ", sizes.DebugString());
    ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(sizes));
    for (int i = 0; i < 4; ++i) RETURN_IF_ERROR(CheckRows(ctx.input(i + 1), kNames[i], shape.dim(0)));
    ASSIGN_OR_RETURN(const Parameters p,
                     BroadcastParameters({&ctx.input(1), &ctx.input(2), &ctx.input(3), &ctx.input(4)}, "parameters"));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t n = shape.num_elements(), sets = p.batch.num_elements();
    const int64_t batches = sets == 1 ? (n + kBatchSize - 1) / kBatchSize : sets;
    const int64_t samples = sets == 1 ? kBatchSize : n / sets;
    return FillSamples<T>(
        ctx, stream_.Reserve(static_cast<int64_t>(BlocksOf(batches, samples))), p, batches, samples,
        [=](int64_t batch, int64_t s) { return batch * samples + s; }, out);
  }

 private:
  static Status CheckRows(const Tensor& t, const char* name, int64_t rows) {
    if (t.rank() > 1) {
      return errors::InvalidArgument("Input ", name,
                                     " should be a scalar or vector, got shape: ", t.shape().ToString());
    }
    if (t.rank() == 0 || t.dim(0) == 1 || t.dim(0) == rows) return OkStatus();
    return errors::InvalidArgument("Input ", name,
                                   " should have length 1 or shape[0], got shape: ", t.shape().ToString());
  }

  math::PhiloxStream stream_;
};

// The shape is that of the output, and ends with that of the parameters.
template <typename T>
class StatelessParameterizedTruncatedNormal final : public Kernel {
 public:
  explicit StatelessParameterizedTruncatedNormal(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const math::Philox philox, GeneratorFromSeed(ctx.input(1)));
    ASSIGN_OR_RETURN(const Parameters p,
                     BroadcastParameters({&ctx.input(2), &ctx.input(3), &ctx.input(4), &ctx.input(5)},
                                         "means, stddevs, minvals, maxvals"));
    if (ctx.input(0).rank() != 1) {
      return errors::InvalidArgument("Input shape should be a vector, got shape: ", ctx.input(0).shape().ToString());
    }
    ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(0)));
    RETURN_IF_ERROR(CheckEndsWith(shape, p.batch));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t sets = p.batch.num_elements(), n = shape.num_elements();
    const int64_t batches = sets == 1 ? (n + kBatchSize - 1) / kBatchSize : sets;
    const int64_t samples = sets == 1 ? kBatchSize : n / sets;
    return FillSamples<T>(
        ctx, philox, p, batches, samples,
        [=](int64_t batch, int64_t s) { return sets == 1 ? batch * samples + s : s * sets + batch; }, out);
  }
};

Status RowsShape(ShapeContext& c) {
  for (int i = 1; i < 5; ++i) {
    PartialShape unused;
    RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(i), 1, &unused));
  }
  ASSIGN_OR_RETURN(PartialShape shape, c.ConstantAsShape(0));
  c.set_output(0, std::move(shape));
  return OkStatus();
}
Status BroadcastShape(ShapeContext& c) {
  PartialShape joined = c.input(2);
  for (int i = 3; i < 6; ++i) {
    ASSIGN_OR_RETURN(joined, ShapeContext::Broadcast(joined, c.input(i)));
  }
  return SeededShape(c);
}

OP("ParameterizedTruncatedNormal")
    .Input("shape: T")
    .Input("means: dtype")
    .Input("stdevs: dtype")
    .Input("minvals: dtype")
    .Input("maxvals: dtype")
    .Output("output: dtype")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("dtype: {half, bfloat16, float, double}")
    .Attr("T: {int32, int64}")
    .Stateful()
    .Shape(RowsShape)
    .NotDifferentiable()
    .Cpu<ParameterizedTruncatedNormal>(Types<Half, float, double>{}, "dtype")
    .HostMemory("shape")
    .Doc("Normal numbers between bounds, with parameters for all or for each row.");

OP("StatelessParameterizedTruncatedNormal")
    .Input("shape: S")
    .Input("seed: Tseed")
    .Input("means: dtype")
    .Input("stddevs: dtype")
    .Input("minvals: dtype")
    .Input("maxvals: dtype")
    .Output("output: dtype")
    .Attr("S: {int32, int64}")
    .Attr("Tseed: {int32, int64} = DT_INT64")
    .Attr("dtype: {half, float, double}")
    .Shape(BroadcastShape)
    .NotDifferentiable()
    .Cpu<StatelessParameterizedTruncatedNormal>(Types<Half, float, double>{}, "dtype")
    .HostMemory("shape")
    .HostMemory("seed")
    .Doc("Normal numbers between bounds that depend on nothing but `seed`.");

}  // namespace
}  // namespace millstream
