"""Random worlds of devices and claims, as Kubernetes JSON, for the differential test."""

import random
from typing import Any

Json = dict[str, Any]
DRIVERS = ("a.example.com", "b.example.com")
NODE = "n0"


class World:
    """Devices, classes and claims around one node, from a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.dice = random.Random(seed)  # noqa: S311 - worlds are no secrets
        self.is_roomy = self.dice.random() < 0.65
        """Whether there is much and little is asked for, so that most claims fit."""
        self.wants_counters = self.dice.random() < 0.35
        self.wants_shares = self.dice.random() < 0.35
        self.wants_taints = self.dice.random() < 0.3
        self.wants_errors = self.dice.random() < 0.1
        self.wants_admin = self.dice.random() < 0.25
        self.node: Json = {"metadata": {"name": NODE, "labels": {"rack": "r1"}}}
        self.slices = [each for i in range(self.dice.randint(1, 4)) for each in self._pool(i)]
        self.dice.shuffle(self.slices)
        self.classes = self._classes()
        self.claims = [self._claim(i) for i in range(self.dice.randint(1, 4))]
        self.allocated = self._allocated()

    def question(self, seconds: float) -> Json:
        """Return the world as the oracle reads it."""
        return {
            "node": self.node,
            "classes": self.classes,
            "slices": self.slices,
            "allocated": self.allocated,
            "claims": self.claims,
            "seconds": seconds,
        }

    def _rarely(self, share: float = 0.1) -> bool:
        return self.dice.random() < share

    # Slices.

    def _pool(self, i: int) -> list[Json]:
        dice = self.dice
        driver = dice.choice(DRIVERS)
        self._has_counters = self.wants_counters and self._rarely(0.7)
        spec: Json = {"driver": driver}
        pool = {"name": f"p{i}", "generation": 2, "resourceSliceCount": 1}
        reach = self._reach()
        devices = [self._device(j) for j in range(dice.randint(6 * self.is_roomy, 12))]
        if reach.get("perDeviceNodeSelection"):
            for each in devices:
                each.update(self._reach_of_device())
        cuts = sorted(dice.randint(0, len(devices)) for _ in range(dice.randint(0, 2)))
        parts = [devices[a:b] for a, b in zip([0, *cuts], [*cuts, len(devices)], strict=True)]
        bodies: list[Json] = [{**reach, "devices": part} for part in parts]
        if dice.random() < 0.15:
            bodies.append({"nodeName": "elsewhere", "devices": [self._device(50)]})
        if self._has_counters:
            sets = [self._counter_set(name) for name in ("c0", "c1")]
            bodies.append({**self._reach(), "sharedCounters": sets})
        pool["resourceSliceCount"] = len(bodies) + self._rarely(0.06)
        names = dice.sample(range(100), len(bodies))
        made = [
            {"metadata": {"name": f"s{i}-{name}"}, "spec": {**spec, "pool": dict(pool), **body}}
            for name, body in zip(names, bodies, strict=True)
        ]
        if self._rarely():
            # What the driver published before: an old generation is never whole.
            old = {"name": f"p{i}", "generation": 1, "resourceSliceCount": 9}
            stale = {**spec, "pool": old, "nodeName": NODE, "devices": [self._device(60)]}
            made.append({"metadata": {"name": f"old{i}"}, "spec": stale})
        return made

    def _reach(self) -> Json:
        return self.dice.choices(
            (
                {"nodeName": NODE},
                {"allNodes": True},
                {"nodeSelector": self._selector()},
                {"perDeviceNodeSelection": True},
                {"nodeName": "elsewhere"},
            ),
            (30 if self.is_roomy else 12, 2, 2, 2, 1),
        )[0]

    def _reach_of_device(self) -> Json:
        return self.dice.choice(
            (
                {"nodeName": NODE},
                {"allNodes": True},
                {"nodeName": "elsewhere"},
                {"nodeSelector": self._selector()},
            )
        )

    def _selector(self) -> Json:
        value = self.dice.choice(("r1", "r1", "r2"))
        expression = self.dice.choice(
            (
                {"key": "rack", "operator": "In", "values": [value, "r3"]},
                {"key": "rack", "operator": "NotIn", "values": ["r9"]},
                {"key": "rack", "operator": "Exists"},
                {"key": "zone", "operator": "DoesNotExist"},
            )
        )
        return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}

    def _counter_set(self, name: str) -> Json:
        value = self.dice.choice(("4", "8", "6"))
        return {"name": name, "counters": {"m": {"value": value}, "x": {"value": "3"}}}

    def _device(self, i: int) -> Json:
        device: Json = {"name": "d0" if self._rarely(0.01) else f"d{i}"}
        device["attributes"] = self._attributes()
        device.update(self._capacity())
        if self._has_counters and self._rarely(0.7):
            device["consumesCounters"] = self._consumed()
        if self.wants_taints and self._rarely(0.4):
            device["taints"] = [self._taint()]
        if self._rarely(0.04):
            device["bindingConditions"] = ["Attached"]
            device["bindingFailureConditions"] = ["Failed"]
            device["bindsToNode"] = self._rarely(0.5)
        return device

    def _attributes(self) -> Json:
        dice = self.dice
        root: Json = {"string": dice.choice(("r0", "r1", "r2"))}
        values: Json = {
            "model": {"string": dice.choice(("x", "y"))},
            "numa": {"int": dice.randint(0, 2)},
            "shared.io/root": {"int": 1} if self._rarely(0.05) else root,
            "a.example.com/flag": {"bool": self._rarely(0.5)},
            "version": {"version": dice.choice(("1.0.0", "1.2.3", "2.0.0"))},
        }
        always = () if self.wants_errors else ("model", "numa")
        return {name: each for name, each in values.items() if name in always or self._rarely(0.85)}

    def _capacity(self) -> Json:
        is_shared = self.wants_shares and self._rarely(0.5)
        if not is_shared and self._rarely(0.5):
            return {}
        memory: Json = {"value": self.dice.choice(("40Gi", "80Gi", "1Gi"))}
        if is_shared and self._rarely(0.6):
            memory["requestPolicy"] = self.dice.choice(POLICIES)
        capacity = {"mem": memory}
        if self._rarely(0.3):
            capacity["cores"] = {"value": self.dice.choice(("8", "1500m"))}
        return {"capacity": capacity, **({"allowMultipleAllocations": True} if is_shared else {})}

    def _consumed(self) -> list[Json]:
        used = [
            {"counterSet": name, "counters": {"m": {"value": self.dice.choice(("1", "2", "4"))}}}
            for name in self.dice.sample(("c0", "c1"), self.dice.randint(1, 2))
        ]
        if self._rarely(0.02):
            used[0]["counterSet"] = "nope"
        return used

    def _taint(self) -> Json:
        return {
            "key": self.dice.choice(("k0", "k1")),
            "value": self.dice.choice(("", "v")),
            "effect": self.dice.choice(("NoSchedule", "NoExecute", "None", "Other")),
        }

    # Classes and claims.

    def _classes(self) -> list[Json]:
        found: list[Json] = [{"metadata": {"name": "any"}, "spec": {}}]
        for driver in DRIVERS:
            expression = {"cel": {"expression": f"device.driver == '{driver}'"}}
            spec: Json = {"selectors": [expression]}
            if self.dice.random() < 0.4:
                spec["config"] = [
                    {"opaque": {"driver": driver, "parameters": {"of": "class"}}}
                ] * self.dice.randint(1, 2)
            found.append({"metadata": {"name": driver[0]}, "spec": spec})
        return found

    def _claim(self, i: int) -> Json:
        dice = self.dice
        requests = [self._request(j) for j in range(dice.randint(1, 3))]
        devices: Json = {"requests": requests}
        names = [
            name
            for each in requests
            for name in (
                each["name"],
                *(f"{each['name']}/{sub['name']}" for sub in each.get("firstAvailable", ())),
            )
        ]
        if dice.random() < 0.3:
            devices["constraints"] = [
                {
                    dice.choice(("matchAttribute", "distinctAttribute")): dice.choice(ATTRIBUTES),
                    "requests": dice.sample(names, dice.randint(0, min(2, len(names)))),
                }
                for _ in range(dice.randint(1, 2))
            ]
        if dice.random() < 0.3:
            devices["config"] = [
                {
                    "requests": dice.sample(names, dice.randint(0, len(names))),
                    "opaque": {"driver": DRIVERS[0], "parameters": {"of": "claim"}},
                }
            ]
        metadata = {"namespace": "default", "name": f"c{i}", "uid": f"u{i}"}
        return {"metadata": metadata, "spec": {"devices": devices}}

    def _request(self, i: int) -> Json:
        dice = self.dice
        if dice.random() < 0.3:
            several = [self._asked(is_sub=True) for _ in range(dice.randint(1, 3))]
            for j, each in enumerate(several):
                each["name"] = f"s{j}"
            return {"name": f"r{i}", "firstAvailable": several}
        return {"name": f"r{i}", "exactly": self._asked(is_sub=False)}

    def _asked(self, *, is_sub: bool) -> Json:
        dice = self.dice
        asked: Json = {"deviceClassName": dice.choice(("any", "a", "b", "a"))}
        if self._rarely(0.005):
            asked["deviceClassName"] = "missing"
        selectors = [s for s in SELECTORS if dice.random() < (0.05 if self.is_roomy else 0.15)]
        if self.wants_errors and dice.random() < 0.3:
            selectors.append(dice.choice(FAULTY))
        if selectors:
            asked["selectors"] = [{"cel": {"expression": each}} for each in selectors]
        if dice.random() < (0.05 if self.is_roomy else 0.15):
            asked["allocationMode"] = "All"
        else:
            asked["allocationMode"] = "ExactCount"
            asked["count"] = dice.choices(
                (1, 2, 3, 5, 20), (60, 20, 10, 0 if self.is_roomy else 5, 0 if self.is_roomy else 1)
            )[0]
        if not is_sub and self.wants_admin and dice.random() < 0.4:
            asked["adminAccess"] = True
        if self.wants_taints and dice.random() < 0.4:
            asked["tolerations"] = [
                {
                    "key": dice.choice(("k0", "k1")),
                    "operator": "Exists",
                    "effect": dice.choice(("NoSchedule", "NoExecute")),
                },
                {"key": "k0", "operator": "Equal", "value": "v"},
            ][: dice.randint(1, 2)]
        if self.wants_shares and dice.random() < 0.5:
            amounts = {"mem": dice.choice(("1Gi", "20Gi", "40Gi", "3G", "100m", "1"))}
            if self._rarely():
                amounts["none"] = "1"
            asked["capacity"] = {"requests": amounts}
        return asked

    # What is taken.

    def _allocated(self) -> list[Json]:
        results: list[Json] = []
        for each in self.slices:
            spec = each["spec"]
            for device in spec.get("devices", ()):
                if self.dice.random() > (0.08 if self.is_roomy else 0.25):
                    continue
                result: Json = {
                    "request": "r",
                    "driver": spec["driver"],
                    "pool": spec["pool"]["name"],
                    "device": device["name"],
                }
                if device.get("allowMultipleAllocations") and self.dice.random() < 0.8:
                    result["shareID"] = f"share{len(results)}"
                    if device.get("capacity"):
                        result["consumedCapacity"] = dict.fromkeys(device["capacity"], "1")
                elif self._rarely():
                    result["adminAccess"] = True
                results.append(result)
        return [
            {
                "metadata": {"namespace": "default", "name": f"old{i}"},
                "status": {"allocation": {"devices": {"results": [each]}}},
            }
            for i, each in enumerate(results)
        ]


SELECTORS = (
    "device.attributes[device.driver].model == 'x'",
    "device.attributes['a.example.com'].?numa.orValue(0) <= 1",
    "device.attributes['shared.io'].?root.orValue('r0') != 'r2'",
    (
        "!('a.example.com' in device.attributes)"
        " || device.attributes['a.example.com'].?flag.orValue(true)"
    ),
    "device.capacity[device.driver].?mem.orValue(quantity('0')).compareTo(quantity('2Gi')) > 0",
    (
        "device.attributes[device.driver].?version.orValue(semver('1.0.0'))"
        ".isLessThan(semver('2.0.0'))"
    ),
)
FAULTY = (
    "device.attributes['a.example.com'].numa == 1",
    "device.attributes['shared.io'].root == 'r0'",
    "device.attributes['nope.io'].x == 1",
    "device.attributes['a.example.com'].model",
    "device.nonsense(",
)
ATTRIBUTES = (
    "shared.io/root",
    "a.example.com/numa",
    "b.example.com/numa",
    "a.example.com/model",
    "a.example.com/flag",
    "a.example.com/version",
    "nope.io/x",
)
POLICIES = (
    {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}},
    {"default": "1Gi", "validRange": {"min": "1Gi", "max": "30Gi"}},
    {"default": "500m", "validRange": {"min": "250m", "step": "250m", "max": "40Gi"}},
    {"default": "10Gi", "validValues": ["10Gi", "20Gi", "40Gi"]},
    {"default": "1", "validRange": {"min": "1"}},
    {"default": "1Gi"},
)
