"""What Millstream ships for testing: a broker in a folder, and script tests."""
