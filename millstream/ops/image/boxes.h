// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_IMAGE_BOXES_H_
#define MILLSTREAM_OPS_IMAGE_BOXES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <vector>

// Choosing among boxes that overlap.
namespace millstream {

// The part of the union of two boxes, given by any two opposite corners, that both cover.
inline float Overlap(const float* a, const float* b) {
  const auto area = [](const float* p) {
    return (std::max(p[0], p[2]) - std::min(p[0], p[2])) * (std::max(p[1], p[3]) - std::min(p[1], p[3]));
  };
  const float area_a = area(a), area_b = area(b);
  if (area_a <= 0 || area_b <= 0) return 0;
  const auto length = [&](int d) {
    const float low = std::max(std::min(a[d], a[d + 2]), std::min(b[d], b[d + 2]));
    const float high = std::min(std::max(a[d], a[d + 2]), std::max(b[d], b[d + 2]));
    return std::max(high - low, 0.0f);
  };
  const float both = length(0) * length(1);
  return both / (area_a + area_b - both);
}

struct Suppression {
  int64_t limit = 0;
  float overlap = 0.5f;
  float score = -std::numeric_limits<float>::infinity();
  float sigma = 0;  // above 0: scores are lowered by a Gaussian of the overlap instead of dropping boxes
};

struct Selection {
  std::vector<int32_t> boxes;
  std::vector<float> scores;
};

// Takes boxes from the highest score down, leaving out those that overlap one that was taken.
template <typename OverlapOf>
Selection Select(const Suppression& s, std::span<const float> scores, OverlapOf overlap_of) {
  struct Candidate {
    int32_t box;
    float score;
    size_t seen;  // chosen boxes it has been compared with
  };
  const auto after = [](const Candidate& a, const Candidate& b) {
    return a.score < b.score || (a.score == b.score && a.box > b.box);
  };
  std::priority_queue<Candidate, std::vector<Candidate>, decltype(after)> queue(after);
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > s.score) queue.push({static_cast<int32_t>(i), scores[i], 0});
  }
  Selection chosen;
  const float scale = s.sigma > 0 ? -0.5f / s.sigma : 0;
  while (static_cast<int64_t>(chosen.boxes.size()) < s.limit && !queue.empty()) {
    Candidate next = queue.top();
    queue.pop();
    const float before = next.score;
    bool dropped = false;
    for (size_t k = chosen.boxes.size(); k-- > next.seen && !dropped;) {
      const float overlap = overlap_of(next.box, chosen.boxes[k]);
      next.score *= s.sigma > 0 || overlap <= s.overlap ? std::exp(scale * overlap * overlap) : 0;
      dropped = s.sigma <= 0 && overlap > s.overlap;
      if (next.score <= s.score) break;
    }
    next.seen = chosen.boxes.size();
    if (dropped) continue;
    if (next.score == before) {
      chosen.boxes.push_back(next.box);
      chosen.scores.push_back(next.score);
    } else if (next.score > s.score) {
      queue.push(next);
    }
  }
  return chosen;
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_IMAGE_BOXES_H_
