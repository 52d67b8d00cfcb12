"""The embedding families that come with this package, one file each: `PART` is the family."""
