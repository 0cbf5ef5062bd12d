"""Why a sender waited: one diagnosis for the records of a run and for captures of real hosts.

`from_records` and `from_capture` make a `Conversation`; `waits` finds the cause of each wait of its sender;
`words` puts that into sentences.
"""
