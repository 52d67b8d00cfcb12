#!/bin/bash
# A sweep on several nodes of a Slurm cluster, over Ray.
#
# An example that has not been run on a cluster here; its paths, sizes and ports are yours to set.
#
#     sbatch slurm.sh
#
# This folder, with sweep.toml and the store in it, must be on a file system that all nodes see and
# that has locks. Two minutes before the time limit Slurm sends SIGTERM; the sweep then does what it
# does on Ctrl-C: it keeps what is done and ends. Submit the same job again, and it goes on.

#SBATCH --job-name=recallscope
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --exclusive
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@120

set -euo pipefail
source "$PWD/.venv/bin/activate"

# Whoever reaches Ray's ports and has the token can run any code as you: only you can read it.
secret=$(mktemp -d "$PWD/.ray-XXXXXX")
(umask 077 && head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' > "$secret/token")
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH="$secret/token"
export RAY_USAGE_STATS_ENABLED=0
trap 'kill $(jobs -p) 2> /dev/null || true; rm -rf "$secret"' EXIT

# The same ports on every node, for the rules of a firewall.
ports=(
  --node-manager-port=6380 --object-manager-port=6381 --runtime-env-agent-port=6382
  --dashboard-agent-grpc-port=6383 --dashboard-agent-listen-port=6384 --metrics-export-port=6385
  --min-worker-port=20000 --max-worker-port=20999
)
node=(--num-cpus="$SLURM_CPUS_PER_TASK" --num-gpus=0 --object-store-memory=268435456
  --temp-dir="/tmp/ray-$SLURM_JOB_ID" --disable-usage-stats --block "${ports[@]}")

# The first node is the head, and this script runs on it.
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
address=$(python -c 'import ray; print(ray.util.get_node_ip_address())')
srun --nodes=1 --ntasks=1 --nodelist="$head" --cpus-per-task="$SLURM_CPUS_PER_TASK" \
  ray start --head --node-ip-address="$address" --port=6379 --include-dashboard=false "${node[@]}" \
  > "ray-$SLURM_JOB_ID-head.log" 2>&1 &
others=$((SLURM_JOB_NUM_NODES - 1))
if [ "$others" -gt 0 ]; then
  sleep 15
  srun --nodes="$others" --ntasks="$others" --exclude="$head" \
    --cpus-per-task="$SLURM_CPUS_PER_TASK" ray start --address="$address:6379" "${node[@]}" \
    > "ray-$SLURM_JOB_ID-others.log" 2>&1 &
fi

# A sweep takes the CPUs that are there when it starts: wait for all of them.
timeout 300 python - "$address:6379" $((SLURM_JOB_NUM_NODES * SLURM_CPUS_PER_TASK)) <<'END'
import sys
import time

import ray

while True:
    try:
        ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
        break
    except (ConnectionError, RuntimeError, ValueError):  # the head is not up yet
        time.sleep(2)
while ray.cluster_resources().get("CPU", 0) < int(sys.argv[2]):
    time.sleep(1)
END

# In the background, for a shell that waits for a command hands on no signal.
recallscope sweep sweep.toml --store "$PWD/facts" --executor ray --address "$address:6379" --yes &
sweep=$!
trap 'kill -TERM "$sweep"' TERM
status=0
wait "$sweep" || status=$?
if kill -0 "$sweep" 2> /dev/null; then # it was SIGTERM that ended the wait
  status=0
  wait "$sweep" || status=$?
fi
exit "$status"
