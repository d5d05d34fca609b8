#!/bin/sh
# sum.sh N UNROLL SAMPLES: adds the numbers 1 to N, UNROLL of them in each turn of the loop. Needs GNU date for nanoseconds.
n=$1 unroll=$2 samples=$3

body="s += i"
j=1
while [ "$j" -lt "$unroll" ]; do
    body="$body + (i + $j)"
    j=$((j + 1))
done
program="BEGIN { for (i = 1; i + $unroll - 1 <= $n; i += $unroll) $body; printf \"%.0f\", s }"

while [ "$samples" -gt 0 ]; do
    start=$(date +%s%N)
    sum=$(awk "$program")
    end=$(date +%s%N)
    echo "name=sum t_ns=$((end - start)) checksum=$sum"
    samples=$((samples - 1))
done
