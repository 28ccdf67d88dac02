"""From an INSERT to a changelog plan: what each step computes, and which changes it gives."""
