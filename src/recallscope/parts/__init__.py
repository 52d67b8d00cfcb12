"""Parts of a problem by kind and name, and the fields that they declare."""
