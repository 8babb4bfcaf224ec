"""User tasks: signers, policies, and the rules of who may do what (spec 6)."""
