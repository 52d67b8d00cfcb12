"""Public functions: searches and runs in, a result out."""
