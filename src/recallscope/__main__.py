"""`python -m recallscope` is `recallscope`."""

from recallscope.cli.main import main

if __name__ == "__main__":
    main()
