#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""A Prometheus scrapes a `weir run` that works on jobs; panels that people have already, and weir's own, get data.

Usage: tests/prometheus/scrape.py WEIR

The panels on work queues of kubernetes-mixin and of kubebuilder's dashboard for controller-runtime, the panels of
packaging/grafana and the alerts of packaging/prometheus are asked over Prometheus's HTTP API. Each must return a
finite number, those of work queues one for each consumer. Expressions that cannot are listed in CANNOT and must return
nothing. Jobs are put until all have data, for a minute at most. Exit status 77: Prometheus is not installed.
"""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/support"))
from port import lease_port  # noqa: E402
CONSUMERS = {"works", "fails"}
LIMIT = 60

MIXIN = [
    'sum(rate(workqueue_adds_total{job="$job", instance=~"$instance", cluster="$cluster"}[$__rate_interval]))'
    ' by (instance, name)',
    'sum(rate(workqueue_depth{job="$job", instance=~"$instance", cluster="$cluster"}[$__rate_interval]))'
    ' by (instance, name)',
    'histogram_quantile(0.99, sum(rate(workqueue_queue_duration_seconds_bucket'
    '{job="$job", instance=~"$instance", cluster="$cluster"}[$__rate_interval])) by (instance, name, le))',
    'rate(process_cpu_seconds_total{job="$job", instance=~"$instance", cluster="$cluster"}[$__rate_interval])',
    'process_resident_memory_bytes{job="$job", instance=~"$instance", cluster="$cluster"}',
    'go_goroutines{job="$job", instance=~"$instance", cluster="$cluster"}',
]

QUANTILE = ('histogram_quantile({}, sum(rate({}_bucket{{job="$job", namespace="$namespace"}}[5m]))'
            ' by (instance, name, le))')
CONTROLLER_RUNTIME = [
    'workqueue_depth{job="$job", namespace="$namespace"}',
    *(QUANTILE.format(quantile, family)
      for family in ("workqueue_queue_duration_seconds", "workqueue_work_duration_seconds")
      for quantile in ("0.50", "0.90", "0.99")),
    'sum(rate(workqueue_adds_total{job="$job", namespace="$namespace"}[2m])) by (instance, name)',
    'rate(workqueue_unfinished_work_seconds{job="$job", namespace="$namespace"}[5m])',
    'sum(rate(workqueue_retries_total{job="$job", namespace="$namespace"}[5m])) by (instance, name)',
    'controller_runtime_active_workers{job="$job", namespace="$namespace"}',
    'sum(rate(controller_runtime_reconcile_errors_total{job="$job", namespace="$namespace"}[5m])) by (instance, pod)',
    'sum(rate(controller_runtime_reconcile_total{job="$job", namespace="$namespace"}[5m])) by (instance, pod)',
]

# What begins an expression, and why it returns nothing here.
CANNOT = {
    "go_goroutines": "weir is no Go program",
    "controller_runtime_active_workers": "it is of controllers, not of queues",
    "sum(rate(controller_runtime_reconcile_errors_total": "it is of controllers, not of queues",
    "sum(rate(controller_runtime_reconcile_total": "it is of controllers, not of queues",
    "weir_node_up": "a store has no nodes",
    "weir_broker_up == 0": "the broker answers",
    "weir_oldest_ready_seconds > 600": "no job has waited for ten minutes",
    'increase(weir_jobs_total{event="timeout"}': "no worker dies",
}

VARIABLES = {"$job": "weir", "$namespace": "jobs", "$cluster": "", "$instance": ".*", "$queue": ".*",
             "$__rate_interval": "1m"}

SETUP = """
broker = "sqlite:{folder}/jobs.db"
consumer works {{ program = {{true}} }}
consumer fails {{ program = {{false}}
 attempts = 2
 retry-delay = 10ms }}
http {{ listen = "127.0.0.1:{port}" }}
"""


def config(port):
    """For Prometheus. JSON is YAML."""
    return {"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [os.path.join(TOP, "packaging/prometheus/weir.rules.yml")],
            "scrape_configs": [{"job_name": "weir", "static_configs": [
                {"targets": [f"127.0.0.1:{port}"], "labels": {"namespace": "jobs"}}]}]}


def substitute(expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def reason(expression):
    return next((why for start, why in CANNOT.items() if expression.startswith(start)), None)


class Prometheus:
    def __init__(self, folder, port):
        self.port = lease_port()
        with open(f"{folder}/prometheus.yml", "w", encoding="ascii") as file:
            json.dump(config(port), file)
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=error"])

    def ask(self, path, **fields):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(fields)}"
        try:
            with urllib.request.urlopen(url) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None
            sys.exit(f"{url}: {error}: {error.read().decode()}")
        except urllib.error.URLError:
            if self.process.poll() is not None:
                sys.exit(f"prometheus ended with status {self.process.returncode}")
            return None

    def series(self, expression):
        """The labels of the series that are finite numbers."""
        data = self.ask("query", query=substitute(expression))
        return [one["metric"] for one in data["result"] if math.isfinite(float(one["value"][1]))] if data else []

    def has_data(self, expression):
        found = self.series(expression)
        return CONSUMERS <= {one.get("name") for one in found} if "workqueue_" in expression else bool(found)

    def alerts(self):
        data = self.ask("rules")
        return [rule["query"] for group in data["groups"] for rule in group["rules"]]


def panels():
    with open(os.path.join(TOP, "packaging/grafana/weir-jobs.json"), encoding="utf-8") as file:
        return [target["expr"] for panel in json.load(file)["panels"] for target in panel["targets"]]


def wait(what, is_there, meanwhile=lambda: None):
    end = time.monotonic() + LIMIT
    while not is_there():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {LIMIT} s")
        meanwhile()
        time.sleep(0.2)


def check(prometheus, put):
    wait("three scrapes", lambda: prometheus.series('sum_over_time(up{job="$job"}[1m]) >= 3'))
    sources = {"kubernetes-mixin": MIXIN, "controller-runtime": CONTROLLER_RUNTIME, "packaging/grafana": panels(),
               "packaging/prometheus": prometheus.alerts()}
    expressions = [one for source in sources.values() for one in source]
    left = {one for one in expressions if reason(one) is None}

    def all_have_data():
        left.difference_update([one for one in left if prometheus.has_data(one)])
        return not left

    def work():
        put("works", 5)
        put("fails", 5)

    try:
        wait("data", all_have_data, work)
    except SystemExit:
        print("without data:", *sorted(left), sep="\n  ", file=sys.stderr)
        raise
    for start in CANNOT:
        listed = [one for one in expressions if one.startswith(start)]
        if not listed or any(prometheus.series(one) for one in listed):
            sys.exit(f"CANNOT: {start}: not needed")
    for name, source in sources.items():
        cannot = [one for one in source if reason(one) is not None]
        print(f"{name}: {len(source) - len(cannot)} of {len(source)} expressions have data")
        for one in cannot:
            print(f"  nothing, since {reason(one)}: {one}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if shutil.which("prometheus") is None:
        print("SKIPPED: prometheus is not installed", file=sys.stderr)
        sys.exit(77)
    weir = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="weir-scrape-") as folder:
        port = lease_port()
        with open(f"{folder}/weir.conf", "w", encoding="ascii") as file:
            file.write(SETUP.format(folder=folder, port=port))

        def run(*words, text=""):
            subprocess.run([weir, *words, "-b", f"sqlite:{folder}/jobs.db"], input=text, text=True, check=True,
                           stdout=subprocess.DEVNULL)

        def put(tube, count):
            run("put", "-l", tube, text="x\n" * count)

        for tube in ("idle", "paused"):
            put(tube, 1)
        run("pause", "paused")
        processes = []
        try:
            processes.append(subprocess.Popen([weir, "run", f"{folder}/weir.conf"], stderr=subprocess.DEVNULL))
            prometheus = Prometheus(folder, port)
            processes.append(prometheus.process)
            check(prometheus, put)
        finally:
            for process in processes:
                process.terminate()
                process.wait()


main()
