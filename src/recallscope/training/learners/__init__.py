"""The learners that come with this package, one file each: `PART` is the learner."""
