"""`python -m recallscope` is `recallscope`."""

from recallscope.cli import main

if __name__ == "__main__":
    main()
