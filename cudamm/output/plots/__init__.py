"""Charts as plain data, and what draws them: matplotlib, or characters in the terminal."""
