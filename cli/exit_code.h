// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_EXIT_CODE_H_
#define MILLSTREAM_CLI_EXIT_CODE_H_

#include "millstream/base/status.h"

namespace millstream::cli {

// 0 is success, 128 + n the end by signal n, and a launched task's own code is passed on.
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
// For help texts and the manual.
inline constexpr char kExitCodesHelp[] =
    "Exit codes: 0 success; 1 failure; 2 wrong usage (an unknown command or flag, a wrong value, flags that do not go "
    "together); 128 + n ended by signal n (130: Ctrl-C). train and launch return the code of the first task that "
    "failed.";

// One line on standard error. Returns kFailed.
int Fail(const Status& status);
// The same for an error in the flags: kWrongUsage if the status is InvalidArgument, else kFailed (a file that is not
// there, a host that does not answer).
int FailFlags(const Status& status);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_EXIT_CODE_H_
