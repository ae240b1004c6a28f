// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/math/random/philox.h"
#include "millstream/math/random/random.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/random/candidate_sampler.h"

// Steps of k-means: where to begin, and which centers are near.
namespace millstream {
namespace {

float RandomFloat(math::PhiloxSampler* random) { return math::random_internal::ToFloat(random->Next()); }

Status CheckMatrix(const Tensor& t, const char* name) {
  return t.rank() == 2 ? OkStatus() : errors::InvalidArgument("Input ", name, " should be a matrix.");
}

Status ReadScalar(const Tensor& t, const char* name, int64_t* value) {
  if (t.rank() != 0) return errors::InvalidArgument("Input ", name, " should be a scalar.");
  *value = t.scalar<int64_t>();
  return OkStatus();
}

// Half of the square of the distance.
float HalfSquare(const float* a, const float* b, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum / 2;
}

bool IsCancelled(const Cancellation* c) { return c != nullptr && c->IsCancelled(); }

// Draws points far from those drawn before (k-means++): each with a probability in proportion to the square of its
// distance to the nearest of them.
class PlusPlus {
 public:
  PlusPlus(const Tensor& points, int64_t seed)
      : points_(points.data<float>()),
        n_(points.dim(0)),
        width_(points.dim(1)),
        random_(math::Philox(static_cast<uint64_t>(seed), 0)),
        nearest_(static_cast<size_t>(n_), std::numeric_limits<float>::infinity()),
        sums_(static_cast<size_t>(n_)) {}

  // The best of 1 + retries draws.
  int64_t Sample(int64_t retries, const Cancellation* cancellation) {
    std::partial_sum(nearest_.begin(), nearest_.end(), sums_.begin());
    int64_t best = -1;
    float least = 0;
    std::vector<float> best_nearest, with;
    for (int64_t i = 0; i <= retries && !IsCancelled(cancellation); ++i) {
      const int64_t point = Draw();
      with = nearest_;
      for (int64_t k = 0; k < n_; ++k) {
        with[k] = std::min(with[k], HalfSquare(points_ + k * width_, points_ + point * width_, width_));
      }
      const float potential = std::accumulate(with.begin(), with.end(), 0.f);
      if (best >= 0 && !(potential < least)) continue;
      best = point;
      least = potential;
      best_nearest.swap(with);
    }
    first_ = false;
    if (best >= 0) nearest_.swap(best_nearest);
    return std::max<int64_t>(best, 0);
  }

 private:
  int64_t Draw() {
    if (first_) {
      return static_cast<int64_t>(ExactUniform(static_cast<uint64_t>(n_), [this] {
        const uint64_t low = random_.Next();
        return uint64_t{random_.Next()} << 32 | low;
      }));
    }
    const float place = RandomFloat(&random_) * sums_.back();
    const int64_t at = std::upper_bound(sums_.begin(), sums_.end(), place) - sums_.begin();
    return std::min(at, n_ - 1);
  }

  const float* const points_;
  const int64_t n_, width_;
  math::PhiloxSampler random_;
  bool first_ = true;
  std::vector<float> nearest_, sums_;
};

Status KmeansPlusPlusCpu(KernelContext& ctx) {
  const Tensor& points = ctx.input(0);
  int64_t samples = 0, seed = 0, retries = 0;
  RETURN_IF_ERROR(CheckMatrix(points, "points"));
  RETURN_IF_ERROR(ReadScalar(ctx.input(1), "num_to_sample", &samples));
  RETURN_IF_ERROR(ReadScalar(ctx.input(2), "seed", &seed));
  RETURN_IF_ERROR(ReadScalar(ctx.input(3), "num_retries_per_sample", &retries));
  if (points.dim(0) <= 0) return errors::InvalidArgument("Expected points.rows() > 0.");
  if (samples <= 0) return errors::InvalidArgument("Expected num_to_sample > 0.");
  if (samples > points.dim(0)) {
    return errors::InvalidArgument("Expected num_to_sample <= points.rows(). ", samples, " vs ", points.dim(0), ".");
  }
  if (retries < 0) retries = 2 + static_cast<int64_t>(std::log(static_cast<double>(samples)));
  const int64_t width = points.dim(1);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({samples, width})));
  PlusPlus draws(points, seed);
  for (int64_t i = 0; i < samples; ++i) {
    std::copy_n(points.data<float>() + draws.Sample(retries, ctx.cancellation()) * width, width,
                out->data<float>() + i * width);
  }
  return OkStatus();
}

// One Markov chain of k-MC2: its last state.
Status Kmc2ChainCpu(KernelContext& ctx) {
  const Tensor& distances = ctx.input(0);
  int64_t seed = 0;
  if (distances.rank() != 1) return errors::InvalidArgument("Input distances should be a vector.");
  RETURN_IF_ERROR(ReadScalar(ctx.input(1), "seed", &seed));
  if (distances.dim(0) == 0) return errors::InvalidArgument("Expected distances_tensor.size() > 0.");
  math::PhiloxSampler random{math::Philox(static_cast<uint64_t>(seed), 0)};
  const float* d = distances.data<float>();
  int64_t state = 0;
  for (int64_t i = 1; i < distances.dim(0); ++i) {
    if (d[i] > RandomFloat(&random) * d[state]) state = i;
  }
  ctx.set_output(0, Tensor::Scalar<int64_t>(state));
  return OkStatus();
}

using Neighbor = std::pair<float, int64_t>;  // distance, number

// What is no number is far away.
bool IsNearer(const Neighbor& a, const Neighbor& b) {
  if (std::isnan(a.first) || std::isnan(b.first)) {
    return std::isnan(a.first) == std::isnan(b.first) ? a.second < b.second : std::isnan(b.first);
  }
  return a < b;
}

Status NearestNeighborsCpu(KernelContext& ctx) {
  const Tensor &points = ctx.input(0), &centers = ctx.input(1);
  int64_t k = 0;
  RETURN_IF_ERROR(CheckMatrix(points, "points"));
  RETURN_IF_ERROR(CheckMatrix(centers, "centers"));
  RETURN_IF_ERROR(ReadScalar(ctx.input(2), "k", &k));
  if (points.dim(0) <= 0) return errors::InvalidArgument("Expected points.rows() > 0.");
  if (points.dim(1) != centers.dim(1)) {
    return errors::InvalidArgument("Expected point_dimensions == center_dimensions: ", points.dim(1), " vs ",
                                   centers.dim(1), ".");
  }
  if (k < 0) return errors::InvalidArgument("Expected k >= 0, got ", k);
  k = std::min(k, centers.dim(0));
  const int64_t width = points.dim(1), n = centers.dim(0);
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make({{points.dim(0), k}}));
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, shape));
  ASSIGN_OR_RETURN(Tensor * distances, ctx.AllocateOutput(1, shape));
  const double cost = static_cast<double>(n * (width + 4)) + 100;
  ctx.ParallelFor(points.dim(0), cost, [&](int64_t begin, int64_t end) {
    std::vector<Neighbor> found(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t c = 0; c < n; ++c) {
        found[c] = {2 * HalfSquare(points.data<float>() + i * width, centers.data<float>() + c * width, width), c};
      }
      std::partial_sort(found.begin(), found.begin() + k, found.end(), IsNearer);
      for (int64_t c = 0; c < k; ++c) {
        distances->data<float>()[i * k + c] = found[c].first;
        indices->data<int64_t>()[i * k + c] = found[c].second;
      }
    }
  });
  return OkStatus();
}

OP("KmeansPlusPlusInitialization")
    .Input("points: float")
    .Input("num_to_sample: int64")
    .Input("seed: int64")
    .Input("num_retries_per_sample: int64")
    .Output("samples: float")
    .Shape(UnknownShape)
    .Cpu(KmeansPlusPlusCpu)
    .Expensive()
    .Doc("Points to begin k-means with, far from each other with a high probability (k-means++).");

OP("KMC2ChainInitialization")
    .Input("distances: float")
    .Input("seed: int64")
    .Output("index: int64")
    .Shape(ScalarShape)
    .Cpu(Kmc2ChainCpu)
    .Doc("A point drawn by a Markov chain over the points' distances to the centers so far (k-MC2).");

OP("NearestNeighbors")
    .Input("points: float")
    .Input("centers: float")
    .Input("k: int64")
    .Output("nearest_center_indices: int64")
    .Output("nearest_center_distances: float")
    .Shape(UnknownShape)
    .Cpu(NearestNeighborsCpu)
    .Expensive()
    .Doc("The k nearest centers of each point, and the squares of their distances.");

}  // namespace
}  // namespace millstream
