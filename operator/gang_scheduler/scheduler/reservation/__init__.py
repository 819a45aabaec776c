"""The start that a big gang is promised, and which gangs may go before it meanwhile.

Running gangs are released on paper, by their expected ends: the first place in that sequence at
which the gang fits is its reservation. A later gang is admitted only if that place stays.

| module       | promise                                                       |
|--------------|---------------------------------------------------------------|
| sequence     | the gangs that hold room, in the order of their expected ends |
| paper        | room and quota once the first of them have ended              |
| promise      | one reservation, and whether a later gang would delay it      |
| reservations | the reservations of a cycle                                   |
"""
