"""Where jobs run: this process, processes of this machine, Ray, or the user's own executor.

All are `concurrent.futures.Executor`s. Nothing here knows of recall: any job will do.
"""
