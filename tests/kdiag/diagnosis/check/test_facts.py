from kdiag.diagnosis.check.facts import CheckStep
from kdiag.errors import ConnectError, Fault, Layer
from made_values.check_subject import endpoint, refused, visit
from tiers.cases import for_each


@for_each(
    ("layer", "done", "step"),
    [
        (Layer.TCP, [], CheckStep.TCP),
        (Layer.TLS, [CheckStep.TCP], CheckStep.TLS),
        (Layer.SASL, [CheckStep.TCP], CheckStep.SASL),
        (Layer.KAFKA, [CheckStep.TCP], CheckStep.API_VERSIONS),
        (Layer.KAFKA, [CheckStep.TCP, CheckStep.API_VERSIONS], CheckStep.METADATA),
    ],
)
def test_the_step_that_failed_follows_from_the_layer(
    layer: Layer, done: list[CheckStep], step: CheckStep
) -> None:
    """Of Kafka's two questions it is the first that was not answered."""
    error = ConnectError("a:1", layer, "w")
    assert visit(error=error, took_ns=dict.fromkeys(done, 1)).failed_step is step


def test_a_visit_that_went_well_failed_in_no_step() -> None:
    """It has an answer to Metadata instead."""
    assert visit().failed_step is None


def test_a_target_shows_the_address_where_the_host_is_a_name() -> None:
    """IPv6 stands in brackets."""
    assert visit("10.0.0.1").target == "10.0.0.1:9092"
    assert visit("10.0.0.1", host="kafka").target == "kafka:9092 (10.0.0.1)"
    assert visit("::1").target == "[::1]:9092"


def test_an_endpoint_is_as_good_as_its_best_visit() -> None:
    """And its errors begin with the one that came furthest."""
    dns = ConnectError("k:1", Layer.DNS, "w", "", Fault.UNRESOLVED)
    sasl = ConnectError("k:1", Layer.SASL, "w")
    well = visit("10.0.0.3", host="k")
    some = endpoint("k", visit("10.0.0.1", host="k", error=refused()), visit(error=sasl), well)

    assert some.best is well
    assert [each.layer for each in some.errors] == [Layer.SASL, Layer.TCP]
    assert endpoint("k", error=dns).errors == [dns]
    assert endpoint("k", error=dns).best is None
    assert str(some) == "k:9092"


def test_a_host_that_is_an_address_needs_no_lookup() -> None:
    """A name does, also one that stands for the very address."""
    assert not endpoint("10.0.0.1", visit("10.0.0.1")).is_name
    assert endpoint("k", visit("10.0.0.1")).is_name
