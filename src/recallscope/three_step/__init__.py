"""The paper's algorithm: three gradient steps."""
