"""What a figure or a table shows, in sentences: the finding of a study that states none."""
