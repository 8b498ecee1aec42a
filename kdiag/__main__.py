"""`python -m kdiag`: the program, where its script is not on the path."""

from kdiag_cli.__main__ import main

if __name__ == "__main__":
    main()
