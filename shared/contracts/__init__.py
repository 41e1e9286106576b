"""What crosses a border: plan files, answers of models, bundles; the JSON Schemas come from here."""
