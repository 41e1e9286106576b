"""What crosses a border: plan files, answers of models, bundles; and their JSON Schemas."""
