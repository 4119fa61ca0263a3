#!/usr/bin/env bash
# The llama-3-8b shape in bf16 to 32,768 tokens on a CUDA GPU, within three minutes, and the gates on the result.
#
#   benchmarks/probe_llama_3_8b.sh [folder for the results]
#
# Needs python with pcache-cli[probe] and a CUDA build of torch. Rehearsal without a GPU:
#   MODEL=tiny-llama DEVICE=cpu DTYPE=float32 MAX_TOKENS=2048 benchmarks/probe_llama_3_8b.sh
set -euo pipefail
cd "$(dirname "$0")/.."
results="${1:-benchmarks/calibrations}"
model="${MODEL:-llama-3-8b}"
device="${DEVICE:-cuda}"
python="${PYTHON:-python}"
mkdir -p "$results"

if [ "$device" = cuda ]; then
  machine="$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)"
  # For the record: clocks and whether anything throttles.
  nvidia-smi --query-gpu=name,clocks.sm,clocks.mem,power.draw,clocks_throttle_reasons.active --format=csv
else
  machine="$(uname -m)-$(nproc)-cores"
fi
name="$(echo "$machine" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9-')-$model"

# The probe writes what it has when it is interrupted, so an interrupt comes before the three minutes are over.
ended=0
timeout --preserve-status --signal=INT 175 "$python" -m pcache_cli probe \
  --model "$model" --device "$device" --dtype "${DTYPE:-bfloat16}" --attention "${ATTENTION:-sdpa}" \
  --max-tokens "${MAX_TOKENS:-32768}" --budget "${BUDGET:-140s}" \
  --output "$results/$name.json" --plot "$results/$name.png" || ended=$?
echo "pcache probe ended with $ended"
"$python" -m benchmarks.probe_gates "$results/$name.json"
