"""What is installed and works."""
