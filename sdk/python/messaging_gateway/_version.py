#: The version of the package. A test fails if it differs from pyproject.toml.
VERSION = "1.0.0"
