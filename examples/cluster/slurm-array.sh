#!/bin/bash
# One sweep on a Slurm cluster, without Ray: a job array in which each task runs its part of it.
#
# An example that has not been run on a cluster here.
#
#     sbatch slurm-array.sh          # tasks 1 to 8: parts 1 to 8 of sweep.toml, all into facts
#
# Parts take about equally long, and every task computes the same parts. All write to one store, on
# a file system that the nodes share or at an address such as s3://bucket/facts. Nothing listens on
# any port. A minute before the time limit Slurm sends SIGTERM. The sweep treats it like Ctrl-C: it
# keeps what is done and ends. Submit again, and every task resumes.

#SBATCH --job-name=recallscope
#SBATCH --array=1-8
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=32
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@60

set -euo pipefail
source "$PWD/.venv/bin/activate"

# exec: the signal is for the sweep, not for a shell that waits for it.
exec recallscope sweep sweep.toml --part "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
  --store facts --executor processes --workers "$SLURM_CPUS_PER_TASK" --yes
