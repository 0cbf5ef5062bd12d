"""Commands of the command line, apart from those that load and run studies (`cwndlab.cli`)."""
