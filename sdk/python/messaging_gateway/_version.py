#: The version of the package. A test fails if it differs from pyproject.toml.
VERSION = "0.1.0"
