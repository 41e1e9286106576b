"""Who may do what, and the record of who did: roles, tokens, the audit chain."""
