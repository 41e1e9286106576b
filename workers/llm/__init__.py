"""A language model as planner: prompts, answers, and the one place that speaks to it."""
