// SPDX-License-Identifier: Apache-2.0
// How a group hands its collectives to another library.
#include <numeric>

#include "millstream/collective/group.h"

namespace millstream::collective {

Status Group::RunBackend(Collective collective, const std::function<Status(const Backend::Stop&)>& body) {
  return Run(collective, 0, [&](Algorithm /*algorithm*/, uint64_t /*operation*/, Deadline deadline) {
    return body([&]() -> Status {
      RETURN_IF_ERROR(transport_->status());
      if (std::chrono::steady_clock::now() < deadline) return OkStatus();
      return errors::DeadlineExceeded(backend_->name(), " has not ended the operation");
    });
  });
}

Status Group::UseBackend(const std::string& name) {
  StatusOr<std::unique_ptr<Backend>> made = MakeBackend(name);
  StatusOr<std::string> address = "";
  if (made.ok()) {
    address = (*made)->Address(rank_, size());
  } else {
    address = made.status();
  }
  const std::string own = address.ok() ? *address : "";  // nothing: this rank does not have it
  ASSIGN_OR_RETURN(const std::vector<size_t> sizes, AllGatherSizes(own.size()));
  std::string all(std::accumulate(sizes.begin(), sizes.end(), size_t{0}), '\0');
  const auto before = std::accumulate(sizes.begin(), sizes.begin() + rank_, size_t{0});
  all.replace(before, own.size(), own);
  RETURN_IF_ERROR(AllGather(all.data(), sizes));
  RETURN_IF_ERROR(address.status());
  std::vector<std::string> addresses;
  for (size_t i = 0, at = 0; i < sizes.size(); at += sizes[i++]) {
    if (sizes[i] == 0) {
      return errors::FailedPrecondition(members_[i].ToString(), " cannot use the back end '", name, "' of collectives");
    }
    addresses.push_back(all.substr(at, sizes[i]));
  }
  if (size() == 1) return OkStatus();
  std::unique_ptr<Backend> backend = *std::move(made);
  const Deadline deadline = std::chrono::steady_clock::now() + options_.timeout;
  RETURN_IF_ERROR(backend->Join(addresses, [&]() -> Status {
    RETURN_IF_ERROR(transport_->status());
    return std::chrono::steady_clock::now() < deadline ? OkStatus() : errors::DeadlineExceeded("not all have joined");
  }));
  backend_ = std::move(backend);
  return OkStatus();
}

}  // namespace millstream::collective
