"""Two launch scripts or configurations of one training, item by item as the checklists of the migration guides do."""
