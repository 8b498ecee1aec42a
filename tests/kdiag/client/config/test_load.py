from contextlib import suppress
from pathlib import Path

import pytest

from kdiag.client.config.load import ClientConfig, ConfigSources, load_config
from kdiag.client.config.servers import BootstrapServer
from kdiag.client.config.sources import Setting
from kdiag.errors import ConfigError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home folder with two profiles, a file for each, and one for kcat."""
    folder = tmp_path / ".config" / "kdiag"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        "current = 'dev'\n"
        "[profiles.dev]\nclient.id = 'dev profile'\nconfig = 'dev.properties'\n"
        "[profiles.prod]\nclient.id = 'prod profile'\n"
    )
    (folder / "dev.properties").write_text("client.id=dev file\nclient.rack=dev rack\n")
    (tmp_path / "client.properties").write_text("client.id=file\nclient.rack=file rack\n")
    (tmp_path / "kcat.conf").write_text("client.id=kcat\nmetadata.broker.list=kcat\n")
    return tmp_path


NOTHING = ConfigSources()


def load(home: Path, sources: ConfigSources = NOTHING, /, **variables: str) -> ClientConfig:
    """Return the configuration of somebody at home there."""
    return load_config(sources._replace(environment={"HOME": str(home), **variables}))


def origin(config: ClientConfig, key: str) -> str | None:
    """Return where a setting was said."""
    setting = config.values.setting(key)
    return None if setting is None else setting.origin


def test_without_any_source_everything_is_kafkas_default() -> None:
    """But for the name of the client, and the buffers, which the kernel sizes best."""
    config = load_config(ConfigSources())

    assert config.bootstrap_servers == ()
    assert (config.security_protocol, config.sasl, config.has_tls) == ("PLAINTEXT", None, False)
    assert config.client_id.startswith("kdiag-")
    assert config.client_dns_lookup == "use_all_dns_ips"
    assert config.isolation_level == "read_uncommitted"
    assert (config.request_timeout_ms, config.default_api_timeout_ms) == (30_000, 60_000)
    assert config.socket_connection_setup_timeout_ms == 10_000
    assert config.socket_connection_setup_timeout_max_ms == 30_000
    assert (config.reconnect_backoff_ms, config.reconnect_backoff_max_ms) == (50, 1_000)
    assert (config.retry_backoff_ms, config.retry_backoff_max_ms) == (100, 1_000)
    assert (config.metadata_max_age_ms, config.connections_max_idle_ms) == (300_000, 540_000)
    assert (config.send_buffer_bytes, config.receive_buffer_bytes) == (-1, -1)
    assert config.max_in_flight_requests_per_connection == 5
    assert (config.client_rack, config.profile, config.warnings) == ("", None, ())


def test_sources_count_in_the_order_that_is_documented(home: Path) -> None:
    """Each time the one that counted most is taken away, the next one shows."""
    option = Setting("client.id", "option", "--client", "--client")
    sources = ConfigSources(options=[option], properties=["client.id=a", "client.id=-X"])
    variables = {"KDIAG_CLIENT_ID": "variable", "KDIAG_CONFIG": f"{home}/client.properties"}

    ids = [
        load(home, sources, **variables).client_id,
        load(home, sources._replace(options=[]), **variables).client_id,
        load(home, NOTHING, **variables).client_id,
        load(home).client_id,
        load(home, KDIAG_CONFIG=f"{home}/client.properties").client_id,
        load(Path("/nowhere")).client_id[:6],
    ]

    assert ids == ["option", "-X", "variable", "dev profile", "file", "kdiag-"]


def test_a_profile_counts_more_than_the_file_it_refers_to(home: Path) -> None:
    """Key by key; the origins say which is which."""
    config = load(home)
    toml = home / ".config" / "kdiag" / "config.toml"

    assert (config.client_id, config.client_rack) == ("dev profile", "dev rack")
    assert config.profile == "dev"
    assert origin(config, "client.id") == f"{toml} profile dev"
    assert origin(config, "client.rack") == f"{toml.parent}/dev.properties:2"


def test_a_file_that_is_named_sets_aside_the_current_profile(home: Path) -> None:
    """Or else one cluster's settings would meet another's."""
    file = f"{home}/client.properties"

    for config in (
        load(home, ConfigSources(file=file)),
        load(home, ConfigSources(file=file), KDIAG_PROFILE="prod", KDIAG_CONFIG="/gone"),
        load(home, KDIAG_CONFIG=file),
    ):
        assert (config.profile, config.client_id) == (None, "file")


def test_a_profile_that_is_named_sets_aside_the_variables(home: Path) -> None:
    """They may be about another cluster."""
    config = load(home, ConfigSources(profile="prod"), KDIAG_PROFILE="dev", KDIAG_CONFIG="/gone")
    assert (config.profile, config.client_id, config.client_rack) == ("prod", "prod profile", "")

    config = load(home, KDIAG_PROFILE="prod")
    assert config.profile == "prod"
    with pytest.raises(ConfigError, match=r"^KDIAG_PROFILE: there is no profile 'gone'"):
        load(home, KDIAG_PROFILE="gone")


def test_profile_and_file_can_be_named_together(home: Path) -> None:
    """The profile counts more, and the file takes the place of the profile's."""
    file = f"{home}/client.properties"
    config = load(home, ConfigSources(profile="dev", file=file))
    assert (config.client_id, config.client_rack) == ("dev profile", "file rack")


def test_kcats_file_counts_when_nothing_else_is_named(home: Path) -> None:
    """It is read as kcat reads it, whatever its name."""
    variables = {"KCAT_CONFIG": f"{home}/kcat.conf", "BROKERS": "others"}

    assert load(home, NOTHING, **variables).client_id == "dev profile"
    (home / ".config" / "kdiag" / "config.toml").unlink()
    config = load(home, NOTHING, **variables)
    assert config.client_id == "kcat"
    assert config.bootstrap_servers == (BootstrapServer("kcat"),)
    assert load(home, KAFKACAT_CONFIG=f"{home}/kcat.conf").client_id == "kcat"
    assert load(home, ConfigSources(file=f"{home}/client.properties"), **variables).client_id == (
        "file"
    )


def test_brokers_of_others_count_when_nothing_else_names_one(home: Path) -> None:
    """KAFKA_BOOTSTRAP_SERVERS before BROKERS."""
    variables = {"KAFKA_BOOTSTRAP_SERVERS": "a:1,[::1]:2", "BROKERS": "b"}

    config = load(home, NOTHING, **variables)
    assert config.bootstrap_servers == (BootstrapServer("a", 1), BootstrapServer("::1", 2))
    assert origin(config, "bootstrap.servers") == "KAFKA_BOOTSTRAP_SERVERS"
    sources = ConfigSources(properties=["bootstrap.servers=c"])
    assert load(home, sources, **variables).bootstrap_servers == (BootstrapServer("c"),)


def test_servers_are_a_list_without_repetition() -> None:
    """In their order."""
    config = load_config(ConfigSources(properties=["metadata.broker.list= a , b:1,,a:9092"]))
    assert config.bootstrap_servers == (BootstrapServer("a"), BootstrapServer("b", 1))


def test_a_wrong_value_is_named_by_file_and_line(home: Path) -> None:
    """With the key as it stands there."""
    file = home / "kcat.conf"
    file.write_text("\nsocket.timeout.ms=1s\n")
    with pytest.raises(ConfigError) as error:
        load(home, ConfigSources(file=str(file)))
    assert str(error.value) == (
        f"socket.timeout.ms ({file}:2): expected a whole number, found '1s'"
    )

    with pytest.raises(ConfigError, match=r"bootstrap\.servers \(-X\): 'SSL://a' contradicts"):
        load_config(ConfigSources(properties=["bootstrap.servers=SSL://a"]))


def test_a_value_may_be_kept_elsewhere(home: Path) -> None:
    """Only where kdiag uses it: a reference in another setting is nobody's business."""
    file = home / "client.properties"
    file.write_text("client.id=${env:WHO}\ngroup.id=${env:GONE}\nstrange=${file:/gone:a}\n")
    sources = ConfigSources(file=str(file), allows_programs=True)

    assert load(home, sources, WHO="me").client_id == "me"
    with pytest.raises(ConfigError, match=r"client\.id \(.*:1\): \$WHO is not set"):
        load(home, sources)


SASL = "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n"
OF_FILE = "add --allow-programs if you trust that file"
WANTED = [
    (f"{SASL}sasl.oauthbearer.token.command=touch /tmp/x", "would start 'touch /tmp/x'"),
    (f"{SASL}sasl.oauthbearer.token.file=/etc/passwd", "would send what is in /etc/passwd to the"),
    (
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=a\n"
            "sasl.password.file=/etc/hostname"
        ),
        "would send what is in /etc/hostname to the brokers",
    ),
    ("client.id=${env:HOME}", "would read the environment variable HOME"),
    ("client.id=a${file:/etc/passwd:root}", "would read the file /etc/passwd"),
    ("client.rack=${dir:/etc:hostname}", "would read the folder /etc"),
    (
        "config.providers=x\nconfig.providers.x.class=EnvVarConfigProvider\nclient.id=${x:HOME}",
        "would read the environment variable HOME",
    ),
]


@pytest.mark.parametrize(("text", "why"), WANTED)
@pytest.mark.parametrize("by", ["--config", "KDIAG_CONFIG", "KCAT_CONFIG"])
def test_a_file_starts_no_program_and_reads_nothing_else(
    home: Path, text: str, why: str, by: str
) -> None:
    """Someone else may have written it, and its brokers would receive that; a switch allows it."""
    file = home / "other.conf"
    file.write_text(text)
    (home / ".config/kdiag/config.toml").unlink()
    sources, variables = ConfigSources(file=str(file)), {}
    if by != "--config":
        sources, variables = ConfigSources(), {by: str(file)}
    with pytest.raises(ConfigError) as error:
        load(home, sources, **variables)
    assert why in error.value.why
    assert error.value.why.endswith(f"; {OF_FILE}")
    with suppress(ConfigError):  # what it refers to may not be there
        load(home, sources._replace(allows_programs=True), **variables)


@pytest.mark.parametrize(
    "text",
    [
        (
            "client.id=x\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=a\n"
            "sasl.password=${b}$env:HOME"
        ),
        f"{SASL}sasl.oauthbearer.token=abc\nsasl.oauthbearer.token.command=touch /tmp/x",
        "config.providers=env\nconfig.providers.env.class=EnvVarConfigProvider\nclient.id=x",
        "sasl.oauthbearer.token.command=touch /tmp/x",
        (
            f"{SASL}sasl.oauthbearer.token.endpoint.url=https://idp/token\n"
            "sasl.oauthbearer.client.id=a\nsasl.oauthbearer.client.secret=b"
        ),
    ],
)
def test_a_file_that_wants_nothing_of_this_machine_is_read(home: Path, text: str) -> None:
    """Providers that nothing refers to, a program that nothing would start."""
    file = home / "client.properties"
    file.write_text(text)
    load(home, ConfigSources(file=str(file)))


@pytest.mark.parametrize(("text", "why"), WANTED[:4])
def test_the_command_line_and_variables_may_have_programs(home: Path, text: str, why: str) -> None:
    """Who types them knows what they do; they outrank what a file says."""
    assert why
    lines = text.split("\n")
    assert load(home, ConfigSources(properties=lines)).bootstrap_servers == ()
    *before, (key, _, value) = (line.partition("=") for line in lines)
    variable = f"KDIAG_{key.upper().replace('.', '_')}"
    more = [f"{name}={word}" for name, _, word in before]
    assert load(home, ConfigSources(properties=more), **{variable: value}).values.setting(key)


def test_a_profile_may_have_programs_if_only_its_user_can_write_it(home: Path) -> None:
    """The file that it refers to as well."""
    profiles, beside = home / ".config/kdiag/config.toml", home / ".config/kdiag/dev.properties"
    profiles.write_text("[profiles.dev]\nclient.id = '${env:WHO}'\nconfig = 'dev.properties'\n")
    beside.write_text("client.rack=${env:WHO}\n")
    for file in (profiles, beside):
        file.chmod(0o644)
    sources = ConfigSources(profile="dev")
    found = load(home, sources, WHO="me")
    assert (found.client_id, found.client_rack) == ("me", "me")
    for file in (beside, profiles):
        for mode in (0o664, 0o646):
            file.chmod(mode)
            with pytest.raises(ConfigError, match=f"make {file} your own.*chmod go-w.*{OF_FILE}"):
                load(home, sources, WHO="me")
            assert load(home, sources._replace(allows_programs=True), WHO="me").client_id == "me"
        file.chmod(0o600)


def test_a_profile_of_another_user_has_no_programs(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with sudo, which may keep the home folder of who calls it."""
    profiles = home / ".config/kdiag/config.toml"
    profiles.write_text("[profiles.dev]\nclient.id = '${env:WHO}'\n")
    profiles.chmod(0o600)
    monkeypatch.setattr("os.geteuid", lambda: profiles.stat().st_uid + 1)
    monkeypatch.setattr("kdiag.client.config.profiles._ROOT", profiles.stat().st_uid + 2)
    with pytest.raises(ConfigError, match="would read the environment variable WHO; make"):
        load(home, ConfigSources(profile="dev"), WHO="me")


def test_a_setting_of_the_user_is_not_cautious_about_a_file_below_it(home: Path) -> None:
    """What the command line replaces in a file asks for nothing any more."""
    file = home / "client.properties"
    file.write_text("client.id=${env:HOME}\nclient.rack=r\n")
    found = load(home, ConfigSources(file=str(file), properties=["client.id=mine"]))
    assert (found.client_id, found.client_rack) == ("mine", "r")


def test_what_is_likely_a_mistake_is_told(home: Path) -> None:
    """Once each, with where it was said; settings of Kafka's clients are no mistakes."""
    file = home / "client.properties"
    file.write_text(
        "reqest.timeout.ms=1\nsasl.mechanism=PLAIN\ncolour=red\nacks=all\n"
        "ssl.crl.location=/crl\nmax.poll.records=5\n"
    )
    sources = ConfigSources(file=str(file), properties=["sasl.password=s3cret"])

    warnings = load(home, sources, KDIAG_BOOTSTRAP_SERVER="a").warnings

    assert sorted(each.replace(str(file), "FILE") for each in warnings) == [
        "sasl.mechanism (FILE:2): not used, since security.protocol is PLAINTEXT",
        (
            "sasl.password (-X): every user of this machine can read it in the list of processes; "
            "use --password-file, a variable or a file"
        ),
        "ssl.crl.location (FILE:5): kdiag ignores this setting",
        "unknown setting KDIAG_BOOTSTRAP_SERVER; did you mean KDIAG_BOOTSTRAP_SERVERS?",
        "unknown setting colour (FILE:3); it has no effect",
        "unknown setting reqest.timeout.ms (FILE:1); did you mean request.timeout.ms?",
    ]


def test_a_password_that_nobody_asks_for_is_told() -> None:
    """It does not keep a connection in the clear from being made."""
    file = Setting("sasl.password.file", "secret.txt", "--password-file", "--password-file")
    warnings = load_config(ConfigSources(options=[file])).warnings
    assert warnings == ("--password-file: not used, since security.protocol is PLAINTEXT",)


def test_unknown_settings_are_kept() -> None:
    """They are listed with the others."""
    config = load_config(ConfigSources(properties=["colour=red"]))
    assert [(each.key, each.value) for each in config.values.in_force()] == [("colour", "red")]


def test_one_source_says_whom_to_trust(home: Path) -> None:
    """Its file, or its certificates, with its type; a weaker source has no part in it."""
    file = home / "client.properties"
    file.write_text("ssl.truststore.location=/t.jks\nssl.truststore.type=JKS\n")
    sources = ConfigSources(file=str(file), properties=["ssl.ca.pem=-----BEGIN"])

    tls = load(home, sources).tls
    assert (tls.truststore_location, tls.truststore_certificates) == (None, "-----BEGIN")
    assert tls.truststore_type == "PEM"

    tls = load(home, sources._replace(properties=["ssl.truststore.location=/u"])).tls
    assert (tls.truststore_location, tls.truststore_type) == ("/u", None)

    tls = load(home, sources._replace(properties=["ssl.truststore.type=PKCS12"])).tls
    assert (tls.truststore_location, tls.truststore_type) == ("/t.jks", "PKCS12")


def test_librdkafkas_zero_keeps_idle_connections() -> None:
    """Java writes -1."""
    for text in ("0", "-1"):
        sources = ConfigSources(properties=[f"connections.max.idle.ms={text}"])
        assert load_config(sources).connections_max_idle_ms == -1


def test_the_repr_shows_no_secret() -> None:
    """Whatever way it was given."""
    config = load_config(
        ConfigSources(
            properties=[
                "security.protocol=SASL_SSL",
                "sasl.mechanism=PLAIN",
                'sasl.jaas.config=PlainLoginModule required username="a" password="s3cret";',
                "ssl.key.password=s3cret",
                "ssl.keystore.key=s3cret",
            ]
        )
    )
    assert config.has_tls
    assert "s3cret" not in repr(config)
    assert "s3cret" not in repr(config.values.in_force())


def test_a_release_to_speak_as_is_given_like_any_setting(home: Path) -> None:
    """On the command line, in a variable, in a profile or a file."""
    release = load(home, KDIAG_AS_VERSION="2.8.1").as_version
    assert release is not None
    assert release.name == "2.8"
    assert load(home).as_version is None
    assert load(home, NOTHING._replace(properties=["as.version="])).as_version is None


def test_an_unknown_release_is_refused_with_those_that_are_known(home: Path) -> None:
    """By whoever named it."""
    with pytest.raises(ConfigError) as error:
        load(home, NOTHING._replace(properties=["as.version=9.9"]))
    text = str(error.value)
    assert text.startswith("as.version (-X): expected a release of Kafka (0.10.0, 0.10.1, ")
    assert text.endswith(", 4.4), found '9.9'")
