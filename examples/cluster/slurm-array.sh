#!/bin/bash
# Many sweeps on a Slurm cluster, without Ray: a job array in which each task has its own sweep.
#
# An example that has not been run on a cluster here.
#
#     sbatch slurm-array.sh          # tasks 1 to 8: sweep-1.toml into facts-1, and so on
#
# A store has one writer at a time, so each task has a store of its own. Nothing listens on any
# port. A minute before the time limit Slurm sends SIGTERM, which the sweep takes for Ctrl-C: it
# keeps what is done and ends. Submit again, and every task resumes.
#
# When all is done, merge the stores; the records that are there already are left alone:
#
#     for task in {1..8}; do recallscope records --store facts merge "facts-$task"; done
#
# A large grid is cut into sweep files by its seeds: seeds = 100, with seed = 0, 100, 200 and so on.

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
exec recallscope sweep "sweep-$SLURM_ARRAY_TASK_ID.toml" \
  --store "facts-$SLURM_ARRAY_TASK_ID" --executor processes --workers "$SLURM_CPUS_PER_TASK" --yes
