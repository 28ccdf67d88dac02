"""Java, and the jars that Millstream adds to those of PySpark."""
