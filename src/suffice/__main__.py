"""`python -m suffice` is `suffice`."""

from suffice.cli import main

if __name__ == "__main__":
    main()
