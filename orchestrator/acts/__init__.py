"""What a person may do: one function for each act, the same for every face."""
