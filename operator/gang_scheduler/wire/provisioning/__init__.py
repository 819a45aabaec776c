"""What is read of ProvisioningRequests, and of Kueue's configuration of them.

| module   | promise                                              |
|----------|------------------------------------------------------|
| requests | ProvisioningRequests, in all versions                |
| configs  | ProvisioningRequestConfigs of Kueue, in all versions |
"""
