"""The metrics that come with this package, one file each: `PART` is the metric."""
