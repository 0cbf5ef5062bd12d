"""Why a sender waited: one diagnosis for the records of a run and for captures of real hosts.

`from_records`, and `from_capture` of `captures`, make a `Conversation`; `waits` finds the cause of each of
its waits; `diagnosis` and `summary` put that into sentences.
"""
