"""Tools for testing that Millstream ships: a broker in a folder, and script tests."""
