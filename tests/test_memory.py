"""Free memory is what the machine and the control groups of the process leave."""

import os

import pytest

from osan.memory import free_memory, in_words

GB = 10**9


@pytest.fixture
def machine(tmp_path):
    """A machine with 64 GB available, of which this writes a file."""

    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    write("proc/meminfo", f"MemTotal: 99000000 kB\nMemAvailable: {64 * GB // 1024} kB\n")
    return write


def test_a_machine_without_limits(machine, tmp_path):
    assert free_memory(tmp_path) == 64 * GB
    machine("proc/self/cgroup", "0::/user.slice\n")
    machine("sys/fs/cgroup/user.slice/memory.max", "max\n")
    machine("sys/fs/cgroup/user.slice/memory.current", f"{5 * GB}\n")
    assert free_memory(tmp_path) == 64 * GB


def test_the_tightest_group_counts(machine, tmp_path):
    machine("proc/self/cgroup", "0::/jobs/one\n")
    machine("sys/fs/cgroup/jobs/one/memory.max", f"{30 * GB}\n")
    machine("sys/fs/cgroup/jobs/one/memory.current", f"{20 * GB}\n")
    # Cached files make room when memory is asked for.
    machine("sys/fs/cgroup/jobs/one/memory.stat", f"anon 1\nactive_file {GB}\ninactive_file {3 * GB}\n")
    assert free_memory(tmp_path) == 14 * GB
    machine("sys/fs/cgroup/jobs/memory.max", f"{40 * GB}\n")
    machine("sys/fs/cgroup/jobs/memory.current", f"{38 * GB}\n")
    machine("sys/fs/cgroup/jobs/memory.stat", "anon 1\n")
    assert free_memory(tmp_path) == 2 * GB
    machine("sys/fs/cgroup/jobs/memory.current", f"{41 * GB}\n")
    assert free_memory(tmp_path) == 0


def test_a_container_sees_its_group_as_the_root(machine, tmp_path):
    machine("proc/self/cgroup", "0::/../outside\n")
    machine("sys/fs/cgroup/memory.max", f"{8 * GB}\n")
    machine("sys/fs/cgroup/memory.current", f"{GB}\n")
    assert free_memory(tmp_path) == 7 * GB


def test_groups_of_the_first_version(machine, tmp_path):
    machine("proc/self/cgroup", "5:cpu,memory:/docker/a1\n4:freezer:/\n0::/\n")
    machine("sys/fs/cgroup/memory/memory.limit_in_bytes", f"{6 * GB}\n")
    machine("sys/fs/cgroup/memory/memory.usage_in_bytes", f"{2 * GB}\n")
    machine("sys/fs/cgroup/memory/memory.stat", f"inactive_file 7\ntotal_inactive_file {GB}\n")
    assert free_memory(tmp_path) == 5 * GB


def test_a_system_without_such_files(tmp_path, monkeypatch):
    assert free_memory(tmp_path) == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    monkeypatch.delattr(os, "sysconf")
    assert free_memory(tmp_path) == 4 * 2**30


def test_numbers_of_every_size_in_words():
    assert [in_words(size) for size in (0, 1500, 2.5e12)] == ["0 bytes", "1.5 kB", "2.5 TB"]
    assert in_words(3e20) == "3e+8 TB"
    assert in_words(7 * 10**400) == "7e+388 TB"
