"""Claims of devices as the auditor reads them."""

from gang_auditor import claims
from gang_auditor.claims import Claim
from gang_auditor.objects import Pod


def claim(name: str, *results: dict[str, object]) -> Claim:
    return Claim(
        {
            "kind": "ResourceClaim",
            "metadata": {"namespace": "lab", "name": name, "uid": name},
            "status": {"allocation": {"devices": {"results": [*results]}}},
        }
    )


def device(name: str, **fields: object) -> dict[str, object]:
    return {"driver": "d", "pool": "p", "device": name, **fields}


def test_a_whole_device_and_a_share_of_it_are_in_conflict_and_two_shares_are_not() -> None:
    whole, share = claim("a", device("x")), claim("b", device("x", shareID="1"))
    other = claim("c", device("x", shareID="2"), device("y"))

    assert [("d/p/x", whole, share)] == list(claims.in_two([whole, share]))
    assert [] == list(claims.in_two([share, other]))


def test_a_pod_has_the_claims_that_it_names_and_those_that_were_created_for_it() -> None:
    entries = [
        {"name": "own", "resourceClaimTemplateName": "t"},
        {"name": "shared", "resourceClaimName": "all"},
        {"name": "not-yet", "resourceClaimTemplateName": "t"},
    ]
    pod = Pod(
        {
            "metadata": {"namespace": "lab", "name": "p"},
            "spec": {"resourceClaims": entries},
            "status": {"resourceClaimStatuses": [{"name": "own", "resourceClaimName": "p-own"}]},
        }
    )

    assert ["lab/p-own", "lab/all"] == claims.claims_of(pod)


def test_a_claim_is_being_attached_until_a_condition_fails_or_all_are_true() -> None:
    later = device("x", bindingConditions=["A", "B"], bindingFailureConditions=["F"])

    def told(*true: str) -> Claim:
        found = claim("a", later, device("y"))
        conditions = [{"type": each, "status": "True"} for each in true]
        found.raw["status"]["devices"] = [device("x", conditions=conditions)]
        return found

    states = [told(), told("A"), told("A", "B"), told("F")]
    assert [True, True, False, False] == [each.is_being_attached for each in states]
    assert not claim("a", device("y")).is_being_attached


def test_odd_objects_have_no_devices() -> None:
    odd = Claim({"metadata": {}, "status": {"allocation": {"devices": {"results": [1, None]}}}})

    assert [] == list(odd.devices())
    assert not odd.users
