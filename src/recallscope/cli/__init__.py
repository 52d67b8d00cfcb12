"""The command line: a file for each command, with its options in its signature.

Here belongs what a terminal reads and prints. Nothing imports this package.
What a command does is in the function of the same name.
"""
