"""``python -m keyhole`` is the command line, where the ``keyhole`` script is not on the path."""

from keyhole.cli import main

if __name__ == "__main__":
    main()
