"""The page: a cluster in a browser, on 127.0.0.1 and with the rights of the user. Read-only.

Every screen is whole without JavaScript. Open `view` first.
"""
