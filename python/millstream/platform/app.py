# SPDX-License-Identifier: Apache-2.0
"""tf.app.run()."""
import sys

from millstream.platform import flags


def run(main=None, argv=None):
    """Reads the flags, calls main(rest of the arguments) and leaves the program with what it returns."""
    argv = sys.argv if argv is None else argv
    rest = flags.FLAGS(argv, known_only=True)
    main = main or sys.modules["__main__"].main
    sys.exit(main(rest))
