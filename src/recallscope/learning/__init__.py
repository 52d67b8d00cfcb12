"""How the transformer learns: three gradient steps, finite or in the limit."""
