#!/usr/bin/env bash
# Runs the stages one after the other: each Job begins when the one before it is complete.
set -euo pipefail
cd "$(dirname "$0")"

stage() {
  kubectl delete job "$1" --ignore-not-found
  kubectl apply -f "$2"
  # Whichever comes first; a Job that failed ends the script.
  kubectl wait --for=condition=Complete --timeout=-1s "job/$1" &
  local complete=$!
  kubectl wait --for=condition=Failed --timeout=-1s "job/$1" &
  local failed=$!
  local ended
  wait -n -p ended "$complete" "$failed"
  kill "$complete" "$failed" 2>/dev/null || true
  if [ "$ended" = "$failed" ]; then
    echo "$1 failed: kubectl logs job/$1" >&2
    exit 1
  fi
}

kubectl apply -f settings.yaml
stage paper-write write.yaml
stage paper-merge merge.yaml
stage paper-score score.yaml
stage paper-merge merge.yaml
kubectl logs job/paper-merge
