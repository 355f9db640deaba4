#: That of the package; a test holds them equal.
VERSION = "0.1.0"
