"""What formats share: lines, rows, columns, encodings, records."""
