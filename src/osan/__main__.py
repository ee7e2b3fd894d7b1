"""``python -m osan``."""

from osan.cli import main

if __name__ == "__main__":
    main()
