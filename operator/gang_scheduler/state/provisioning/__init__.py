"""ProvisioningRequests of ours: what stands, what is charged for it, and what is to be written.

| module       | promise                                                               |
|--------------|-----------------------------------------------------------------------|
| requests     | all requests by gang: those that are seen, and those that are decided |
| holds        | which members are charged while a request stands                      |
| provisioning | what cycles must know and what they found, and what nothing wants now |
| store        | how requests are put in, forgotten and listed                         |
"""
