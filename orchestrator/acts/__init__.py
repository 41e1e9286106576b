"""What a person may do: one function for each act, the same for every face.

An act takes a `Caller` and values, refuses (`Rejected`) or does it, and returns a value: mostly
`Done[…]`. It checks what a view says, posts a fact (`post`) or writes a row, and enters it in the
audit in the same commit. `@act("task.cancel")` registers it under its verb and asks for the role
that the table in `orchestrator.access.roles` demands; nothing else asks for one. Faces parse what
they are given, call an act, and render its value. What only looks is read by views, in a
transaction that `Caller.reading` opens.
"""
