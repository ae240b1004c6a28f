// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_GUARDIAN_H_
#define MILLSTREAM_LAUNCH_GUARDIAN_H_

#include <sys/types.h>

#include <string>

namespace millstream::launch {

// A small process that outlives this one by a moment: if this process dies without cleaning up, it kills the process
// groups it was told of and removes the scratch folder. Not thread-safe.
class Guardian {
 public:
  explicit Guardian(const std::string& scratch_folder);  // "": none
  // The guardian ends and touches nothing; the scratch folder is removed here.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  void Watch(pid_t process_group);
  void Forget(pid_t process_group);

 private:
  const std::string scratch_folder_;
  int pipe_ = -1;  // -1: there is no guardian, since no process could be made
  pid_t pid_ = -1;
};

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_GUARDIAN_H_
