"""What is built upon the laboratory, whose packages know none of these."""
