"""Runs a plan: on threads of this machine or on a cluster, kept in a store that resumes."""
