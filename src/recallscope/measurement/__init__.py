"""From outcomes to statements, each with its interval; nothing here runs an experiment."""
