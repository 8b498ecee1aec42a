"""The network client: connections to the nodes of a cluster, and the requests on them.

- `network_client`: the **NetworkClient**, whose `poll` does everything; read it first.
- `request`: a **RequestBuilder**, a **ClientRequest**, a **ClientResponse**.
- `in_flight`, `matching`: requests that are sent and not answered, and the response of each.
- `connections`, `connection_states`, `backoff`: a connection from its first attempt to its end.
- `api_versions`: which versions each node speaks.
- `failure`: why a connection ended, in words.
- `metadata`, `metadata_updater`: **Node**, **Broker** and **Cluster**, and who keeps them fresh.
- `least_loaded`: the node to ask when any will do.
- `observer`: turns requests and responses into exchanges.
- `settings`: what a network client is made with.
"""
