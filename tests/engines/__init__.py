"""The job on engines other than Beam's own."""

import pytest

pytest.register_assert_rewrite("tests.engines.same_release")  # it asserts, and is no test module
