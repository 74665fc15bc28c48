"""What an agent asks a person, as panels above the composer: answered by one key, or by arrows and Enter."""
