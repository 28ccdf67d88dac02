"""Java, and the jars that Millstream adds to what PySpark brings."""
