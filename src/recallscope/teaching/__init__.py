"""Facts from a file taught to a real checkpoint: recall by exposure, and what is lost or kept.

Here belongs what drives the Trainer of transformers and reads a user's facts and texts.
Trainings of the paper's tasks are in `training`, and closed forms for real models in `planning`.
"""
