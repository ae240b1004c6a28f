// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "millstream/base/memory_budget.h"
#include "millstream/base/mutex.h"
#include "millstream/runtime/local_server.h"
#include "millstream/runtime/session.h"
#include "millstream/runtime/sessions/local_session.h"

namespace millstream {
namespace {

constexpr int kMaxThreads = 1024;  // as in a ConfigProto

struct Factories {
  Mutex mu;
  std::map<std::string, std::vector<SessionFactory>> by_scheme ABSL_GUARDED_BY(mu);
};

Factories& AllFactories() {
  static Factories* const factories = new Factories;  // sessions may be made until the process ends
  return *factories;
}

std::vector<SessionFactory> FactoriesOf(const std::string& scheme) {
  Factories& all = AllFactories();
  MutexLock lock(all.mu);
  auto it = all.by_scheme.find(scheme);
  return it == all.by_scheme.end() ? std::vector<SessionFactory>() : it->second;
}

}  // namespace

void RegisterSessionFactory(const std::string& scheme, SessionFactory factory) {
  Factories& all = AllFactories();
  MutexLock lock(all.mu);
  all.by_scheme[scheme].push_back(std::move(factory));
}

StatusOr<std::unique_ptr<Session>> NewSession(const SessionOptions& options) {
  if (options.server != nullptr) return options.server->NewSession(options);
  if (options.target.empty() || options.target == "local") {
    if (std::max(options.inter_op_threads, options.intra_op_threads) > kMaxThreads)
      return errors::InvalidArgument("a thread pool has at most ", kMaxThreads, " threads");
    // Threads take address space, of which what comes after them may find none.
    std::unique_ptr<Session> session;
    RETURN_IF_ERROR(CatchOutOfMemory([&] {
      session = std::make_unique<LocalSession>(options);
      return OkStatus();
    }));
    return session;
  }
  const std::vector<SessionFactory> factories = FactoriesOf(options.target.substr(0, options.target.find("://")));
  for (auto factory = factories.rbegin(); factory != factories.rend(); ++factory) {
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session, (*factory)(options));
    if (session != nullptr) return session;
  }
  return errors::NotFound("No session factory registered for the given session options: {target: \"", options.target,
                          "\"}");
}

}  // namespace millstream
