"""The page-view demo: a script, somebody who produces page views and counts them, somebody who reads the result."""
