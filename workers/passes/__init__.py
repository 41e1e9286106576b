"""A pass: a worker carries out a step, whatever carries out its subtasks."""
