"""The diagnosis of a sender's waits, for the records of a run and for captures of real hosts.

`from_records`, and `from_capture` of `captures`, build a `Conversation`; `waits` finds the cause of each of
its waits; `diagnosis` and `summary` report the causes in sentences.
"""
