"""The probes of scripts/verify-live."""
