// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_TABLE_H_
#define MILLSTREAM_IO_TABLE_H_

#include <map>
#include <string>

#include "millstream/base/status.h"

namespace millstream {

// Sorted string tables in LevelDB's format, as the index of a checkpoint: small, so they are held as a whole.
using Table = std::map<std::string, std::string>;

// The bytes of a table file.
StatusOr<std::string> EncodeTable(const Table& table);
// DataLoss if the bytes are no table or a checksum is wrong. `name` is for messages.
StatusOr<Table> DecodeTable(const std::string& bytes, const std::string& name);

}  // namespace millstream

#endif  // MILLSTREAM_IO_TABLE_H_
