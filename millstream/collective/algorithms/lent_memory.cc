// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/algorithms/lent_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "millstream/base/sealed_memory.h"

namespace millstream::collective {
namespace {

constexpr size_t kPage = 4096;

struct Challenge {
  uint64_t words[2] = {0, 0};
};
constexpr size_t kMaxRanks = kPage / sizeof(Challenge);

// How the others of the host find a region, and where in it this rank can show that the region is its own.
struct Name {
  int64_t process = 0;
  int64_t descriptor = -1;  // -1: there is nothing to map
  int64_t page = 0;
  Challenge challenge;  // for the others
};

template <typename T>
StatusOr<std::vector<T>> Tell(const LentMemory::Exchange& exchange, const T& own) {
  std::vector<char> all;
  RETURN_IF_ERROR(exchange({reinterpret_cast<const char*>(&own), sizeof(T)}, &all));
  std::vector<T> told(all.size() / sizeof(T));
  std::memcpy(static_cast<void*>(told.data()), all.data(), told.size() * sizeof(T));
  return told;
}

// A page of the region, for the challenges; null: this process cannot lend.
char* TakePage(SharedRegion* region, int ranks) {
  if (region == nullptr || static_cast<size_t>(ranks) > kMaxRanks) return nullptr;
  return static_cast<char*>(region->Take(kPage));
}

}  // namespace

StatusOr<std::unique_ptr<LentMemory>> LentMemory::Agree(int rank, int ranks, const Exchange& exchange) {
  SharedRegion* const region = SharedRegion::Get();
  char* const page = TakePage(region, ranks);
  Name own;
  if (page != nullptr && getrandom(&own.challenge, sizeof(own.challenge), 0) == sizeof(own.challenge)) {
    own.process = getpid();
    own.descriptor = region->OpenForReading();
    own.page = static_cast<int64_t>(region->OffsetOf(page));
  }
  const absl::Cleanup give_back = [&] {
    if (own.descriptor >= 0) ::close(static_cast<int>(own.descriptor));
    if (page != nullptr) region->Discard(page, kPage);
  };
  ASSIGN_OR_RETURN(const std::vector<Name> names, Tell(exchange, own));
  std::unique_ptr<LentMemory> lent(new LentMemory(region, ranks));
  bool good = own.descriptor >= 0;
  for (int r = 0; r < ranks && good; ++r) {
    const Name& name = names[static_cast<size_t>(r)];
    std::memcpy(page + static_cast<size_t>(r) * sizeof(Challenge), &name.challenge, sizeof(Challenge));
    const int fd = OpenDescriptorOf(name.process, name.descriptor, O_RDONLY);
    const uint64_t bytes = fd < 0 ? 0 : SealedMemoryBytes(fd).value_or(0);
    void* const begin = bytes == 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (fd >= 0) ::close(fd);
    good = begin != MAP_FAILED;
    if (!good) break;
    madvise(begin, bytes, MADV_DONTDUMP);
    lent->mappings_[static_cast<size_t>(r)] = {static_cast<const char*>(begin), bytes};
  }
  ASSIGN_OR_RETURN(const std::vector<char> written, Tell<char>(exchange, good ? 1 : 0));
  for (int r = 0; r < ranks; ++r) {
    const char* const shown = good ? lent->Find(names[static_cast<size_t>(r)].page, r, kPage) : nullptr;
    good = shown != nullptr && written[static_cast<size_t>(r)] == 1 &&
           std::memcmp(shown + static_cast<size_t>(rank) * sizeof(Challenge), &own.challenge, sizeof(Challenge)) == 0;
  }
  ASSIGN_OR_RETURN(const std::vector<char> agreed, Tell<char>(exchange, good ? 1 : 0));
  for (const char one : agreed) good = good && one == 1;
  return good ? std::move(lent) : nullptr;
}

LentMemory::~LentMemory() {
  for (const Mapping& mapping : mappings_) {
    if (mapping.begin != nullptr) munmap(const_cast<char*>(mapping.begin), mapping.bytes);
  }
}

int64_t LentMemory::WhereIs(const void* data) const {
  return region_->Contains(data) ? static_cast<int64_t>(region_->OffsetOf(data)) : -1;
}

const char* LentMemory::Find(int64_t where, int rank, size_t bytes) const {
  const Mapping& mapping = mappings_[static_cast<size_t>(rank)];
  if (where < 0 || mapping.begin == nullptr || static_cast<uint64_t>(where) > mapping.bytes ||
      bytes > mapping.bytes - static_cast<uint64_t>(where)) {
    return nullptr;
  }
  return mapping.begin + where;
}

}  // namespace millstream::collective
