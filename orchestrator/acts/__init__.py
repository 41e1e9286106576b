"""What a person may do: one function for each act, the same for every face.

An act takes a `Caller` and values. It refuses (`Rejected`), or acts and returns a value, mostly
`Done[…]`: it checks a view, posts a fact (`post`) or writes a row, and adds an entry to the audit
in the same commit. `@act("task.cancel")` registers it under its verb and requires the role that the
table in `orchestrator.access.roles` names; nothing else checks roles. Faces parse their input, call
an act and render its value. Verbs that only look use views, in a transaction that `Caller.reading`
opens.
"""
