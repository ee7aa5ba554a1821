"""What datasets, groups and variables are made of: selections, values, masks, attributes, handles of open files."""
