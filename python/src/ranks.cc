// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/ranks.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/module.h"

namespace nb = nanobind;

namespace millstream::python {
namespace {

// (system, job, rank, size, host) of a process that srun or mpirun has started, else None.
nb::object FindRanksOfEnvironment() {
  const std::optional<launch::Ranks> ranks = Check(launch::FindRanks());
  if (!ranks) return nb::none();
  return nb::make_tuple(ranks->system, ranks->job, ranks->rank, ranks->size, ranks->host);
}

nb::tuple Meet(const std::string& system, const std::string& job, int rank, int size, const std::string& host,
               double timeout_seconds) {
  launch::Ranks ranks;
  ranks.system = system;
  ranks.job = job;
  ranks.rank = rank;
  ranks.size = size;
  ranks.host = host;
  launch::RankOptions options;
  options.timeout = std::chrono::milliseconds(static_cast<int64_t>(timeout_seconds * 1000));
  StatusOr<launch::RankAddresses> met = errors::Internal("");
  {
    ReleaseGil release;
    met = launch::MeetRanks(ranks, options);
  }
  launch::RankAddresses addresses = Check(std::move(met));
  return nb::make_tuple(addresses.hosts, addresses.addresses, addresses.token);
}

}  // namespace

void BindRanks(nb::module_& m) {
  m.def("find_ranks", &FindRanksOfEnvironment);
  m.def("meet_ranks", &Meet);
}

}  // namespace millstream::python
