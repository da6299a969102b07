"""Identifiers in formats that the fact guard was not written for, each in a plain sentence."""

from typing import NamedTuple


class Planted(NamedTuple):
    """A value and the sentence that tells it."""

    value: str
    sentence: str


_TOLD = (
    ("PO/2291-KX", "My order at the timber yard is {}."),
    ("6f1c0a4e-93bd-4d27-8a51-0e7fd2b94c13", "The device reports itself as {}."),
    ("PLAT-4471", "The ticket for the broken login is {}."),
    ("DE44 5001 0517 5407 3249 31", "My bank account has the IBAN {}."),
    ("9f86d081884c", "The last good commit is {}."),
    ("978-0-306-40615-7", "The book I mean has the ISBN {}."),
    ("+41 44 668 18 00", "You reach the clinic under {}."),
    ("4.18.2-rc1", "The cluster still runs version {}."),
    ("47.3769, 8.5417", "The boat lies at {}."),
    ("QX7R2M", "The reservation code of our trip is {}."),
    ("OS 437", "We take flight {} home."),
    ("anneke_b_2207", "My user name over there is {}."),
    ("WBAVA33598NL73146", "The van has the chassis number {}."),
    ("356938035643809", "The phone's IMEI is {}."),
    ("00:1B:44:11:3A:B7", "The printer's network card is {}."),
    ("10.42.7.113", "The database listens on {}."),
    ("GB-1988-0047-C", "The patent is filed as {}."),
    ("A1-33-7", "The spare keys hang on hook {}."),
    ("10.1093/nar/gkab1112", "The paper's DOI is {}."),
    ("#88213", "Her pull request is {}."),
    ("LOT 0923B", "The paint we liked is {}."),
    ("s3://field-notes/2026/raw", "The recordings are under {}."),
    ("arn:aws:iam::4417:role/ci", "The build takes on the role {}."),
    ("E11.9", "The diagnosis code on the form is {}."),
    ("SKU-AA-00071", "The blue cups are {} in the catalogue."),
    ("CH-8004 2B", "The parcel locker is {}."),
    ("Zx9!kT-42", "The guest password for the cabin is {}."),
    ("1Z999AA10123456784", "The parcel travels as {}."),
    ("3M-7519", "The tape that holds is {}."),
    ("KBVRT", "The locator of the ferry booking is {}."),
)

FORMATS = tuple(Planted(value, sentence.format(value)) for value, sentence in _TOLD)
