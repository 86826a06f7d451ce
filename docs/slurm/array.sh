#!/bin/bash
# A run as a job array of Slurm: every task computes one part of the plan, into one results folder that all nodes see.
#
#   sbatch --array=1-8 docs/slurm/array.sh experiment=gs/fig9 scale=paper
#
# Tasks must be numbered from 1. Any task may be killed and repeated, alone or with all others: what is stored is not
# computed again, and the numbers are those of one process. To repeat a task alone, give the number of parts:
#
#   PARTS=8 sbatch --array=3 docs/slurm/array.sh experiment=gs/fig9 scale=paper
#
# The task that completes the run draws its figure and logs to MLflow. Set PYTHON to the Python that has dpbench.
#SBATCH --job-name=dpbench
#SBATCH --array=1-8
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --output=dpbench-%A_%a.out
set -euo pipefail
: "${SLURM_ARRAY_TASK_ID:?is not set: submit this script with sbatch --array=1-8}"

exec "${PYTHON:-python}" -m dpbench run "$@" \
    "runner.shard=$SLURM_ARRAY_TASK_ID/${PARTS:-$SLURM_ARRAY_TASK_COUNT}" \
    "runner.jobs=${SLURM_CPUS_PER_TASK:-1}"
