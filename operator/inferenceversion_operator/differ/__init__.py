"""The differ: gets copies of live requests, asks the stable and the candidate version, compares, counts.

The road: ``listen`` (a copy is answered at once and queued, or dropped) -> ``worker`` (takes it from the queue) ->
``replay`` (asks both versions) -> ``judge`` (decodes both answers, compares them by the contract) -> ``tally`` (counts)
and ``sample`` (keeps the last differences). ``probes`` shows the counts to Prometheus and the sample to people.
``wire`` knows the KServe v2 protocol, as JSON, with binary tensors and as protobuf, and brings all into one form.
"""
