# SPDX-License-Identifier: Apache-2.0
"""tf.app.run()."""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from millstream.platform import flags

if TYPE_CHECKING:
    from typing import Any, NoReturn


def run(main: Any = None, argv: Any = None) -> NoReturn:
    """Reads the flags, calls main(rest of the arguments) and leaves the program with what it returns."""
    argv = sys.argv if argv is None else argv
    rest = flags.FLAGS(argv, known_only=True)
    main = main or sys.modules["__main__"].main
    sys.exit(main(rest))
