"""Where the packages lie; every other setting: pyproject.toml. Beam's --setup_file needs this file.

The launchers are installed as dxbeam.pipelines, as a package that is called pipelines would
overwrite, or be overwritten by, other people's.
"""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["dxbeam", "dxbeam.*"]), "dxbeam.pipelines"],
    package_dir={"dxbeam.pipelines": "pipelines"},
)
