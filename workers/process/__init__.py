"""A worker process: how it claims jobs, renews their leases, reports results and shuts down."""
