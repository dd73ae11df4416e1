#!/usr/bin/env bash
# Submits the stages as job arrays: each begins when all shards of the one before it have ended well.
# A shard that was killed or requeued goes on where it was.
set -euo pipefail

shards=${SHARDS:-4}
run="--suite math --model $HOME/models/Llama-3.1-8B-Instruct --out $HOME/runs/math --per-subset 50
  --upstream http://vllm.example.org:8000/v1 --upstream-model meta-llama/Llama-3.1-8B-Instruct
  --judge https://api.example.com/v1 --judge-model large"
run=$(echo $run)

submit() {
  sbatch --parsable --kill-on-invalid-dep=yes --requeue "$@"
}
shard="--shard \$SLURM_ARRAY_TASK_ID/$shards --yes"

write=$(submit --job-name=write --array="1-$shards" --cpus-per-task=2 --mem=24G \
  --wrap="npx flinch bench run $run --stages generate,check,locate --streams 64 $shard")
joined=$(submit --job-name=join --dependency="afterok:$write" \
  --wrap="npx flinch bench merge $HOME/runs/math")
score=$(submit --job-name=score --dependency="afterok:$joined" --array="1-$shards" --cpus-per-task=16 --mem=48G \
  --wrap="npx flinch bench run $run --stages sample,score --streams 64 $shard")
submit --job-name=evaluate --dependency="afterok:$score" \
  --wrap="npx flinch bench merge $HOME/runs/math && npx flinch bench report $HOME/runs/math --out $HOME/runs/report"
