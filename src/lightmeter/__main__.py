"""``python -m lightmeter``."""

import sys

from lightmeter.cli import main

if __name__ == "__main__":
    sys.exit(main())
