// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/algorithms/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "millstream/base/sealed_memory.h"

namespace millstream::collective {
namespace {

constexpr size_t kPage = 4096;  // in front of the data: the key
constexpr size_t kMaxBytes = size_t{1} << 44;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Status SystemError(const char* what) { return errors::Unavailable(what, ": ", std::strerror(errno)); }

}  // namespace

SharedSegment::~SharedSegment() {
  CloseDescriptor();
  if (memory_ != nullptr) munmap(memory_, name_.bytes);
}

SharedSegment& SharedSegment::operator=(SharedSegment&& o) noexcept {
  std::swap(name_, o.name_);
  std::swap(memory_, o.memory_);
  std::swap(fd_, o.fd_);
  return *this;
}

void SharedSegment::CloseDescriptor() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

char* SharedSegment::data() const { return memory_ == nullptr ? nullptr : memory_ + kPage; }
size_t SharedSegment::bytes() const { return memory_ == nullptr ? 0 : name_.bytes - kPage; }

bool SharedSegment::Contains(const void* data, size_t bytes) const {
  const char* const begin = static_cast<const char*>(data);
  return memory_ != nullptr && begin >= this->data() && begin <= this->data() + this->bytes() &&
         bytes <= static_cast<size_t>(this->data() + this->bytes() - begin);
}

StatusOr<SharedSegment> SharedSegment::Map(int fd, const SegmentName& name) {
  SharedSegment segment;
  void* const memory = mmap(nullptr, name.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return SystemError("mmap of shared memory");
  segment.memory_ = static_cast<char*>(memory);
  segment.name_ = name;
  return segment;
}

StatusOr<SharedSegment> SharedSegment::Create(size_t bytes) {
  if (bytes > kMaxBytes) return errors::ResourceExhausted("A shared segment of ", bytes, " bytes");
  SegmentName name;
  name.process = getpid();
  name.bytes = kPage + (bytes + kPage - 1) / kPage * kPage;
  if (getrandom(name.key, sizeof(name.key), 0) != sizeof(name.key)) return SystemError("getrandom");
  const int fd = memfd_create("millstream_collective", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return SystemError("memfd_create");
  name.descriptor = fd;
  StatusOr<SharedSegment> segment = SharedSegment();
  if (ftruncate(fd, static_cast<off_t>(name.bytes)) != 0) {
    segment = SystemError("ftruncate");
  } else if (fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    segment = SystemError("sealing shared memory");
  } else {
    segment = Map(fd, name);
  }
  if (!segment.ok()) {
    ::close(fd);
    return segment;
  }
  segment->fd_ = fd;
  std::memcpy(segment->memory_, name.key, sizeof(name.key));
  return segment;
}

StatusOr<SharedSegment> SharedSegment::Open(const SegmentName& name) {
  if (name.bytes < kPage || name.bytes > kMaxBytes || name.process <= 0 || name.descriptor < 0) {
    return errors::InvalidArgument("Not the name of a shared segment");
  }
  const std::string path = absl::StrCat("/proc/", name.process, "/fd/", name.descriptor);
  const int fd = OpenDescriptorOf(name.process, name.descriptor, O_RDWR);
  if (fd < 0) return SystemError(path.c_str());
  StatusOr<SharedSegment> segment =
      errors::InvalidArgument(path, " is not a sealed memory file of ", name.bytes, " bytes");
  if (SealedMemoryBytes(fd).value_or(0) >= name.bytes) segment = Map(fd, name);
  ::close(fd);
  RETURN_IF_ERROR(segment.status());
  if (std::memcmp(segment->memory_, name.key, sizeof(name.key)) != 0) {
    return errors::InvalidArgument(path, " is not the segment that was meant");
  }
  return segment;
}

}  // namespace millstream::collective
