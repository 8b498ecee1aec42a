"""Who a client is: what a listener asks of it before it is heard.

    listener        ListenerSettings: what a listener speaks; its channels
    sasl_server     SaslServerAuthenticator: the broker's end of SASL
    mechanisms      what a client has to prove: PLAIN, SCRAM, OAUTHBEARER without signatures
    users           UserStore: names, passwords, and the credentials of SCRAM
    certificates    an authority made on the fly, and what it issues
    private_file    writes what its owner alone can read

Nobody is refused anything once he is in: a lab has no authorizer.

Source: Kafka's `common.security`, `ChannelBuilders`.
"""
