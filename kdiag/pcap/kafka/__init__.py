"""Is this Kafka, and what are its exchanges? Each module answers one question, in this order.

    detection.py        Which protocol do the first bytes of a connection show?
    preamble.py         Has a proxy let the client say something before?
    opening.py          Which end is the client? Keeps both directions until that is decided.
    evidence.py         Is this frame a request? Decodes it, for looks prove nothing
                        (request_head.py looks at the first bytes).
    request_walk.py     Are the first frames of a client requests?
    response_walk.py    Without any request: are these responses that follow each other?
    frame_cutter.py     Where does each frame end? Walks from length to length.
    frame_stream.py     ... and where is the next one, when a length is missing or absurd?
    resync.py           Searches for it, offset by offset,
    frame_heuristics.py by how requests and responses look, and what proves them,
    trial_decoding.py   in the end by decoding: is this the response of that API and version?
    conversation.py     What do the frames of one direction say about the other's?
    matching.py         Which response answers which request? Makes exchanges of them.
    unmatched_responses.py  What is a response whose request was lost?

Nothing here knows ports: Kafka is found on any. Evidence goes from cheap to certain: lengths, then
looks, then decoding.
"""
