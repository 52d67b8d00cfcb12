"""The laws that come with this package, one in each file."""
