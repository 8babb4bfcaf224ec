"""What people are told of a flow: events, recipients, texts, preferences, deliveries (spec 10). No I/O."""
