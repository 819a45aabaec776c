"""Where members with a topology request go. Open `gather.py` first.

| module        | promise                                                  |
|---------------|----------------------------------------------------------|
| gather        | tries the domains, from the lowest level up              |
| packing       | several classes, packed together in each domain by trial |
| class_seating | one class: the domain for all of it, and places inside   |
| capacity      | how many members of a class each domain can take         |
| bounds        | what domains can take of several classes at most         |
| descent       | down from a domain, on the fewest domains at every level |
| replacements  | members that join bound members                          |
| domain_offers | why members could not gather                             |
"""
