"""The form of a runbook: jobs with parameters, their steps, and alternatives for known errors."""
