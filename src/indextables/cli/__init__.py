"""The commands `indextables` and `lakekeeper`."""
