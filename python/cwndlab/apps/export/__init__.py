"""Export of records to formats of other tools."""
