"""Experiments as data first, pictures second: compare learners, tune them fairly, reproduce the paper."""
