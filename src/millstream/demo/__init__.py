"""The page-view demo: a script, a producer that counts its page views, and a consumer of the result."""
