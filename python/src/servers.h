// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_PYTHON_SRC_SERVERS_H_
#define MILLSTREAM_PYTHON_SRC_SERVERS_H_

#include <string>

#include "millstream/distributed/server.h"

namespace millstream::python {

// The running server of this process with that target; null if there is none. Programs name servers by strings
// (tf.Session(server.target)), so that somebody has to know them all; servers of Python are never destroyed.
Server* FindServer(const std::string& target);

}  // namespace millstream::python

#endif  // MILLSTREAM_PYTHON_SRC_SERVERS_H_
