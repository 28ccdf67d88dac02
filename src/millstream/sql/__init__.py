"""From script text to frozen statements that know where they stand."""
