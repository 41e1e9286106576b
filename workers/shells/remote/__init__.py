"""Shells on the hosts: over SSH, and on the machine itself."""
