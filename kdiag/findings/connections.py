"""KD1xxx: problems of a connection, or of the address that it was made to."""

from typing import Final

from kdiag.findings.rule import Rule, Severity

_ERROR: Final = Severity.ERROR
_WARNING: Final = Severity.WARNING

RULES: Final = {
    "KD1001": Rule(
        _ERROR,
        "{host} does not resolve",
        "The name servers that this machine asks know no address of that name.",
        "Check the spelling and `getent hosts {host}`; a name that only exists inside a cluster or "
        "a VPN needs that network's name servers.",
    ),
    "KD1002": Rule(
        _ERROR,
        "no name server answered for {host}",
        "Looking up the name took too long, or the system said that it cannot ask anybody now.",
        "Check the network and the name servers of this machine (`getent hosts {host}`).",
    ),
    "KD1101": Rule(
        _ERROR,
        "nothing listens on {address}",
        "The machine answered that no program has this port open (TCP RST).",
        "Check the port against `listeners` of the broker and whether the broker runs.",
    ),
    "KD1102": Rule(
        _ERROR,
        "{address} does not answer",
        "Nothing came back to the opening packets of TCP: the machine is off, the address is not "
        "routed, or a firewall drops them.",
        "Check routes, security groups and firewalls between here and {address}.",
    ),
    "KD1103": Rule(
        _WARNING,
        "{address} stands for several addresses, of which {ips} cannot be used",
        "Clients try the addresses of a name one after the other; those that lead nowhere cost "
        "time, and a client that tries one only fails now and then.",
        "Take the addresses that lead nowhere out of DNS or /etc/hosts, or have the broker listen "
        "there.",
    ),
    "KD1104": Rule(
        _ERROR,
        "{address} cannot be connected to: {why}",
        "The operating system of this machine refuses the attempt, or knows no way there.",
        "Check the address, and the network, VPN, routes and firewall of this machine.",
    ),
    "KD1201": Rule(
        _ERROR,
        "{address} speaks no TLS",
        "The listener answered the opening of TLS with something else, or hung up.",
        "Use security.protocol=PLAINTEXT (or SASL_PLAINTEXT), or the port of the TLS listener.",
    ),
    "KD1202": Rule(
        _ERROR,
        "the certificate of {address} has expired",
        "The broker proves who it is with a certificate whose time is over.",
        "Renew the certificate in the broker's keystore; check the clock of this machine.",
    ),
    "KD1203": Rule(
        _ERROR,
        "the certificate of {address} is for other names",
        "None of the names that the certificate vouches for is the one that was connected to.",
        "Connect by a name in the certificate, or have this name added as a subject alternative "
        "name.",
    ),
    "KD1204": Rule(
        _ERROR,
        "nobody trusted here has issued the certificate of {address}",
        "The chain of certificates ends at an issuer that is not in the truststore.",
        "Put the certificate of the issuing authority into ssl.truststore.location.",
    ),
    "KD1205": Rule(
        _ERROR,
        "{address} wants a certificate of the client",
        "The listener has ssl.client.auth=required and refused a client that showed no certificate "
        "it trusts.",
        "Set ssl.keystore.location to a certificate that the broker's truststore accepts.",
    ),
    "KD1206": Rule(
        _WARNING,
        "the certificate of {address} expires on {not_after}",
        "Clients will be unable to connect from then on.",
        "Renew the certificate in the broker's keystore before that.",
    ),
    "KD1207": Rule(
        _ERROR,
        "the TLS handshake with {address} fails: {why}",
        "The two ends do not agree on how to encrypt, or one does not accept what the other shows.",
        "Compare ssl.enabled.protocols, ssl.cipher.suites and the certificates of both ends.",
    ),
    "KD1208": Rule(
        _WARNING,
        "the certificate of {addresses} is not verified{sent}",
        "enable.ssl.certificate.verification=false accepts any certificate, so whoever answers "
        "there, or sits in between, can read and change everything, the login included.",
        "Remove that setting, and set ssl.truststore.location to the certificate of the "
        "authority that signed the broker's.",
    ),
    "KD1209": Rule(
        _WARNING,
        "the host name in the certificate of {addresses} is not verified{sent}",
        "An empty ssl.endpoint.identification.algorithm accepts the certificate of any other "
        "machine as long as a trusted authority signed it.",
        "Remove that setting, and connect by a name in the certificate.",
    ),
    "KD1301": Rule(
        _ERROR,
        "{address} refuses the credentials",
        "The broker knows no such user, or the password or token is wrong; it does not say which.",
        "Check user and password, and that the user exists for this mechanism.",
    ),
    "KD1302": Rule(
        _ERROR,
        "{address} does not enable the SASL mechanism: {why}",
        "The listener offers other SASL mechanisms than the one that was asked for.",
        "Set sasl.mechanism to one that is offered, or add this one to sasl.enabled.mechanisms.",
    ),
    "KD1303": Rule(
        _ERROR,
        "{address} wants no SASL",
        "The listener's security protocol is PLAINTEXT or SSL: nobody logs in there.",
        "Set security.protocol=PLAINTEXT (or SSL), or use the port of a listener with SASL.",
    ),
    "KD1304": Rule(
        _ERROR,
        "{address} wants a login by SASL",
        "The broker told its versions, and hung up on the first request after that: so does a "
        "listener with SASL when a client does not log in.",
        "Set security.protocol=SASL_PLAINTEXT (or SASL_SSL), sasl.mechanism and credentials.",
    ),
    "KD1305": Rule(
        _ERROR,
        "SASL with {address} fails: {why}",
        "The two ends could not finish the login, for another reason than a wrong password.",
        "See the broker's log for this connection.",
    ),
    "KD1306": Rule(
        _WARNING,
        "the {secret} was sent unencrypted to {addresses}",
        "security.protocol=SASL_PLAINTEXT does not encrypt, and this SASL mechanism sends the "
        "{secret} as it is: everyone on the way can read it.",
        "Use a listener with security.protocol=SASL_SSL, or SCRAM in place of PLAIN, which sends "
        "no password.",
    ),
    "KD1307": Rule(
        _WARNING,
        "the OAuth client secret is sent unencrypted to {endpoint}",
        "sasl.oauthbearer.token.endpoint.url begins with http://, so everyone on the way to the "
        "identity provider can read the secret and the token.",
        "Use the https:// address of the token endpoint, and then change the secret.",
    ),
    "KD1401": Rule(
        _ERROR,
        "{address} wants TLS",
        "The listener answered a request without TLS with a TLS alert, or hung up on it and "
        "answered a TLS handshake.",
        "Set security.protocol=SSL (or SASL_SSL), or use the port of the plaintext listener.",
    ),
    "KD1402": Rule(
        _ERROR,
        "{address} accepts connections but says nothing",
        "The connection was made, but the first request on it was not answered: the broker "
        "hangs, or something in front of it accepts connections for it.",
        "Check the broker's load and its log, and any load balancer in between.",
    ),
    "KD1403": Rule(
        _ERROR,
        "{address} is not Kafka",
        "The bytes that came back are those of another protocol.",
        "Check host and port: this is not a listener of a broker.",
    ),
    "KD1404": Rule(
        _ERROR,
        "{address} breaks Kafka's protocol: {why}",
        "No broker gives such an answer: something else listens there, or something in between "
        "damages the bytes.",
        "Check host and port, and any proxy or load balancer in between.",
    ),
    "KD1405": Rule(
        _ERROR,
        "the connection to {address} broke: {why}",
        "It was made, and ended before it could be used: the broker was stopped, or refused what "
        "it was asked.",
        "See the broker's log for this connection.",
    ),
    "KD1406": Rule(
        _ERROR,
        "{address} is a controller's listener{asked}",
        "The listener speaks Kafka's protocol, but does not answer Metadata: controllers have "
        "listeners of their own, which are of no use to clients.",
        "Give the port of a listener for clients.",
    ),
    "KD1407": Rule(
        _WARNING,
        "{address} {why} connections instead of answering {apis}",
        "A broker ends a connection without an answer if it cannot read a request or does not "
        "speak its version (Kafka 4.0 removed old ones, KIP-896), if it wants a login or TLS "
        "first, or when it stops.",
        "See the broker's log at that time for the client's address; kdiag report compat tells "
        "which clients speak versions that Kafka 4.0 removed.",
    ),
    "KD1408": Rule(
        _ERROR,
        "{address} hangs up before it answers anything",
        "The connection was made, and the first request on it was answered by its end, whether in "
        "plaintext or, where that was asked, in TLS. So does a proxy or load balancer without a "
        "broker behind it, and a broker before Kafka 0.10 that is asked for its versions.",
        "Check host and port, what is behind them, and the broker's log at that time.",
    ),
    "KD1409": Rule(
        _ERROR,
        "{address} {why} connections on which larger requests came than it reads ({apis})",
        "A request stated a size above 100 MiB, the default of socket.request.max.bytes. A broker "
        "reads no such request: it closes the connection at once.",
        "Lower max.request.size and batch.size of the producer, or raise socket.request.max.bytes "
        "of the broker.",
    ),
    "KD1410": Rule(
        _ERROR,
        "{address} {why} connections that begin with a PROXY header",
        "A proxy announced the client's address (PROXY protocol) before the first request. Kafka "
        "does not know that protocol: it reads the header as a request of a wrong size "
        "(1347571544 for version 1), and closes the connection.",
        "Set the proxy in front of {address} to send no PROXY header (HAProxy: remove send-proxy; "
        "AWS NLB: disable proxy_protocol_v2).",
    ),
    "KD1501": Rule(
        _ERROR,
        "broker {node_id} advertises {address}, which cannot be used from here: {why}",
        "A client connects to the bootstrap server first and to the addresses that brokers "
        "advertise from then on.",
        "Start broker {node_id} if it is down; otherwise set advertised.listeners of broker "
        "{node_id} to an address that its clients can reach, or use a listener meant for them.",
    ),
    "KD1502": Rule(
        _WARNING,
        "broker {node_id} advertises {address}, {kind}",
        "It can be used from here, but not by clients on other machines or outside that network, "
        "which get the same address.",
        "Set advertised.listeners of broker {node_id} to an address that all of its clients can "
        "reach, or add a listener for those elsewhere.",
    ),
    "KD1503": Rule(
        _ERROR,
        "brokers {nodes} advertise the same address, {address}",
        "Clients that are sent to one of them may end at another, which answers "
        "NOT_LEADER_OR_FOLLOWER and NOT_COORDINATOR. A copied server.properties does this, and so "
        "does a load balancer in front of all brokers.",
        "Give each broker advertised.listeners of its own.",
    ),
    "KD1504": Rule(
        _ERROR,
        "broker {node_id} advertises {address}, where cluster {other} answers instead of {cluster}",
        "The address leads to a broker of another cluster, as localhost does on a machine with a "
        "Kafka of its own.",
        "Set advertised.listeners of broker {node_id} to its own address.",
    ),
    "KD1505": Rule(
        _ERROR,
        "the bootstrap server {address} belongs to cluster {other}, others to {cluster}",
        "A client takes whichever server answers first, so it talks now to one cluster and now to "
        "the other.",
        "Name servers of one cluster only in bootstrap.servers.",
    ),
}
"""By id."""
