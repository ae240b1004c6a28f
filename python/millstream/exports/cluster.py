# SPDX-License-Identifier: Apache-2.0
EXPORTS = {
    "millstream.training.server_lib": "train.ClusterSpec train.Server distribute.Server=Server",
}
