"""The only package that imports pyspark: turns plans into streaming DataFrames."""
