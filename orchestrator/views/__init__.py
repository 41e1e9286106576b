"""Read models: what the faces show, straight from the rows; nothing here changes anything."""
