// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/strings/fingerprint.h"
#include "millstream/ops/strings/string_map.h"

namespace millstream {
namespace {

template <uint64_t (*hash)(absl::string_view)>
class HashBucket : public Kernel {
 public:
  explicit HashBucket(KernelInit& init) : buckets_(static_cast<uint64_t>(init.Attr<int64_t>("num_buckets"))) {}
  Status Compute(KernelContext& ctx) override {
    return MapStrings<int64_t>(ctx, 30,
                               [this](const std::string& s) { return static_cast<int64_t>(hash(s) % buckets_); });
  }

 private:
  const uint64_t buckets_;
};

class StrongHashBucket : public Kernel {
 public:
  explicit StrongHashBucket(KernelInit& init) : buckets_(static_cast<uint64_t>(init.Attr<int64_t>("num_buckets"))) {
    const auto key = init.Attr<std::vector<int64_t>>("key");
    if (key.size() != 2) {
      init.Fail(errors::InvalidArgument("Key must have 2 elements"));
      return;
    }
    key_[0] = static_cast<uint64_t>(key[0]);
    key_[1] = static_cast<uint64_t>(key[1]);
  }
  Status Compute(KernelContext& ctx) override {
    return MapStrings<int64_t>(ctx, 50, [this](const std::string& s) {
      return static_cast<int64_t>(SipHash(key_[0], key_[1], s) % buckets_);
    });
  }

 private:
  const uint64_t buckets_;
  uint64_t key_[2] = {0, 0};
};

uint64_t OldHash(absl::string_view s) { return Murmur64(s, 0xDECAFCAFFE); }

OP("StringToHashBucket")
    .Input("string_tensor: string")
    .Output("output: int64")
    .Attr("num_buckets: int >= 1")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<HashBucket<OldHash>>()
    .Doc("A bucket for each string; kept for old models.");

OP("StringToHashBucketFast")
    .Input("input: string")
    .Output("output: int64")
    .Attr("num_buckets: int >= 1")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<HashBucket<Fingerprint64>>()
    .Doc("A bucket for each string, always the same one.");

OP("StringToHashBucketStrong")
    .Input("input: string")
    .Output("output: int64")
    .Attr("num_buckets: int >= 1")
    .Attr("key: list(int)")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<StrongHashBucket>()
    .Doc("Assigns each string to a bucket by a keyed hash (SipHash).");

}  // namespace
}  // namespace millstream
