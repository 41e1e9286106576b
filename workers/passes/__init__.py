"""A pass: a worker carries out one step, by whatever means its subtasks need."""
