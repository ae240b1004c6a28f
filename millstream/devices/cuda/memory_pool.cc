// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/memory_pool.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace millstream::cuda {
namespace {

std::string Size(size_t bytes) {
  if (bytes >= size_t{1} << 30) return absl::StrFormat("%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  if (bytes >= size_t{1} << 20) return absl::StrFormat("%.2f MiB", static_cast<double>(bytes) / (1 << 20));
  return absl::StrCat(bytes, " bytes");
}

}  // namespace

MemoryPool::MemoryPool(MemorySource source, size_t limit, size_t smallest_chunk)
    : source_(std::move(source)), limit_(limit), smallest_chunk_(smallest_chunk) {}

MemoryPool::~MemoryPool() {
  for (const auto& [chunk, bytes] : chunks_) source_.give_back(chunk);
}

void* MemoryPool::Allocate(size_t bytes, const char* holder) {
  if (bytes > limit_) return nullptr;
  bytes = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  MutexLock lock(mu_);
  auto block = TakeFree(bytes);
  if (block == blocks_.end() && Grow(bytes)) block = TakeFree(bytes);
  if (block == blocks_.end()) return nullptr;
  const size_t rest = block->second.bytes - bytes;
  block->second.bytes = bytes;
  block->second.holder = holder;
  if (rest > 0) AddFree(blocks_.emplace(block->first + bytes, Block{rest, nullptr, false}).first);
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return block->first;
}

MemoryPool::Blocks::iterator MemoryPool::TakeFree(size_t bytes) {
  const auto fit = free_.lower_bound({bytes, nullptr});
  if (fit == free_.end()) return blocks_.end();
  const auto block = blocks_.find(fit->second);
  free_.erase(fit);
  return block;
}

bool MemoryPool::Grow(size_t bytes) {
  // Chunks grow with what is held, so that there are few of them.
  size_t chunk = std::max({bytes, smallest_chunk_, held_ / 4 / kAlignment * kAlignment});
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (held_ + chunk <= limit_) {
      if (void* const fresh = source_.take(chunk); fresh != nullptr) {
        auto* const at = static_cast<char*>(fresh);
        chunks_.emplace(at, chunk);
        held_ += chunk;
        AddFree(blocks_.emplace(at, Block{chunk, nullptr, true}).first);
        return true;
      }
    }
    // No room for a large chunk: what is needed will do, and chunks that nobody uses make room.
    if (chunk > bytes) {
      chunk = bytes;
    } else {
      ReleaseUnusedChunks();
    }
  }
  return false;
}

void MemoryPool::ReleaseUnusedChunks() {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
    const auto block = blocks_.find(chunk->first);
    if (block->second.holder != nullptr || block->second.bytes != chunk->second) {
      ++chunk;
      continue;
    }
    free_.erase({block->second.bytes, block->first});
    blocks_.erase(block);
    held_ -= chunk->second;
    source_.give_back(chunk->first);
    chunk = chunks_.erase(chunk);
  }
}

void MemoryPool::AddFree(Blocks::iterator block) { free_.emplace(block->second.bytes, block->first); }

void MemoryPool::Deallocate(void* address) {
  MutexLock lock(mu_);
  auto block = blocks_.find(static_cast<char*>(address));
  in_use_ -= block->second.bytes;
  block->second.holder = nullptr;
  const auto join_next = [&](Blocks::iterator at) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto next = std::next(at);
    if (next == blocks_.end() || next->second.first || next->second.holder != nullptr ||
        next->first != at->first + at->second.bytes) {
      return;
    }
    free_.erase({next->second.bytes, next->first});
    at->second.bytes += next->second.bytes;
    blocks_.erase(next);
  };
  join_next(block);
  if (!block->second.first && block != blocks_.begin()) {
    const auto before = std::prev(block);
    if (before->second.holder == nullptr) {
      free_.erase({before->second.bytes, before->first});
      before->second.bytes += block->second.bytes;
      blocks_.erase(block);
      block = before;
    }
  }
  AddFree(block);
}

bool MemoryPool::Holds(const void* address) const {
  auto* const at = const_cast<char*>(static_cast<const char*>(address));
  MutexLock lock(mu_);
  auto chunk = chunks_.upper_bound(at);
  if (chunk == chunks_.begin()) return false;
  --chunk;
  return at < chunk->first + chunk->second;
}

size_t MemoryPool::bytes_in_use() const {
  MutexLock lock(mu_);
  return in_use_;
}

size_t MemoryPool::peak_bytes_in_use() const {
  MutexLock lock(mu_);
  return peak_;
}

size_t MemoryPool::bytes_held() const {
  MutexLock lock(mu_);
  return held_;
}

std::string MemoryPool::Holders(size_t count) const {
  std::map<std::string, std::pair<size_t, size_t>> by_holder;  // bytes, blocks
  {
    MutexLock lock(mu_);
    for (const auto& [address, block] : blocks_) {
      if (block.holder == nullptr) continue;
      auto& [bytes, blocks] = by_holder[block.holder];
      bytes += block.bytes;
      ++blocks;
    }
  }
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [holder, sum] : by_holder) {
    sorted.emplace_back(sum.first, absl::StrCat(holder, " ", Size(sum.first), " in ", sum.second, " blocks"));
  }
  std::sort(sorted.rbegin(), sorted.rend());
  if (sorted.size() > count) sorted.resize(count);
  return absl::StrJoin(sorted, ", ", [](std::string* out, const auto& item) { out->append(item.second); });
}

}  // namespace millstream::cuda
