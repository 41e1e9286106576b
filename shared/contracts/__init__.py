"""The data formats at the borders: plan files, answers of models, bundles; with JSON Schemas."""
