"""What developers run; nothing here is shipped."""
