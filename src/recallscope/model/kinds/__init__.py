"""The models that come with this package, one file each: `PART` is the model."""
