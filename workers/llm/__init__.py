"""A language model as planner: prompts, answers, and the only code that calls the model."""
