"""Pages and API: what comes in by HTTP, and how it is answered. One blueprint a module; they do not know each other."""
