"""What a problem is made of: parts by kind and name, and the fields that they declare."""
