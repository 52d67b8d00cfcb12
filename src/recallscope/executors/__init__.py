"""Where jobs run: this process, processes of this machine, or Ray; any job will do."""
