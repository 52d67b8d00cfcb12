"""What the measuring commands do, as one function each: searches and runs in, a result out."""
