"""What every test of the pod starts from."""

import os

import pytest
from pod import Pod, render


@pytest.fixture(scope="session")
def pod():
    """The pod, rendered once."""
    return Pod(render())


@pytest.fixture(scope="session")
def program():
    """The booth's program."""
    path = os.environ.get("TOOLBOOTH_BIN", "")
    assert os.access(path, os.X_OK), f"TOOLBOOTH_BIN is `{path}`, and no program: `make deploy-check` sets it"
    return path
