"""What faults do to answers, from their fields to their bytes on a connection.

refused_answer   what a broker says that does not handle a request
answer_edit      what is changed in an answer
part_edit        the partitions in it: left out, without records, or with a damaged batch
told_addresses   the addresses of brokers that an answer tells
frame_steps      in which writes an answer leaves
answer_outbox    AnswerOutbox: brings answers onto their connections, in their time
"""
