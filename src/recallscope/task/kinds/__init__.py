"""The tasks that come with this package, one file each: `PART` is the task."""
