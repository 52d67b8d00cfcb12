"""From an engineer's question to an answer: models by their shape, laws, levers. No torch."""
