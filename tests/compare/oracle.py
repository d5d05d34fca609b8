"""Writes oracle.json: the same questions answered by scipy and Apache Otava.

python -m venv v && v/bin/pip install numpy==2.2.0 scipy==1.16.3 apache-otava==0.8.0 && v/bin/python tests/compare/oracle.py
"""
import json
import pathlib

import numpy as np
import otava.analysis
import scipy
from scipy import stats

rng = np.random.default_rng(20261121)


def ranks():
    for n, m, ties in [(3, 4, False), (8, 8, False), (5, 40, False), (20, 20, False), (12, 15, True), (30, 30, False), (30, 30, True), (200, 150, True)]:
        a, b = rng.lognormal(0, 0.1, n), rng.lognormal(0.05, 0.1, m)
        if ties:
            a, b = a.round(2), b.round(2)
        method = "exact" if n * m <= 400 and not ties else "asymptotic"
        found = stats.mannwhitneyu(a, b, alternative="two-sided", method=method)
        yield {"a": a.tolist(), "b": b.tolist(), "u": float(found.statistic), "p": float(found.pvalue)}


def log_ratio(a, b, axis=-1):
    return np.log(np.median(b, axis=axis) / np.median(a, axis=axis))


def intervals():
    for n, m, shift in [(30, 30, 1.05), (31, 30, 1.0), (10, 12, 0.9), (101, 51, 1.02)]:
        a, b = rng.lognormal(0, 0.02, n), shift * rng.lognormal(0, 0.03, m)
        found = stats.bootstrap((a, b), log_ratio, n_resamples=20000, confidence_level=0.99, method="BCa", rng=np.random.default_rng(1), vectorized=True)
        interval = found.confidence_interval
        spread = found.bootstrap_distribution
        yield {
            "a": a.tolist(), "b": b.tolist(), "observed": float(log_ratio(a, b)),
            "low": float(interval.low), "high": float(interval.high),
            "spread": [float(np.quantile(spread, q)) for q in (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)],
        }
    a, b = rng.lognormal(0, 0.02, 15), rng.lognormal(0.01, 0.03, 15)
    found = stats.bootstrap((a, b), log_ratio, n_resamples=499, confidence_level=0.95, method="BCa", rng=np.random.default_rng(2), vectorized=True)
    resamples = np.sort(found.bootstrap_distribution)
    interval = found.confidence_interval
    yield {"a": a.tolist(), "b": b.tolist(), "observed": float(log_ratio(a, b)), "low": float(interval.low), "high": float(interval.high), "resamples": resamples.tolist()}


def histories():
    def noisy(levels, count, spread):
        return np.concatenate([rng.normal(level, level * spread, count) for level in levels])

    for name, steps, series in [
        ("flat", [], noisy([100], 200, 0.01)),
        ("one step of 5 %", [60], noisy([100, 105], 60, 0.01)),
        ("up and back", [40, 80], noisy([100, 108, 100], 40, 0.01)),
        ("two steps", [70, 140], noisy([10, 10.5, 12], 70, 0.02)),
        ("short", [8], noisy([50, 55], 8, 0.005)),
        ("one outlier", [], np.concatenate([noisy([100], 40, 0.01), [160.0], noisy([100], 40, 0.01)])),
        ("long", [150, 300], noisy([100, 103, 101], 150, 0.008)),
    ]:
        found, _ = otava.analysis.compute_change_points(series.tolist(), window_len=50, max_pvalue=0.001)
        yield {"name": name, "steps": steps, "series": series.tolist(), "changes": [int(one.index) for one in found]}


truth = {"scipy": scipy.__version__, "ranks": list(ranks()), "intervals": list(intervals()), "histories": list(histories())}
path = pathlib.Path(__file__).with_name("oracle.json")
path.write_text(json.dumps(truth) + "\n")
for one in truth["histories"]:
    print(one["name"], len(one["series"]), one["changes"])
