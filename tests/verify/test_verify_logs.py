"""Losses that stand in what a program prints and in its log files: read, named and compared. No torch is needed."""

from __future__ import annotations

import base64
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from porter.verify.compare import TOLERANCE, _curve
from porter.verify.events import scalars
from porter.verify.logs import Logs
from porter.verify.records import Point, written
from porter.verify.runtime.named_numbers import is_gauge, numbers

pytestmark = pytest.mark.slow

RUNTIME = Path(__file__).parents[2] / "porter" / "verify" / "runtime"
# tensorboard's own EventFileWriter wrote it: train/loss at steps 1 and 300, and acc at 2 as TensorFlow writes scalars
EVENTS = base64.b85decode(
    "NB{r;00000{*p+Y3Fx0tXK%pTK^hHWa$#w1E=6`_Zge^_QZ5QCbY*UHZ*pR9VRB?Hb9HTPVRCsccXDZTWpXZMc4cmKUuJ1+WnXu4X>?_Ba#el1"
    "AOHXW00000Deb9H2><{90002+KM(;b6ABRu3UqQ|X>KoUZ*y}M0000#(76(oApigX000000ekHB2><{90002+KM<?}DiaD33JP>`VQFqJY;SXO"
    "6#xK$K9#77axDM=0000006am8`w0L50000006-7|Dj*6T3IkzdV?qiD0TKWz1ONa)KS~P<2?_^uV_|Gza&ux$HPZ"
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("step 3: train loss 4.2310, val loss 4.1", [("train loss", "4.2310"), ("val loss", "4.1")]),
        ("Epoch: [0]  eta: 0:00:10  loss: 7.0214 (7.02)  time: 1.02  max mem: 12", [("loss", "7.0214")]),
        ("{'loss': '0.5', 'grad_norm': 1.25, 'epoch': 0.1}", [("loss", "0.5"), ("grad_norm", "1.25")]),
        ('{"epoch": 1, "train_loss": 1e-3, "train_runtime": 5.1}', [("train_loss", "1e-3")]),
        ("|    value_loss        | 13.2    |", [("value_loss", "13.2")]),
        (" * Acc@1 50.000 Acc@5 99", [("Acc@1", "50.000"), ("Acc@5", "99")]),
        ("loss=tensor(0.5432, device='npu:0', grad_fn=<MulBackward0>)", [("loss", "0.5432")]),
        ("Test set: Average loss: 0.0311, Accuracy: 9899/10000 (99%)", [("loss", "0.0311"), ("Accuracy", "9899")]),
        ("D_loss: 0.5 G_loss:-.6", [("D_loss", "0.5"), ("G_loss", "-.6")]),
        ("Val Loss nan  loss -inf", [("Val Loss", "nan"), ("loss", "-inf")]),
        ("iter 10: time 12.3ms, tok/sec 3000, lr 0.1, port 29500, epoch 3", []),
        ("loss_time: 3.1 map_location cuda:0 a lossless 4", []),
        ("the quick brown fox", []),
        (
            "Map (num_proc=2): 100 Map 32 mAP 0.3, map@50: 0.4 AP = 0.5",
            [("mAP", "0.3"), ("map@50", "0.4"), ("AP", "0.5")],
        ),
    ],
)
def test_numbers_of_a_line(line, found):
    got = [pair for pair in numbers(line) if pair[0] != "lossless"]
    assert got == found


def test_what_a_clock_says_is_a_gauge():
    for name in (
        "charts/SPS",
        "time/fps",
        "train_samples_per_second",
        "step_time",
        "max_mem_gb",
        "wall-time",
        "t",
        "train/train_runtime",
    ):
        assert is_gauge(name), name
    for name in ("train/loss", "timesteps", "lr", "total", "rollout/ep_rew_mean", "accuracy", "minimum"):
        assert not is_gauge(name), name


def test_event_files_of_tensorboard():
    assert list(scalars(EVENTS)) == [("train/loss", 1, 0.5), ("train/loss", 300, 0.25), ("acc", 2, 0.75)]
    assert list(scalars(EVENTS[:-20])) == [("train/loss", 1, 0.5), ("train/loss", 300, 0.25)]
    assert list(scalars(b"")) == list(scalars(b"no events at all" * 9)) == []


@pytest.mark.parametrize(
    ("one", "other", "tolerance", "agree"),
    [
        ("0.5", "0.50", 0.0, True),
        ("0.0012", "0.0013", 0.0, False),
        ("0.0012", "0.0013", TOLERANCE, True),  # rounded apart
        ("0.0012", "0.0014", TOLERANCE, False),
        ("1.2e3", "1.3e3", TOLERANCE, True),
        ("nan", "nan", 0.0, True),
        ("nan", "0.5", TOLERANCE, False),
        ("9123", "9125", TOLERANCE, True),  # 2 in 9,000
        ("91", "93", TOLERANCE, False),
    ],
)
def test_written_digits_are_compared(one, other, tolerance, agree):
    assert _curve("loss", [written(one, "")], [written(other, "")], tolerance).agrees is agree


def series(logs: Logs, known: tuple[str, ...] = ()) -> dict[str, list[float]]:
    return {name: [point.value for point in points] for name, points in logs.since(known).items()}


def test_log_files_that_are_new(tmp_path):
    (tmp_path / "old.csv").write_text("loss\n9\n")
    (tmp_path / "data").mkdir()
    before = Logs.of(tmp_path, tmp_path / "data")
    (tmp_path / "log.csv").write_text('epoch,loss,time,note\n1,0.5,12.1,"a, b"\n2,,13,c\n3,0.25,1,\n')
    run = tmp_path / "runs" / "Nov21_15-27-34_host"
    run.mkdir(parents=True)
    (run / "events.out.tfevents.1763738854.host.4711.0").write_bytes(EVENTS)
    (tmp_path / "rank1.jsonl").write_text('{"loss": 2.5, "seconds": 3}\n')
    (tmp_path / "data" / "numbers.tsv").write_text("1\t2\n3\t4\n")  # no row of names
    (tmp_path / "data" / "names.csv").write_text("name,loss\nx,high\n")
    assert series(before) == {
        "log.csv epoch": [1, 2, 3],
        "log.csv loss": [0.5, 0.25],
        "rank1.jsonl loss": [2.5],
        "runs/Nov#_host train/loss": [0.5, 0.25],
        "runs/Nov#_host acc": [0.75],
    }
    assert "runs/Nov#_host acc" not in series(before, ("acc", "train/loss"))
    assert [point.where for point in before.since(())["log.csv loss"]] == ["log.csv:2", "log.csv:4"]


def test_a_log_that_goes_on_counts_from_where_it_ended(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("loss\n9\n8\n")
    before = Logs.of(tmp_path)
    assert series(before) == {}
    with log.open("a") as stream:
        stream.write("7\n")
    assert series(before) == {"log.csv loss": [7]}
    log.write_text("loss\n1\n2\n3\n4\n")
    assert series(before) == {"log.csv loss": [1, 2, 3, 4]}


def test_logs_with_the_same_name_but_for_a_number_are_counted(tmp_path):
    before = Logs.of(tmp_path)
    for number in (10, 11):
        (tmp_path / f"run-{number}.csv").write_text(f"loss\n{number}\n")
    assert series(before) == {"run-#.csv loss": [10], "run-#.csv (2) loss": [11]}


def printed(program: str, tmp_path: Path, folders: tuple[str, ...] = ()) -> list[list[str]]:
    """What is recorded of a program's output, by the real hook in a process of its own."""
    (tmp_path / "program.py").write_text(
        f"import sys\nsys.path[:0] = {[str(RUNTIME), *folders]!r}\n"
        "import importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('printed', {str(RUNTIME / 'virtual_npu' / 'printed.py')!r})\n"
        "printed = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(printed)\n"
        "found = []\nprinted.watch(lambda *pair: found.append(pair))\n"
        + textwrap.dedent(program)
        + f"\nopen({str(tmp_path / 'found.txt')!r}, 'w').writelines(f'{{n}} {{d}}\\n' for n, d in found)\n"
    )
    subprocess.run([sys.executable, str(tmp_path / "program.py")], check=True, capture_output=True)
    return [line.rsplit(" ", 1) for line in (tmp_path / "found.txt").read_text().splitlines()]


def test_lines_are_read_as_they_stand_on_a_terminal(tmp_path):
    found = printed(
        r"""
        import logging
        print("loss", 1.5, "epoch", 1)
        sys.stdout.write("loss: ")
        sys.stdout.write("2.5\nloss: 3.5")
        print()
        print("\rloss 9", end="")
        print("\rloss 8", end="")
        print("\rloss 4.5\x1b[0m")
        print("\x1b[32mloss\x1b[0m: \x1b[1m5.5\x1b[0m\r")
        print("\x1b[2A\x1b[2Kloss 7.7")
        logging.warning("val loss: %.2f", 6.5)
        print("loss 11", end="")
        """,
        tmp_path,
    )
    assert found == [["loss", f"{n}.5"] for n in range(1, 6)] + [["val loss", "6.50"]]


def test_a_progress_bar_is_asked_and_not_watched(tmp_path):
    """A bar is drawn as often as the clock lets it be: what counts is what it is given."""
    (tmp_path / "tqdm").mkdir()
    (tmp_path / "tqdm" / "__init__.py").write_text("from tqdm.std import tqdm\n")
    (tmp_path / "tqdm" / "std.py").write_text(
        textwrap.dedent(
            """
            import sys
            class tqdm:
                def draw(self, text):
                    def fp_write(text):
                        sys.stderr.write(text)
                    fp_write("\\r" + text + "\\n")
                def set_postfix(self, ordered_dict=None, refresh=True, **kwargs):
                    self.draw(" ".join(f"{k}={v}" for k, v in kwargs.items()))
                def set_postfix_str(self, s="", refresh=True): self.draw(s)
                def set_description(self, desc=None, refresh=True): self.draw(desc)
                set_description_str = set_description
                @classmethod
                def write(cls, s, file=None, end="\\n"):
                    sys.stdout.write(s)
                    sys.stdout.write(end)
            """
        )
    )
    found = printed(
        """
        from tqdm import tqdm
        bar = tqdm()
        bar.set_postfix(loss=0.123456789, time=3.2)
        bar.set_postfix_str("loss=0.25")
        bar.set_description("epoch 1 loss 0.5")
        bar.set_description(refresh=False, desc="loss 0.625")
        bar.set_postfix_str(refresh=False, s="loss=0.875")
        bar.set_postfix(z=1j, loss=0.375)
        tqdm.write("loss: 0.75")
        """,
        tmp_path,
        (str(tmp_path),),
    )
    assert found == [["loss", "0.123456789"], *(["loss", n] for n in "0.25 0.5 0.625 0.875 0.375 0.75".split())]


def test_points_without_digits_stay_exact():
    assert not _curve("loss", [Point(1.0, "")], [Point(1.0 + 1e-15, "")], 0.0).agrees
