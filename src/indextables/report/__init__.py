"""Pages that show a table, or a database of Hive tables, at a glance: figures first, then HTML made from nothing else."""
