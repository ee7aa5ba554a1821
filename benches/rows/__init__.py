"""What is measured, against whom, and what is wanted: one module for each part of the table of targets."""
