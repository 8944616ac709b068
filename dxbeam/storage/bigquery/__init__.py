"""BigQuery, bq://: tables by their names, its clients, its refusals as sentences, and loading."""
