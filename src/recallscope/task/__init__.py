"""What is asked: sequences, labels, facts and the randomness they are drawn with.

Here belongs a kind of question, one file in `kinds` each. No torch but in data sets.
How a model reads the sequences is in `model`.
"""
