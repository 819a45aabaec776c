"""Lines of a recording with pseudonyms, which say the same and name nothing."""

from itertools import pairwise

from gang_scheduler.inspection import live_recording
from gang_scheduler.inspection.snapshots import kept_words
from gang_scheduler.inspection.snapshots.pseudonyms import GrowingPseudonyms
from gang_scheduler.recording import file_format
from gang_scheduler.recording.file_format import End, Gang, Header, Line, Name
from support.listed_clusters import node, queue

GPU_TYPE = "nvidia.com/gpu.product"
HEADER = Header(
    kind=file_format.KIND,
    api_version=file_format.API_VERSION,
    version="0.2.0",
    begun_at="2026-01-01T00:00:00Z",
    profile={"scheduler_names": ["acme-scheduler"], "max_victims": 3},
    profile_of="acme-system/gangs",
)


def test_nothing_that_is_written_has_a_name() -> None:
    gang = Gang(
        id=1,
        name="llama-7",
        namespace="research",
        submit=5,
        gpu=8,
        gpu_type="H100",
        queue="red",
        priority_class="acme-high",
        topology="AcmeLayer?",
        user="jo",
    )
    lines: list[Header | Line] = [
        HEADER,
        Line(at=1, object=node("acme-node-1", labels={GPU_TYPE: "H100"})),
        Line(at=1, object=queue("red", 8)),
        Line(at=2, gang=gang),
        Line(at=3, gone=Name(kind="Node", name="acme-node-1")),
        Line(at=4, ended=End(id=1, state="Finished", started=2)),
    ]
    names = GrowingPseudonyms()
    found = live_recording.anonymized(lines, names)
    text = b"".join(map(file_format.text_of, found)).decode()

    for name in ("acme", "llama", "research", "H100", "red", "high", "Acme", "jo"):
        assert name not in text.replace("ignored", "")
    read = file_format.read(text.encode())
    (machine, of_queue), (lived,) = read.objects, read.gangs
    assert names.text("acme-node-1") == machine["metadata"]["name"] == read.changes[0].name
    assert machine["metadata"]["labels"][GPU_TYPE] == lived.gang.gpu_type
    assert of_queue["metadata"]["name"] == lived.gang.queue
    assert lived.gang.topology.endswith("?")
    assert 3 == read.header.profile["max_victims"]


def test_later_texts_keep_the_pseudonyms_of_their_words() -> None:
    names = GrowingPseudonyms()
    names.learn(["red-train-1", "blue"])
    before = names.text("red-train-1"), names.text("blue")
    learned = names.learn(["red-mpi-2", "worker"])

    assert learned
    assert before == (names.text("red-train-1"), names.text("blue"))
    assert names.text("red-train-1").split("-")[0] == names.text("red-mpi-2").split("-")[0]
    assert "worker" == names.text("worker")
    assert not names.learn(["red-mpi-3"])


def test_no_two_texts_get_the_same_pseudonym() -> None:
    names = GrowingPseudonyms()
    words = [f"{chr(97 + i % 26)}{chr(97 + i // 26)}word" for i in range(600)]
    numbers = [f"ip-10-0-{i}-7" for i in range(200)] + [f"job-{1_000_000 + i}" for i in range(200)]
    texts = [*words, *numbers, *(word.title() for word in words)]
    for start in range(0, len(texts), 100):
        names.learn(texts[start : start + 100])

    found = [names.text(each) for each in texts]
    assert len(texts) == len({*found})
    assert not {*found} & {*texts}
    assert not {*names.words.values()} & (kept_words.WORDS - names.words.keys())


def test_the_first_texts_keep_their_order() -> None:
    names = GrowingPseudonyms()
    texts = [f"{a}{b}-node-{n}" for a in "adz" for b in "ckx" for n in (1, 2)]
    names.learn(texts)

    assert all(one < other for one, other in pairwise(map(names.text, sorted(texts))))


def test_an_address_that_comes_later_is_an_address() -> None:
    names = GrowingPseudonyms()
    names.learn(["red"])
    names.learn(["ip-192-168-3-7"])
    parts = names.text("ip-192-168-3-7").split("-")

    assert 5 == len(parts)
    assert all(int(each) < 256 for each in parts[1:])
    assert ["192", "168", "3", "7"] != parts[1:]
