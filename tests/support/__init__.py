"""What tests share: stores, engines, servers, fakes."""
