"""Learning beyond three steps: the loop, optimisers, rates, the certified optimum.

Here belongs a learner, one file in `learners` each, and what a training needs.
The tests after it, and its record, are in `experiment`.
"""
