// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/training/sdca/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace millstream::sdca {
namespace {

// Weights that change, and the item at which their running sum passes a number: both in logarithmic time. A Fenwick
// tree: node i (from 1) holds the sum of the weights of as many items up to i as the lowest bit of i says.
class WeightedItems {
 public:
  explicit WeightedItems(std::vector<double> weights) : weights_(std::move(weights)), sums_(weights_.size() + 1) {
    for (size_t i = 1; i < sums_.size(); ++i) {
      sums_[i] += weights_[i - 1];
      if (const size_t above = i + LowestBit(i); above < sums_.size()) sums_[above] += sums_[i];
    }
  }

  double total() const {
    double sum = 0;
    for (size_t i = weights_.size(); i > 0; i -= LowestBit(i)) sum += sums_[i];
    return sum;
  }
  double weight(size_t item) const { return weights_[item]; }
  void set_weight(size_t item, double weight) {
    const double change = weight - weights_[item];
    weights_[item] = weight;
    for (size_t i = item + 1; i < sums_.size(); i += LowestBit(i)) sums_[i] += change;
  }
  // REQUIRES: there are items.
  size_t Find(double at) const {
    size_t item = 0;
    for (size_t step = std::bit_floor(weights_.size()); step > 0; step /= 2) {
      if (item + step >= sums_.size() || sums_[item + step] > at) continue;
      item += step;
      at -= sums_[item];
    }
    return std::min(item, weights_.size() - 1);  // rounding can lead beyond the end
  }

 private:
  static size_t LowestBit(size_t i) { return i & (~i + 1); }

  std::vector<double> weights_;
  std::vector<double> sums_;
};

// Uniform in [0, 1).
double Uniform(math::Philox& random) {
  const math::Philox::Block block = random.Next();
  return std::ldexp(static_cast<double>(uint64_t{block[0]} << 32 | block[1]), -64);
}

}  // namespace

std::vector<int64_t> AdaptiveOrder(const std::vector<double>& importance, const math::Philox& random) {
  constexpr double kDecay = 0.1, kLeast = 1e-3;
  double largest = 0;
  for (const double w : importance) {
    if (std::isfinite(w)) largest = std::max(largest, w);
  }
  std::vector<double> weights;
  weights.reserve(importance.size());
  for (const double w : importance) {  // relative, so that sums stay finite
    weights.push_back(largest > 0 && w > 0 ? std::clamp(w / largest, kLeast, 1.0) : kLeast);
  }
  WeightedItems items(std::move(weights));
  math::Philox generator = random;
  std::vector<int64_t> order;
  order.reserve(importance.size());
  while (order.size() < importance.size()) {
    const size_t item = items.Find(Uniform(generator) * items.total());
    items.set_weight(item, items.weight(item) * kDecay);
    order.push_back(static_cast<int64_t>(item));
  }
  return order;
}

}  // namespace millstream::sdca
