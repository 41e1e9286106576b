"""A worker process: how it takes jobs, keeps their leases, reports, and ends."""
