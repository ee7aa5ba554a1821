"""Runs what `rows` describe: data, worker processes, rounds, reports."""
