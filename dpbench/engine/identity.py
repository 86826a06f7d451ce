"""tmp"""

from dpbench import fingerprints


def setting_code(*classes):
    return fingerprints.digest([fingerprints.code_version(c) for c in classes])


def setting_id(key, seed, fingerprint, code):
    return fingerprints.digest([key, seed, fingerprint, code, 2])
