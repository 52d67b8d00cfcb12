"""The learners that come with this package: `PART` of a file each, and those of one table."""

TABLES = {
    "recallscope.learning.training.optimisers": ("adam", "adamw", "gd", "muon", "polar", "sgd")
}
"""Files with several parts, `PARTS` by name: listed here, as a list of names loads none of them."""
