"""Reading and diagnosis of captured TCP connections."""
