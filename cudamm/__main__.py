"""Run the command line: `python -m cudamm`."""

from cudamm.cli import main

if __name__ == "__main__":
    main()
