"""The only room that imports pyspark: plans become streaming DataFrames."""
